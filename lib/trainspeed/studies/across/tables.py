"""The tables of a comparison: jobs, sides, times, memory, accuracy, failures. Decides nothing.

A table with a row or a column per side shows the best of very many; the rest of the rows is a table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, clock, counted, digits, fixed, or_nothing, usd
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import Judged, Outcome
from trainspeed.show.cells import styled, styled_failures
from trainspeed.show.rows import memory_unit
from trainspeed.show.theme import status_name
from trainspeed.studies.across.common import Common, CommonTrial, failed, median_of, timed
from trainspeed.studies.across.jobs import Job
from trainspeed.studies.across.pairs import TrialPair, by_side
from trainspeed.studies.across.ranking import Entry, Ranking

MOST_SIDES = 12  # in a table: the first, and the best of the others
RESOURCES = ("peak_memory_bytes", "test_accuracy")


def shown_sides(best_first: Sequence[str], first: str) -> list[str]:
    """Return the sides that tables and charts show: the first one, then the best of the others."""
    return [first, *[side for side in best_first if side != first][: MOST_SIDES - 1]]


def sides_table(rows: Sequence[Mapping[str, str]], sides: Sequence[str]) -> Styler:
    """Return what the sides were measured with.

    Args:
        rows: As `facts.fact_rows` returns them.
    """
    return styled(rows, "sides", "What the common trials were measured with", columns=["what", *sides, ""])


def answers_table(jobs: Sequence[Job]) -> Styler | None:
    """Return a row per job: the fastest and the cheapest side, several where not told apart; None without a job.

    The cheapest has columns where there are prices.
    """
    if not jobs:
        return None
    columns: dict[str, list[str]] = {"job": [job.label for job in jobs]}
    columns["fastest"] = [_best(job.fastest) for job in jobs]
    columns["images per second"] = [_images(job.fastest) for job in jobs]
    if any(job.cheapest for job in jobs):
        columns["cheapest"] = [_best(job.cheapest) for job in jobs]
        columns["images per dollar"] = [_images(job.cheapest) for job in jobs]
    return styled(columns, "answers", "The best side for each job, each in its own best setting")


def _best(ranking: Ranking | None) -> str:
    if ranking is None:
        return MISSING
    if not ranking.best:
        return "undecided"
    if len(ranking.best) > MOST_SIDES:
        return f"one of {len(ranking.best)} sides"
    return ("one of " if len(ranking.best) > 1 else "") + ", ".join(ranking.best)


def _images(ranking: Ranking | None) -> str:
    return digits(ranking.of(ranking.best[0]).images) if ranking and ranking.best else MISSING


def job_parts(jobs: Iterable[Job], shown: Sequence[str]) -> Iterator[tuple[str, Job, list[str]]]:
    """Yield for each table of a job that has a result: name, job and sides, the best first; then the other sides."""
    for job in jobs:
        if job.rankings:
            entries = job.rankings[-1].entries
            first = [entry.side for entry in entries if entry.side in shown]
            others = [entry.side for entry in entries if entry.side not in shown]
            # A side without a price has no place in a ranking by price.
            first += [e.side for e in job.fastest.entries if e.side in shown and e.side not in first]
            others += [e.side for e in job.fastest.entries if e.side not in {*shown, *others}]
            yield job.label, job, first
            if others:
                yield f"{job.label}: the other {counted(len(others), 'side')}", job, others


def job_table(job: Job, sides: Sequence[str]) -> Styler:
    """Return a row per side of a job, in their order."""
    fastest = [job.fastest.of(side) for side in sides]
    priced = [job.cheapest.of(side) if job.cheapest else None for side in sides]
    reference = f"/ {job.fastest.reference}"
    columns = {
        "side": list(sides),
        "images per second": [digits(entry.images) for entry in fastest],
        reference: [size_of(entry) for entry in fastest],
        "95 % interval": [interval_of(entry) for entry in fastest],
        "blocks": [len(entry.amounts) for entry in fastest],
        "its fastest setting": [_setting(entry) for entry in fastest],
        "a training": [clock(entry.training_s) for entry in fastest],
    }
    if job.cheapest:
        over = f"per dollar / {job.cheapest.reference}"
        columns["images per dollar"] = _cells(priced, lambda entry: digits(entry.images))
        columns[over] = _cells(priced, lambda entry: size_of(entry))
        columns["its 95 % interval"] = _cells(priced, interval_of)
        columns["its cheapest setting"] = _cells(priced, _setting)
        columns["cost of a training"] = _cells(priced, lambda entry: usd(entry.usd_per_training))
    return styled(columns, "job", f"{job.label}: {counted(len(sides), 'side')}")


def _setting(entry: Entry) -> str:
    return ", ".join(entry.trial.describe(without=("model", "image_size")))


def against_tables(pairs: Sequence[TrialPair], best_first: Sequence[str]) -> tuple[Styler, Styler | None]:
    """Return how the trials of each side fare against the first's: for the best sides, and for the others if any."""
    of_side = by_side(pairs)
    sides = [side for side in best_first if side in of_side]
    tables = [_against(of_side, part) for part in (sides[: MOST_SIDES - 1], sides[MOST_SIDES - 1 :]) if part]
    return tables[0], tables[1] if len(tables) > 1 else None


