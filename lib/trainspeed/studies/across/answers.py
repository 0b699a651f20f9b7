"""Which side is fastest and which is cheapest, in sentences, and what a price would add. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trainspeed.core.format import counted, digits, percent
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Run
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Judged
from trainspeed.studies.across.facts import side_names
from trainspeed.studies.across.jobs import Job, Prices
from trainspeed.studies.across.ranking import Aim, Entry, Ranking

MOST_GROUPS = 4  # of jobs with the same answer, in a sentence
UNITS = {Aim.FASTEST: "images per second", Aim.CHEAPEST: "images per dollar"}


def answer_blocks(jobs: Sequence[Job], sides: Sequence[str] = ()) -> list[Marked]:
    """Return which side is fastest and which cheapest over all jobs, as Markdown: a paragraph for each.

    Args:
        sides: All that were to be compared; one that has no job is named.
    """
    sentences: list[Marked] = []
    for aim in Aim:
        rankings = [(job, ranking) for job in jobs for ranking in job.rankings if ranking.aim is aim]
        if len(rankings) == 1:
            job, ranking = rankings[0]
            sentences.append(Marked(f"{aim.capitalize()} for {escape(job.label)}: {best_in_words(ranking)}."))
        elif rankings:
            sentences.append(_overall(aim, [ranking for _, ranking in rankings]))
            sentences += _spread_sentences([ranking for _, ranking in rankings])
    if not jobs:
        return [
            Marked("No model was trained by two sides or more, so there is no job to name the best side for.")
        ]
    if not sentences:
        no_best = Marked("No model has a result of two sides or more, so there is no best side to name.")
        return [no_best, *_without_result(jobs)]
    return [*sentences, *_without_result(jobs), *_without_job(jobs, sides)]


def undecided_side_sentences(
    jobs: Sequence[Job], prices: Prices, runs: Mapping[str, Sequence[Run]]
) -> list[str]:
    """Return about which sides nothing is decided, and what a price would add.

    Args:
        runs: Side -> its runs, which say whether nodes of a fleet have measured them.
    """
    if not any(job.rankings for job in jobs):
        return []
    by_fleet = all(run.node for own in runs.values() for run in own)
    return [*_unsure_sentences(jobs), *price_sentences(prices, by_fleet=by_fleet)]


def _overall(aim: Aim, rankings: Sequence[Ranking]) -> Marked:
    groups: dict[tuple[str, ...], list[Ranking]] = {}
    for ranking in rankings:
        groups.setdefault(tuple(sorted(ranking.best)), []).append(ranking)
    decided = sorted((best for best in groups if best), key=lambda best: (len(best) > 1, -len(groups[best])))
    parts = []
    for best in decided[:MOST_GROUPS]:
        own = groups[best]
        parts.append(f"{_who(best)} in {_of(len(own), len(rankings))}{_sizes(best, own)}")
    if others := sum(len(groups[best]) for best in decided[MOST_GROUPS:]):
        parts.append(f"other sides in {_of(others, len(rankings))}")
    if open_ := groups.get(()):
        parts.append(f"undecided in {_of(len(open_), len(rankings))}: {_too_few()}")
    return Marked(f"{aim.capitalize()} ({UNITS[aim]}): {'; '.join(parts)}.")


def _without_result(jobs: Sequence[Job]) -> list[Marked]:
    """Return a sentence for the sides that have no place in any job as none of their runs in it gave a result."""
    failed: dict[str, list[str]] = {}
    for side, statuses in (one for job in jobs for one in job.failed.items()):
        failed.setdefault(side, []).extend(map(str, statuses))
    reasons: dict[str, list[str]] = {}
    for side in (side for side in failed if side not in _ranked(jobs)):
        reasons.setdefault(", ".join(dict.fromkeys(failed[side])) or "no time", []).append(side)
    return [
        Marked(
            f"{escape(side_names(sides))} {'is' if len(sides) == 1 else 'are'} not compared: no run of what others "
            f"trained, too, gave a result ({why}; see [failures](#failures))."
        )
        for why, sides in reasons.items()
    ]


def _ranked(jobs: Sequence[Job]) -> set[str]:
    """Return the sides that have a place in a job."""
    return {entry.side for job in jobs for ranking in job.rankings for entry in ranking.entries}


def _without_job(jobs: Sequence[Job], sides: Sequence[str]) -> list[Marked]:
    ranked = _ranked(jobs)
    failed = {side for job in jobs for side in job.failed}
    if not (left := [side for side in sides if side not in ranked | failed]):
        return []
    verb = "is" if len(left) == 1 else "are"
    return [
        Marked(
            f"{escape(side_names(left))} {verb} not compared: no other side has a result of the same model on the same "
            "images."
        )
    ]


def _of(count: int, total: int) -> str:
    return f"all {total} jobs" if count == total else f"{count} of {total} jobs"


def _sizes(best: Sequence[str], rankings: Sequence[Ranking]) -> str:
    """Return how much better a side is than the reference, where it is one side and another one."""
    if len(best) > 1 or any(ranking.reference in best for ranking in rankings):
        return ""
    references = {ranking.reference for ranking in rankings}
    sizes = sorted(ranking.of(best[0]).speedup for ranking in rankings)
    span = f"{sizes[0]:.2f}x" if len(sizes) == 1 else f"{sizes[0]:.2f}x to {sizes[-1]:.2f}x"
    return f" ({span} {escape(references.pop())})" if len(references) == 1 else ""


def _who(best: Sequence[str]) -> str:
    if len(best) == 1:
        return f"**{escape(best[0])}**"
    return f"one of {escape(side_names(best))}"


def _too_few() -> str:
    return f"fewer than two sides have {MIN_BLOCKS} blocks"


def best_in_words(ranking: Ranking) -> str:
    """Return, as Markdown, the best side of a job, what it gets out of a second or a dollar, and how it compares."""
    entries = {entry.side: entry for entry in ranking.entries}
    if not ranking.best:
        return f"undecided, {_too_few()}"
    if len(ranking.best) > 1:
        values = [f"{escape(side)} ({_amount(ranking, entries[side])})" for side in ranking.best]
        return f"one of {side_names(values)}, {_why_several(ranking)}"
    best = entries[ranking.best[0]]
    said = f"**{escape(best.side)}**, {_amount(ranking, best)}"
    if best.side != ranking.reference:
        return f"{said}, {_times(best)} {escape(ranking.reference)}{_ends(best)}"
    after = next(entry for entry in ranking.entries if entry.side not in (best.side, *ranking.unsure))
    return f"{said}; next is {escape(after.side)} with {_times(after)} that{_ends(after)}"


def _why_several(ranking: Ranking) -> str:
    """Return why more than one side may be the best."""
    same = f"whose intervals overlap or which are the same within {percent(MARGIN)}"
    if not ranking.by_spread:
        return same
    alike = f"which differ by no more than sessions on machines that are alike: {ranking.spread:.2f}x"
    return alike if len(ranking.by_spread) == len(ranking.best) - 1 else f"{same}, or {alike}"


def _spread_sentences(rankings: Sequence[Ranking]) -> list[Marked]:
    """Return, in at most one sentence, in how many jobs it is the spread of sides that are alike that decides."""
    spreads = [ranking.spread for ranking in rankings if ranking.by_spread]
    if not spreads:
        return []
    return [
        Marked(
            f"In {_of(len(spreads), len(rankings))} the best sides differ by no more than sessions on machines that "
            f"are alike, up to {max(spreads):.2f}x, so none of them is called {rankings[0].aim}."
        )
    ]


def _amount(ranking: Ranking, entry: Entry) -> str:
    return f"{digits(entry.images)} {UNITS[ranking.aim]}"


def _times(judged: Judged) -> str:
    return size_of(judged)


def _ends(judged: Judged) -> str:
    if judged.low is None:
        return ", no interval"
    return f" ({percent(judged.judgement.confidence)} interval {interval_of(judged)})"


def _unsure_sentences(jobs: Sequence[Job]) -> list[str]:
    """Return, in at most one sentence, about which sides nothing is decided."""
    rankings = [job.fastest for job in jobs if job.fastest and job.fastest.best]
    counts = Counter(side for ranking in rankings for side in ranking.unsure)
    if not counts:
        return []
    have = "has" if len(counts) == 1 else "have"
    where = f"in {counted(len([r for r in rankings if r.unsure]), 'job')}"
    return [
        f"{side_names(list(counts))} {have} fewer than {MIN_BLOCKS} blocks {where}: nothing is decided about "
        f"{'it' if len(counts) == 1 else 'them'} there."
    ]


def price_sentences(prices: Prices, *, by_fleet: bool = False) -> list[str]:
    """Return, in at most one sentence, whose price is missing, where it is given, and what it would add.

    Args:
        by_fleet: Whether the sides are machines of a fleet, which has its prices in a file.
    """
    missing = [side for side, price in prices.items() if price is None]
    if not missing:
        return []
    whose = (
        "No price is given" if len(missing) == len(prices) else f"No price is given for {side_names(missing)}"
    )
    example = " ".join("2.5" if price is None else f"{price:g}" for price in prices.values())
    example = "2.5 1.2" if len(missing) == len(prices) == 2 else example
    if len(prices) > MOST_GROUPS or len(missing) == len(prices) > 2:
        example = "2.5 1.2 …"
    given = f'USD="{example}", the price of an hour of each side in their order (- where it is not known)'
    if by_fleet:
        given = f"usd_per_hour of each machine in fleet.yaml, or for make compare {given}"
    return [f"{whose}: {given}, adds which is cheapest and how many images a dollar buys."]
