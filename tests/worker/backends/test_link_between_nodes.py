"""A link of a set rate between two network namespaces: torch's sums go over it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trainspeed.conduct.machine import find_interpreter
from trainspeed.studies.multi_gpu.links import link_trials
from trainspeed.worker.sums_by_size import SIZES_BYTES

RATE_MBIT = 100  # where nothing limits it, the link carries thousands
BUSY = 4  # times as long as over an idle link; a byte has 8 bits
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def nodes():
    """Two nodes as in the benchmarks, and what measures on them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import links
        import namespaces
    if reason := namespaces.obstacle():
        pytest.skip(reason)
    if find_interpreter("torch") is None:
        pytest.skip("torch is not installed here")
    with namespaces.two_nodes() as two:
        yield links.TwoNodes(two), namespaces.BURST_BYTES, links.WHOLE
    for name in ("links", "namespaces", "bounds"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_no_sum_is_faster_than_the_link_that_was_set(nodes):
    """Without the limit, or over another interface, one takes a tenth of that. How exact a fit is, benchmarks tell.

    Each of two nodes sends as many bytes as are summed.
    """
    two, burst_bytes, whole = nodes
    (sums,) = link_trials([whole], shared_memory=True)
    run = two.measure(replace(sums, epochs=3), 0, RATE_MBIT)
    least_s = {
        one.size_bytes: (one.size_bytes - burst_bytes) * 8 / (RATE_MBIT * 1e6) for one in run.link_sums
    }

    assert list(least_s) == list(SIZES_BYTES)
    assert not [one for one in run.link_sums if min(one.sum_s) < least_s[one.size_bytes]]
    assert min(run.link_sums[-1].sum_s) < BUSY * max(least_s.values()), "of bits, or of several sums"
