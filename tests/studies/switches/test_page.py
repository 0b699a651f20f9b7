"""The notebook on switches, from a ledger that was made up: every cell, without a kernel and without a framework."""

from __future__ import annotations

from dataclasses import replace

import pytest

from study_data import make_run
from switches_ledger import executed, whole_ledger
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Role
from trainspeed.search.findings import Decision


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The variables of the notebook, drawn from its ledger."""
    with pytest.MonkeyPatch.context() as patch:
        out = tmp_path_factory.mktemp("switches")
        whole_ledger(executed(patch, out)["plan"], out)
        return executed(patch, out, render=out)


def test_the_best_is_found_and_confirmed_and_what_had_no_effect_is_none_of_it(page):
    (found,) = page["found"]

    assert {(switch.lever, switch.value) for switch in found.kept} == {
        ("layout", "channels_last"),
        ("optimizer", "fused"),
    }
    assert found.confirmation.total.speedup == pytest.approx(1.3 * 1.15, rel=0.01)
    assert [d for switch, d in found.decisions.items() if switch.lever == "huge_pages"] == [
        Decision.NOT_IN_EFFECT
    ]


def test_a_search_that_began_with_all_cores_is_drawn_as_it_began(page):
    """While runs are drawn the machine has as many devices as they had: one."""
    (found,) = page["found"]

    assert found.start.levers == (("threads", "all"),)
    assert "threads" not in page["code"].program_blocks(page["kept"])[0]


def test_the_parts_of_a_step_come_from_the_same_ledger(page):
    (row,) = page["parts"].to_dict("records")

    assert (row["compute_s"], row["waiting_s"]) == pytest.approx((0.7, 0.2))
    assert row["validation_s"] == pytest.approx(0.3)


def test_its_verdicts_are_recorded(page):
    assert {(v.factor, str(v.outcome)) for v in page["verdicts"] if v.quantity == "time"} >= {
        ("recipe", "faster"),
        ("layout", "faster"),
    }
    assert (page["measured"].out / "verdicts.json").is_file()


def test_the_code_has_what_was_kept(page):
    (program,) = page["code"].program_blocks(page["kept"])

    assert "channels_last" in program and "fused=True" in program


def test_a_folder_without_a_run_is_drawn_too(tmp_path, monkeypatch):
    run = replace(make_run(study="layout"), label=Role.DATA)
    Ledger(tmp_path).append(run)

    said: list = []
    monkeypatch.setattr("trainspeed.show.notebook.display", lambda shown, **_: said.append(shown))
    page = executed(monkeypatch, tmp_path, render=tmp_path)

    assert page["found"] == []
    words = "\n".join(shown.data for shown in said if isinstance(shown.data, str))
    introductions = {name: text for name, text in vars(page["introductions"]).items() if name.isupper()}
    assert len(introductions) == 10 and page["text"].NOTHING_MEASURED in words
    assert not any(text in words for text in introductions.values())
