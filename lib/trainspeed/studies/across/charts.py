"""The charts of a comparison: which side is best for each job, and each side against the first. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from trainspeed.core.format import counted, three
from trainspeed.judge.answer import ORDER
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MARGIN
from trainspeed.show.axes import legend_below, name_figure, nothing, ratio_axis
from trainspeed.show.forest import HOLLOW, LABEL_LETTERS, plot_speedups
from trainspeed.show.rows import VERDICT_FIELDS
from trainspeed.show.series import handles, marks
from trainspeed.show.theme import GREY, OKABE_ITO, OUTCOME_STYLES, PALE, SMALL_PT, WIDTH_IN, Look, status_name
from trainspeed.studies.across.answers import UNITS
from trainspeed.studies.across.common import failed, timed
from trainspeed.studies.across.jobs import Job
from trainspeed.studies.across.pairs import TrialPair
from trainspeed.studies.across.ranking import Aim, Entry, Ranking

MOST_ROWS = 40  # nobody reads a taller chart, and the table has all of them
ROWS_OF_SEVERAL = 16  # the largest differences of several sides are much the same trials again and again
MOST_JOBS = 8
ROW_IN = 0.22
NAME_LETTERS = 22  # of a side, in a line of a label
JOB_LETTERS = 34  # of a line; a narrow screen has no room for more
MOST_TICKS = 3  # between the names of the sides and what stands at the right
REST = "the others"
LOOKS: Mapping[str, Look] = {
    "best": OUTCOME_STYLES["faster"],
    "one of": {"color": OKABE_ITO["orange"], "marker": "D", "markeredgecolor": ".25"},
    REST: {"color": GREY, "marker": "o", "markeredgecolor": ".25"},
}


def plot_jobs(jobs: Sequence[Job], shown: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw a row per job and side, the best on top: images per dollar, or else per second, over those of the first.

    Args:
        shown: The sides that are drawn.
    """
    ranked = [(job, job.rankings[-1]) for job in jobs if job.rankings]
    aim = Aim.CHEAPEST if any(ranking.aim is Aim.CHEAPEST for _, ranking in ranked) else Aim.FASTEST
    known_jobs = len(ranked)
    ranked = [(job, ranking) for job, ranking in ranked if ranking.aim is aim]
    title = UNITS[aim].capitalize()
    if not ranked:
        have = "has a result of" if jobs else "was trained by"
        return nothing(f"No model {have} two sides or more.", title=title, ax=ax)
    rows = [row for job, ranking in ranked[:MOST_JOBS] for row in _rows(job, ranking, shown)]
    data = pd.DataFrame(rows).astype(dict.fromkeys(("x", "low", "high"), float))
    heights = data["label"].str.count("\n") + 1.0 + 0.5 * (data["kind"] == "job")
    data["y"] = heights.cumsum() - heights / 2
    alone = ax is None
    if alone:
        ax = plt.subplots(figsize=(WIDTH_IN, ROW_IN * heights.sum() + 1.3), layout="constrained")[1]
    known = data[["x", "low", "high"]].stack().dropna()
    ends = min(known.min(), 1 / (1 + MARGIN)), max(known.max(), 1 + MARGIN)
    ratio_axis(ax.xaxis, *ends, most=MOST_TICKS)
    for kind, look in LOOKS.items():
        marks(ax, data[(data["kind"] == kind) & data["x"].notna()], along="x", look=look, gid=kind)
    _write(ax, data, heights.sum())
    ax.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5, gid="margin")
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
    references = {ranking.reference for _, ranking in ranked[:MOST_JOBS]}
    over = references.pop() if len(references) == 1 else "the first side of the job"
    priced = f", {len(ranked)} of {known_jobs} jobs have prices" if len(ranked) < known_jobs else ""
    said = (
        f"{title}: {_best([ranking for _, ranking in ranked])}{priced}{_of_all(len(ranked), ranked, shown)}"
    )
    if alone:
        name_figure(ax.get_figure(root=True), said)
    else:
        ax.set_title(textwrap.fill(said, 2 * LABEL_LETTERS))
    axis = textwrap.fill(f"{UNITS[aim]} / those of {over}, log scale", JOB_LETTERS)
    ax.set_xlabel(f"{axis}\n(more is better)")
    _legend(ax, aim, data)
    return ax


def _best(rankings: Sequence[Ranking]) -> str:
    """Return which side is best in most jobs, alone; the question where none is in any."""
    counts = Counter(ranking.best[0] for ranking in rankings if len(ranking.best) == 1)
    if not counts:
        return "which side is best is not decided"
    (side, count), *others = counts.most_common(2)
    if others and others[0][1] == count:
        return f"no side is best in most of {len(rankings)} jobs"
    return f"{side} is best in {count} of {counted(len(rankings), 'job')}"


def _of_all(count: int, ranked: Sequence[tuple[Job, Ranking]], shown: Sequence[str]) -> str:
    """Return which part of the jobs and of the sides is drawn, where it is not all."""
    sides = {entry.side for _, ranking in ranked for entry in ranking.entries}
    parts = [f"{MOST_JOBS} of {count} jobs are drawn"] if count > MOST_JOBS else []
    parts += [f"{len(sides & {*shown})} of {len(sides):,} sides"] if sides - {*shown} else []
    priceless = {entry.side for job, _ in ranked for entry in job.fastest.entries} - sides
    parts += [f"without {counted(len(priceless), 'side')} that have no price"] if len(priceless) > 1 else []
    parts += ["without one side that has no price"] if len(priceless) == 1 else []
    return "".join(f", {part}" for part in parts)


