"""What the benchmark of links computes, on numbers alone: nothing is measured, and no namespace made."""

import sys
from pathlib import Path

import pytest

from trainspeed.judge.interconnect import Interconnect
from trainspeed.judge.overlap import Overlap

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
