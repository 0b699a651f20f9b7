"""A link of a set rate between two network namespaces: what torch's sums over it are fitted to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trainspeed.conduct.machine import find_interpreter
from trainspeed.judge.interconnect import fit_interconnect
from trainspeed.studies.multi_gpu.links import link_trials

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
        yield links.TwoNodes(two), links.WHOLE
    for name in ("links", "namespaces", "bounds"):
        sys.modules.pop(name, None)


@pytest.mark.slow
@pytest.mark.parametrize("rate_mbit", [50, 20])
def test_the_bandwidth_that_is_fitted_is_the_one_that_was_set(nodes, rate_mbit):
    """A byte takes its headers and its addition along: what is left of the rate is 0.9 of it, not 1.

    The fastest sum of each size counts: others use this machine too, and no sum is faster than the link. At 200 Mbit/s
    a packet is due every 64 µs, which a busy machine misses.
    """
    two, whole = nodes
    (sums,) = link_trials([whole], shared_memory=True)
    run = two.measure(replace(sums, epochs=4), 0, rate_mbit)
    fitted = fit_interconnect([(2, one.size_bytes, min(one.sum_s)) for one in run.link_sums])

    assert 8 / fitted.beta_s_per_byte / 1e6 == pytest.approx(rate_mbit, rel=0.15)