def _rows(job: Job, ranking: Ranking, shown: Sequence[str]) -> list[dict]:
    rows = [{"kind": "job", "label": textwrap.fill(job.label, JOB_LETTERS)}]
    for entry in ranking.entries:
        if entry.side in shown:
            bold = entry.side in ranking.best
            kind = ("best" if len(ranking.best) == 1 else "one of") if bold else REST
            row = {"kind": kind, "label": _name(entry.side), "x": entry.speedup, "bold": bold}
            # The reference is what the others' intervals are about: it is hollow only where it has few blocks.
            itself = entry.side == ranking.reference and entry.side not in ranking.unsure
            ends = (1.0, 1.0) if itself else (entry.low, entry.high)
            rows.append(row | {"low": ends[0], "high": ends[1], "text": _value(ranking, entry)})
    for side in (side for side in job.failed if side in shown):
        statuses = ", ".join(map(status_name, job.failed[side]))
        rows.append({"kind": REST, "label": _name(side), "text": statuses})
    return [{"x": None, "low": None, "high": None, "bold": False, "text": "", **row} for row in rows]


def _name(side: str) -> str:
    return textwrap.fill(side, NAME_LETTERS)


def _value(ranking: Ranking, entry: Entry) -> str:
    """Return what stands at the right of a row: how large, and its interval."""
    if entry.side == ranking.reference:
        return f"1 = {three(entry.images)}"
    ends = f"({interval_of(entry)})" if entry.low else f"({counted(entry.blocks, 'block')})"
    return f"{size_of(entry)} {ends}"


def _write(ax: Axes, data: pd.DataFrame, height: float) -> None:
    sides = data[data["kind"] != "job"]
    ax.set_yticks(sides["y"], sides["label"], fontsize=SMALL_PT)
    for label, bold in zip(ax.get_yticklabels(), sides["bold"], strict=True):
        label.set_fontweight("bold" if bold else "normal")
    ax.set_ylim(height, 0)
    ax.grid(axis="y", visible=False)
    across = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": SMALL_PT}
    for row in sides.itertuples():
        ax.text(1.02, row.y, row.text, gid="value", **across)
    behind = {"facecolor": "white", "linewidth": 0, "pad": 1}
    for row in data[data["kind"] == "job"].itertuples():
        ax.text(0, row.y, row.label, gid="job", fontweight="bold", color=".25", bbox=behind, **across)


def _legend(ax: Axes, aim: Aim, data: pd.DataFrame) -> None:
    names = {"best": str(aim), "one of": f"one of the {aim}: not told apart", REST: REST}
    drawn = set(data.loc[data["x"].notna(), "kind"])
    looks = {names[kind]: {**look, "linestyle": "none"} for kind, look in LOOKS.items() if kind in drawn}
    looks["no interval"] = HOLLOW
    entries: list[Artist] = handles(looks)
    entries.append(Patch(color=PALE, label=f"margin: same within {100 * MARGIN:g} %"))
    legend_below(ax.get_figure(root=True), entries)


def plot_pairs(study: str, pairs: Sequence[TrialPair], *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of each side over the first: a row per trial and side, dot and interval on a log axis.

    Of very many, those are drawn whose speed-up is farthest from 1, those with an interval first.
    """
    sides = dict.fromkeys(pair.other for pair in pairs)
    drawn = sorted(pairs, key=_rank)[: MOST_ROWS if len(sides) == 1 else ROWS_OF_SEVERAL]
    rows = [
        {name: getattr(pair, name) for name in VERDICT_FIELDS} | {"label": _label(pair, named=len(sides) > 1)}
        for pair in drawn
    ]
    first, who = pairs[0].first, next(iter(sides)) if len(sides) == 1 else "each side"
    of_all = f" ({len(drawn)} of {len(pairs)} are drawn)" if len(drawn) < len(pairs) else ""
    ax = plot_speedups(rows, title=f"{study}, {who} against {first}: {_found(pairs)}{of_all}", ax=ax)
    if ax.get_xlabel():  # an Axes with nothing but a sentence has none
        times = f"speed-up = time of {first} / time of {who}, log scale"
        ax.set_xlabel(f"{textwrap.fill(times, 2 * LABEL_LETTERS)}\n(above 1: {who} is faster)")
    return ax


def _found(pairs: Sequence[TrialPair]) -> str:
    """Return how many trials are faster, slower, the same and undecided, of those with an interval."""
    counts = Counter(pair.outcome for pair in pairs if pair.low is not None)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ORDER if counts[outcome]) or "no interval"


def _rank(pair: TrialPair) -> tuple[bool, bool, float]:
    return pair.low is None, pair.speedup is None, -abs(math.log(pair.speedup or 1))


def _label(pair: TrialPair, *, named: bool) -> str:
    """Return what a trial is called, and on which side it has no result and why: OOM, timeout."""
    missing = []
    for side in pair.sides:
        if not timed(pair.runs(side)):
            statuses = dict.fromkeys(status_name(run.status) for run in failed(pair.runs(side)))
            missing.append(f"{', '.join(statuses) or 'no result'} on {side}")
    return (f"{pair.other}: " * named) + pair.label + (f" ({', '.join(missing)})" if missing else "")