def _against(of_side: Mapping[str, Sequence[TrialPair]], sides: Sequence[str]) -> Styler:
    rows = []
    for side in sides:
        pairs = of_side[side]
        sizes = [pair.speedup for pair in pairs if pair.speedup is not None]
        counts = Counter(pair.outcome for pair in pairs if pair.speedup is not None)
        row = {"side": side, "trials": len(pairs)}
        row |= {str(outcome): counts[outcome] for outcome in (Outcome.FASTER, Outcome.SLOWER, Outcome.SAME)}
        row |= {"undecided": counts[Outcome.UNDECIDED], "no result": len(pairs) - len(sizes)}
        row["median speed-up"] = fixed(median(sizes), 2, "x") if sizes else MISSING
        row["least"] = fixed(min(sizes), 2, "x") if sizes else MISSING
        rows.append(row | {"most": fixed(max(sizes), 2, "x") if sizes else MISSING})
    first = of_side[sides[0]][0].first
    return styled(
        rows, "against", f"Trials of each side against those of {first}: {counted(len(sides), 'side')}"
    )


def times_table(study: str, pairs: Sequence[TrialPair], shown: Sequence[str]) -> Styler:
    """Return a row per trial: the time on each side, the other sides' speed-ups with interval and outcome, blocks."""
    trials = _by_trial(pairs)
    first = pairs[0].first
    sides = [side for side in shown if side == first or any(side in own for own in trials.values())]
    seconds = {side: [_median(own, side, "median_s") for own in trials.values()] for side in sides}
    known = [value for values in seconds.values() for value in values if value is not None]
    scale, unit = (1e3, "ms") if max(known, default=0.0) < 1 else (1.0, "s")
    columns: dict[str, list] = {"trial": [_any(own).label for own in trials.values()]}
    for side, values in seconds.items():
        columns[f"{side} {unit}"] = _cells(values, lambda s: digits(scale * s))
    for side in sides[1:]:
        heading = "speed-up (95 % interval)" if len(sides) == 2 else f"speed-up of {side} over {first}"
        columns[heading] = [_speedup(own.get(side)) for own in trials.values()]
        if len(sides) == 2:
            columns[f"{side} is"] = [_outcome(_any(own)) for own in trials.values()]
    columns["blocks"] = [_blocks(own, sides) for own in trials.values()]
    kinds = " or ".join(sorted({pair.common.trial.phase.timed for pair in pairs}))
    return styled(columns, "times", f"{study}: {kinds}, medians over the blocks")


def _speedup(pair: Judged | None) -> str:
    if pair is None or pair.speedup is None:
        return MISSING
    return size_of(pair) + (f" ({interval_of(pair)})" if pair.low is not None else "")


