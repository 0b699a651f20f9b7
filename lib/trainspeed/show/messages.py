"""What a chart says, as its title: computed from verdicts, a function for each kind of message. Decides nothing.

Only what has an interval is said, or a largest value and a count: a difference between two medians is no message. Where
nothing is decided, the title is the question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from trainspeed.core.run import Run, Status
from trainspeed.judge.answer import ORDER
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.memory import memory_share
from trainspeed.judge.verdict import Outcome

MOST_SAID = 3  # findings that a title tells apart; more are counted
SAID = {Outcome.SAME: "the same"}  # an outcome that is not its own word


def of_comparisons(verdicts: Sequence[Verdict], *, otherwise: str = "") -> str:
    """Return what was found, by outcome: "channels_last vs channels_first: 2 faster, 1 undecided".

    A single comparison, or several with one outcome, are said in full; where none is decided, the question is.

    Args:
        otherwise: The title without any verdict that has an interval, where verdicts have no question in common.
    """
    sure = _sure(verdicts)
    if not any(_is_decided(verdict) for verdict in sure):
        return _question(verdicts, otherwise)
    groups: dict[str, list[Verdict]] = {}
    for verdict in sure:
        groups.setdefault(verdict.row.versus(verdict.baseline, verdict.candidate), []).append(verdict)
    if len(groups) > MOST_SAID:
        return f"Of {len(sure)} comparisons: {_counted(sure)}"
    return "; ".join(f"{versus}: {_counted(several)}" for versus, several in groups.items())


def over_sizes(verdicts: Sequence[Verdict], *, otherwise: str = "") -> str:
    """Return from which batch size on what was found: "channels_last vs channels_first: faster from batch 32 on".

    Where settings (frameworks, models, …) differ in that, each finding is said with its settings, and too many are
    counted; several things that are compared are counted too.
    """
    sure = _sure(verdicts)
    versus = _versus(sure)
    places = {(*_words(verdict), verdict.baseline.batch_size) for verdict in sure}
    if not versus or len(places) < len(sure) or not any(_is_decided(verdict) for verdict in sure):
        return of_comparisons(verdicts, otherwise=otherwise)
    settings: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in sure:
        settings.setdefault(tuple(_words(verdict)), []).append(verdict)
    findings: dict[str, list[str]] = {}
    for name, several in zip(_names([*settings]), settings.values(), strict=True):
        findings.setdefault(_over_sizes(several), []).append(name)
    if len(findings) == 1:
        return f"{versus}: {next(iter(findings))}"
    if len(findings) > MOST_SAID:
        return of_comparisons(verdicts, otherwise=otherwise)
    said = [f"{found} ({', '.join(names)})" for found, names in findings.items()]
    return f"{versus}: {'; '.join(said)}"


def _names(settings: Sequence[Sequence[str]]) -> list[str]:
    """Return the shortest names of settings: one word of each where that tells them apart, else all that differ."""
    differ = [[word for word in words if not all(word in other for other in settings)] for words in settings]
    for alone in zip(*differ, strict=False):
        if len({*alone}) == len(settings):
            return [*alone]
    return [" ".join(words) for words in differ]


def of_memory(runs: Iterable[Run], *, otherwise: str) -> str:
    """Return how full the memory was at most: "Memory was never above 31 % of what this machine has".

    Args:
        otherwise: The title where a run did not fit, or did not tell what it took.
    """
    told = [run for run in runs if run.status is not Status.UNSUPPORTED]
    shares = [memory_share(run) for run in told if run.status is Status.OK]
    if not shares or None in shares or any(run.status is Status.OOM for run in told):
        return otherwise
    cpu = all(run.machine.get("device") == "cpu" for run in told)
    return f"Memory was never above {math.ceil(100 * max(shares))} % of what {'this machine' if cpu else 'a GPU'} has"


def all_of(number: int) -> str:
    """Return all of two comparisons or more in words: "both comparisons"."""
    return "both comparisons" if number == 2 else f"all {number} comparisons"


def _counted(verdicts: Sequence[Verdict]) -> str:
    """Return how many have which outcome; one outcome alone is no number: "faster in all 4 comparisons"."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    if len(counts) == 1:
        (outcome,) = counts
        return _word(outcome) + (f" in {all_of(len(verdicts))}" if len(verdicts) > 1 else "")
    return ", ".join(f"{counts[outcome]} {_word(outcome)}" for outcome in ORDER if counts[outcome])


def _over_sizes(verdicts: Sequence[Verdict]) -> str:
    """Return what was found for one setting over its batch sizes, each of which has one verdict."""
    by_size = {verdict.baseline.batch_size: verdict.outcome for verdict in verdicts}
    sizes = sorted(by_size)
    outcomes = [by_size[size] for size in sizes]
    if len(sizes) == 1:
        return f"{_word(outcomes[0])} at batch {sizes[0]}"
    if len(set(outcomes)) == 1:
        return f"{_word(outcomes[0])} from batch {sizes[0]} to {sizes[-1]}"
    first = next(i for i in range(len(sizes)) if len(set(outcomes[i:])) == 1)
    if outcomes[first] in (Outcome.FASTER, Outcome.SLOWER) and outcomes[first] not in outcomes[:first]:
        return f"{_word(outcomes[first])} from batch {sizes[first]} on"
    said = []
    for outcome in ORDER:
        if own := [str(size) for size in sizes if by_size[size] is outcome]:
            said.append(f"{_word(outcome)} at batch {', '.join(own)}")
    return ", ".join(said)


def _sure(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [v for v in verdicts if v.low is not None and not v.is_control]


def _is_decided(verdict: Verdict) -> bool:
    return verdict.outcome is not Outcome.UNDECIDED


def _versus(verdicts: Sequence[Verdict]) -> str:
    """Return what all of them compare; nothing where they compare several things."""
    versus = {verdict.row.versus(verdict.baseline, verdict.candidate) for verdict in verdicts}
    return versus.pop() if len(versus) == 1 else ""


def _question(verdicts: Sequence[Verdict], otherwise: str) -> str:
    questions = {v.question for v in verdicts if not v.is_control and v.quantity == "time"}
    return questions.pop() if len(questions) == 1 else otherwise


def _words(verdict: Verdict) -> list[str]:
    """Return the setting of a verdict in words, without what is compared and the batch size."""
    return verdict.baseline.describe(without=(*verdict.row.hidden, "batch_size"))


def _word(outcome: Outcome) -> str:
    return SAID.get(outcome, str(outcome))
