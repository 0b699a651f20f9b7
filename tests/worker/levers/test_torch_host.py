"""What levers of the host see in PyTorch where there is no GPU, by fakes of its driver's and the kernel's words."""

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
    """Case of `torch_host_probe.py` -> what was seen."""
    out = tmp_path_factory.mktemp("host") / "found.json"
    shared_worker("torch").probed("probes.torch_host_probe", out)
    return json.loads(out.read_text())


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("growing", "expandable"),
        ("refused", "segments of fixed sizes"),  # where the driver has no such memory, PyTorch only warns
        ("async", "cuda_async"),
        ("not async", "segments of fixed sizes"),
        ("placed", "close"),
        ("wandering", "off"),
        ("on one core", "off"),
    ],
)
def test_what_is_in_effect_is_what_is_there(found, case, value):
    assert found[case][0] == value, found[case][1]


def test_it_says_how_it_was_seen(found):
    assert found["growing"][1] == "1 of 2 segments of its memory can grow"
    assert found["placed"][1] == "OMP_PROC_BIND=close; 2 threads kept to one core each, on 2 cores"
