"""CONTRIBUTING's "a lever", taken at its word: with an entry and a hook it runs, and is seen in effect.

`snippets/test_levers.py` says that it lacks lines to paste, `core/levers/test_listing.py` that it lacks a row.
"""

from __future__ import annotations

import json

import pytest

from trainspeed.conduct.machine import find_interpreter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_interpreter("torch"), reason="torch is not installed"),
]


@pytest.fixture(scope="module")
def found(shared_worker, tmp_path_factory):
    """What runs saw of the lever that `added_lever_probe.py` adds."""
    out = tmp_path_factory.mktemp("lever") / "found.json"
    shared_worker("torch").probed("probes.added_lever_probe", out)
    return json.loads(out.read_text())


def of_lever(seen):
    return {name: saw for name, saw in seen.items() if name == "weight_decay"}


def test_it_is_applied_and_seen_in_effect(found):
    assert of_lever(found["added"]) == {"weight_decay": ["0.5", "optimizer.defaults: weight_decay=0.5"]}
    assert of_lever(found["other value"]) == {
        "weight_decay": ["0.25", "optimizer.defaults: weight_decay=0.25"]
    }


def test_a_run_without_it_has_nothing_in_effect(found):
    assert of_lever(found["plain"]) == {}


def test_an_entry_without_a_hook_does_nothing_and_says_so(found):
    assert found["without a hook"] == "weight_decay: it has no hook in worker/levers/ for torch"
