"""The ladder of batch sizes on the page: where throughput stops growing. A larger batch trains another model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, NAMES, Number, fixed, model_of, percent, three
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.knee import LEAST_GAIN, Ends, Knee, knees
from trainspeed.judge.text import interval_of
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


def ladder_table(found: Sequence[Knee]) -> Styler | None:
    """Return a row for each batch size: throughput, what it gains over the one below, memory; None without one."""
    rows = [
        {
            "": _where(knee),
            "batch": Number(str(rung.batch_size)),
            "images/s": MISSING if rung.images_per_s is None else Number(three(rung.images_per_s)),
            "over the one below": MISSING if rung.gain is None else fixed(rung.gain.speedup, 2, "x"),
            "95 % interval": MISSING if rung.gain is None else interval_of(rung.gain),
            "memory": MISSING if rung.memory_share is None else percent(rung.memory_share),
            "ended": str(rung.failed) if rung.failed else "ok",
        }
        for knee in found
        for rung in knee.rungs
    ]
    return styled(rows, "ladder", "Larger batches of the plain setting") if rows else None