def _outcome(pair: Judged) -> str:
    return MISSING if pair.speedup is None else str(pair.outcome)


def _blocks(own: Mapping[str, TrialPair], sides: Sequence[str]) -> str:
    runs = _any(own).common.runs
    counts = [len(timed(runs[side])) for side in sides if side in runs]
    return str(counts[0]) if len({*counts}) == 1 else ", ".join(map(str, counts))


def with_resources(trials: Iterable[CommonTrial], shown: Sequence[str]) -> list[CommonTrial]:
    """Return the trials that have peak memory or test accuracy on two of these sides."""

    def known(trial: CommonTrial, name: str) -> int:
        own = (median_of(trial.runs[side], name) for side in shown if side in trial.runs)
        return sum(value is not None for value in own)

    return [trial for trial in trials if any(known(trial, name) > 1 for name in RESOURCES)]


def resources_table(study: str, trials: Sequence[CommonTrial], shown: Sequence[str]) -> Styler | None:
    """Return peak memory and test accuracy of those of the trials that have either; None without any."""
    trials = with_resources(trials, shown)
    values = {
        name: {side: [median_of(trial.runs.get(side, ()), name) for trial in trials] for side in shown}
        for name in RESOURCES
    }
    memory, accuracy = values.values()
    divisor, unit = memory_unit(pd.Series([size for sizes in memory.values() for size in sizes], dtype=float))
    columns = {"trial": [trial.label for trial in trials]}
    for side, sizes in memory.items():
        columns[f"memory {side}, {unit}"] = _cells(sizes, lambda v: digits(v / divisor))
    epochs = [_epochs(trial, shown) for trial in trials]
    for side, shares in accuracy.items():
        cells = _cells(shares, lambda v: fixed(100 * v, 1))
        columns[f"accuracy {side}, %"] = [
            f"{cell} after {own[side]} epochs" if side in own and len({*own.values()}) > 1 else cell
            for cell, own in zip(cells, epochs, strict=True)
        ]
    caption = f"{study}: peak memory and test accuracy, medians over the blocks that have them"
    return styled(columns, "resources", caption) if trials else None


def _epochs(trial: CommonTrial, shown: Sequence[str]) -> dict[str, str]:
    """Return side -> for how many epochs its models trained before their accuracy was taken: "6", or "6 to 14"."""
    found = {}
    for side in shown:
        runs = (run for run in trial.runs.get(side, ()) if run.test_accuracy is not None)
        if epochs := [len(run.epoch_s) for run in runs]:
            found[side] = " to ".join(map(str, sorted({min(epochs), max(epochs)})))
    return found


def failed_table(common: Common) -> Styler | None:
    """Return a row per trial, side and kind of failure, with the reason; None where no run failed.

    It has all sides, however many: no other part of the page tells of a failure of one that is not shown.
    """
    rows = [
        {
            "study": trial.study,
            "trial": trial.label,
            "side": side,
            "status": status_name(run.status),
            "reason": or_nothing(run.reason),
            "blocks": len(trial.runs[side]),
        }
        for trial in common.trials
        for side, own in trial.runs.items()
        for run in failed(own)
    ]
    return styled_failures(
        rows, caption="Runs without a result, of the trials that several sides tried", name="without a result"
    )


def _by_trial(pairs: Iterable[TrialPair]) -> dict[int, dict[str, TrialPair]]:
    trials: dict[int, dict[str, TrialPair]] = {}
    for pair in pairs:
        trials.setdefault(id(pair.common), {})[pair.other] = pair
    return trials


def _any(own: Mapping[str, TrialPair]) -> TrialPair:
    return next(iter(own.values()))


def _median(own: Mapping[str, TrialPair], side: str, quantity: str) -> float | None:
    return median_of(_any(own).common.runs.get(side, ()), quantity)


def _cells(values: Sequence, write: Callable[..., str]) -> list[str]:
    return [MISSING if value is None else write(value) for value in values]
