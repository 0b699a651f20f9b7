"""Whether the nodes of a fleet that shared a study's blocks are as fast as one another, by its A/A control. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trainspeed.core.format import percent
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.verdict import Outcome, judge_unpaired

UNEQUAL = (Outcome.FASTER, Outcome.SLOWER)


def node_doubts(runs: Iterable[Run]) -> list[str]:
    """Return a doubt for each node that is faster or slower than the one that measured most, beyond the margin.

    Of each block the control's first arm counts: the block is the unit, and its second arm ran beside the first.
    """
    control = RunSet(tuple(runs)).ok().role(Role.CONTROL).where(lambda run: run.median_s)
    doubts = []
    for trial, of_trial in control.by_trial().items():
        counts = Counter(run.node for run in of_trial if run.node is not None)
        if len(counts) < 2:
            continue
        (first, _), *others = counts.most_common()
        first_s = [run.median_s for run in of_trial if run.node == first]
        for node, _ in others:
            judgement = judge_unpaired(first_s, [run.median_s for run in of_trial if run.node == node])
            if judgement.outcome in UNEQUAL:
                name = ", ".join(trial.describe(without=("precision", "compile")))
                much = percent(abs(1 - 1 / judgement.speedup))
                doubts.append(
                    f"{node} is {much} {judgement.outcome} than {first} at the A/A control ({name}; "
                    f"{judgement.low:.3f} to {judgement.high:.3f}). Every ratio is of runs on one node, so the "
                    "verdicts hold; a time in seconds is of both. Look at cooling, clocks and neighbours of the two."
                )
    return doubts
