"""How much of a step the GPU computes, plainly and with each switch alone: what a gain is left to. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import listed, percent
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.gpu_busy import BUSY_SHARE, busy_share_of, own_work
from trainspeed.search.findings import Findings
from trainspeed.search.switch import Switch, combined
from trainspeed.search.unmeasured import where

GRAPHS = {("compile_mode", mode) for mode in ("reduce-overhead", "max-autotune")}  # that record CUDA graphs


def busy_sentences(found: Iterable[Findings], runs: Iterable[Run]) -> list[str]:
    """Return for how much of a plain step the GPU computes, and the switches with which it waits for the host.

    Nothing on a CPU, and where no step was profiled.
    """
    known = RunSet(tuple(runs)).ok()
    sentences = []
    for one in found:
        plain = known.of_trial(one.start)
        if (share := busy_share_of(plain)) is None:
            continue
        waits = " and waits for the host in the rest" * (share < BUSY_SHARE)
        sentences.append(f"{where(one)}: the GPU computes for {percent(share)} of a plain step{waits}.")
        alone = {s.switch: known.of_trial(combined(one.start, [s.switch])) for s in one.feasible if s.enters}
        if waiting := [said for switch, own in alone.items() if (said := _waiting(switch, plain, own))]:
            has_graphs = any((switch.lever, switch.value) in GRAPHS for switch in one.kept)
            graphs = ["CUDA graphs"] * (one.start.framework == "torch" and not has_graphs)
            sentences.append(
                f"{where(one)}: it waits for the host with {listed(waiting)}. Beside these, what saves the host’s time "
                f"may pay: {listed([*graphs, 'a larger batch'], 'or')}{'; CUDA graphs were kept' * has_graphs}."
            )
    return sentences


def _waiting(switch: Switch, plain: RunSet, own: RunSet) -> str | None:
    """Return the name of a switch with which the GPU waits, and how much it computes; None where it does not wait."""
    share = busy_share_of(own)
    if share is None or share >= BUSY_SHARE:
        return None
    faster = f"; its own work is {work:.2f}x as fast" if (work := own_work(plain, own)) else ""
    return f"{switch.words} (computes for {percent(share)} of a step{faster})"
