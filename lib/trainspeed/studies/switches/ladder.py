"""The ladder of batch sizes on the page: where throughput stops growing. A larger batch trains another model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, NAMES, Number, model_of, percent, three
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.equal_accuracy import EqualAccuracy, equal_accuracy
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.knee import LEAST_GAIN, Ends, Knee, knees
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement
from trainspeed.show.cells import styled

ENDS: Mapping[Ends, str] = {
    Ends.GAIN: f"the next one gains less than {percent(LEAST_GAIN)}",
    Ends.MEMORY: "the next one takes nearly all of the memory",
    Ends.OUT_OF_MEMORY: "the next one does not fit into memory",
    Ends.FAILED: "the next one gave no result",
    Ends.UNDECIDED: f"whether the next one gains {percent(LEAST_GAIN)} is undecided: measure more `batch_blocks`",
    Ends.NOT_REACHED: "none of these ends it: try larger ones",
}


def ladders(runs: Iterable[Run]) -> list[Knee]:
    """Return a ladder for each plain setting that was measured at several batch sizes."""
    return knees(RunSet(tuple(runs)).role(Role.LADDER))


def ladder_sentences(found: Iterable[Knee]) -> list[str]:
    """Return up to which batch size each ladder grows, and what ends it."""
    return [f"{_where(one)}: {_grows(one)}; {ENDS[one.ends]}." for one in found]


def _where(knee: Knee) -> str:
    return f"{NAMES[knee.trial.framework]}, {model_of(knee.trial.model)}"


def _grows(knee: Knee) -> str:
    if knee.batch_size is not None:
        return f"throughput grows up to batch {knee.batch_size}"
    return (
        "no batch size gave a result"
        if knee.at_least is None
        else f"it grows up to batch {knee.at_least} at least"
    )


def equal_accuracy_sentences(runs: Iterable[Run], margin: float) -> list[str]:
    """Return what each larger batch is worth in time to equal accuracy, as far as runs of equally many epochs tell.

    Args:
        margin: Points of test accuracy that may be lost.
    """
    found = equal_accuracy(RunSet(tuple(runs)).role(Role.LADDER), margin)
    return list(dict.fromkeys(f"{NAMES[one.baseline.framework]}, {_in_time(one)}." for one in found))


def _in_time(one: EqualAccuracy) -> str:
    model = model_of(one.baseline.model)
    if one.equality is Equality.UNCHECKED:
        return (
            f"{model}: the time to equal accuracy is not known: that takes {MIN_BLOCKS} blocks in which batch "
            f"{one.baseline.batch_size} has learned something, and both have trained as many epochs"
        )
    return f"{model}, batch {one.candidate.batch_size} against {one.baseline.batch_size}: {_of_points(one)}"


def _of_points(one: EqualAccuracy) -> str:
    points = f"{size_of(one.points, 'accuracy')}{_ends(one.points, 'accuracy')}"
    if one.equality is Equality.EQUAL:
        return (
            f"{size_of(one.time)}{_ends(one.time, 'time')} in time to equal accuracy, which it has after as many "
            f"epochs ({points})"
        )
    if one.equality is Equality.WORSE:
        return (
            f"less accurate after as many epochs ({points}): it needs more of them, and the {size_of(one.time)} of an "
            "epoch is no gain yet"
        )
    return (
        f"whether it is as accurate after as many epochs is undecided ({points}), and so is the time to equal "
        "accuracy: measure more `batch_blocks`"
    )


def _ends(judgement: Judgement, quantity: str) -> str:
    return "" if judgement.low is None else f", interval {interval_of(judgement, quantity)}"


def ladder_table(found: Sequence[Knee]) -> Styler | None:
    """Return a row for each batch size: throughput, what it gains over the one below, memory; None without one."""
    rows = [
        {
            "": _where(knee),
            "batch": Number(str(rung.batch_size)),
            "images/s": MISSING if rung.images_per_s is None else Number(three(rung.images_per_s)),
            "over the one below": MISSING if rung.gain is None else size_of(rung.gain),
            "95 % interval": MISSING if rung.gain is None else interval_of(rung.gain),
            "memory": MISSING if rung.memory_share is None else percent(rung.memory_share),
            "ended": str(rung.failed) if rung.failed else "ok",
        }
        for knee in found
        for rung in knee.rungs
    ]
    return styled(rows, "ladder", "Larger batches of the plain setting") if rows else None
