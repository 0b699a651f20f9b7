"""What the benchmark of links computes, on numbers alone: nothing is measured, and no namespace made."""

import os
import sys
from itertools import count
from pathlib import Path

import pytest

from trainspeed.judge.interconnect import Interconnect
from trainspeed.judge.overlap import Overlap
from trainspeed.sensors.cpu import CpuSeconds, HostLoad

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SIZE_BYTES = 8_000_000


@pytest.fixture
def links(monkeypatch):
    """links.py and what it imports, which are no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import links

    yield links
    for name in ("links", "namespaces", "bounds"):
        sys.modules.pop(name, None)


class FakeNode:
    address = "10.77.0.1"

    def ask(self, **request):
        """Nothing is measured."""

    def answer(self):
        result = {"epoch_s": [3.0, 1.0, 1.0], "repeats": None, "parameters": 1, "link_sums": []}
        return {"status": "ok", "reason": None, "result": result}


@pytest.mark.parametrize(
    ("own", "row"), [(1.9, "0 of 2, 0.10 | none | yes |"), (1.5, "2 of 2, 0.50 | none | NO |")]
)
def test_the_other_node_is_no_other_process(links, monkeypatch, own, row):
    """Each run keeps both cores busy for 10 s, of which the tree below the benchmark has used so many."""
    told, roots = count(), []

    def load(process=None):
        seconds, _ = 10.0 * next(told), roots.append(process.pid)
        return HostLoad(monotonic_s=seconds, cpu=CpuSeconds(2 * seconds, 0, 2 * seconds), own_s=own * seconds)

    monkeypatch.setattr(links, "host_load", load)
    found = links.TwoNodes((FakeNode(), FakeNode()))
    for block in range(2):
        found.measure(links.one_device_share(links.WHOLE), block)

    assert {*roots} == {os.getpid()}
    assert links.row_of_others(found.others).endswith(row)


@pytest.mark.parametrize(("share", "step_s"), [(None, 0.5), (0.25, 0.4)])
def test_the_forecast_is_computing_and_what_does_not_hide_of_the_exchange(links, share, step_s):
    """8 MB over 20 MB/s take 0.4 s between two devices, beside 0.1 s of computing; a quarter hides."""
    link = Interconnect(alpha_s=0, beta_s_per_byte=1 / 20e6)
    overlap = Overlap(share=share) if share else None
    expected_s = 0.5 if share is None else 0.1 + max(0.3, 0.4 - 0.2 / 3)
    blocks = range(6)
    judged, measured_s = links.forecast_over_measured(
        link, dict.fromkeys(blocks, step_s), dict.fromkeys(blocks, 0.1), SIZE_BYTES, overlap
    )
    assert judged.speedup == pytest.approx(expected_s / step_s)
    assert (measured_s, judged.blocks) == (step_s, 6)


def test_where_there_can_be_no_two_nodes_the_part_is_left_out_in_one_line(links, monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda command: None if command == "tc" else f"/bin/{command}")
    assert links.parts() == {}
    assert capsys.readouterr().err == "bench: links is left out: two nodes need tc (iproute2).\n"


def test_without_root_there_can_be_no_two_nodes(links, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda command: f"/bin/{command}")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert sys.modules["namespaces"].obstacle() == "two nodes need network namespaces, which need root"
