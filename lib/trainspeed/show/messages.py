"""What a chart says, as its title: computed from verdicts, a function for each kind of message. Decides nothing.

Of what has no interval only that is said, as a difference between two medians is no message; else outcomes, a largest
value and counts. Where nothing is decided, the title is the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from trainspeed.core.format import fixed, percent_used, three
from trainspeed.core.markdown import escape
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.answer import ORDER
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.equivalence import Equality, equality_of
from trainspeed.judge.memory import memory_share, memory_use
from trainspeed.judge.text import outcome_word, shared_setting
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome

MOST_SAID = 3  # findings that a title tells apart; more are counted
SAID = {
    Outcome.SAME: "the same",
    None: "without an interval",
}  # what is not its own word; None is what no verdict with an interval has
OUTCOMES_SHOWN = (*ORDER, None)  # in this order


def of_comparisons(verdicts: Sequence[Verdict], *, otherwise: str = "") -> str:
    """Return what was found, by outcome: "channels_last vs channels_first: 2 faster, 1 undecided".

    A single comparison, or several with one outcome, are said in full; where none is decided, the question is. Where
    several things are compared, what has no interval is counted once for all of them.

    Args:
        otherwise: The title without any verdict that has an interval, where verdicts have no question in common.
    """
    told = [verdict for verdict in verdicts if not verdict.is_control]
    if not any(_is_decided(verdict) for verdict in told):
        return _question(told, otherwise)
    groups: dict[str, list[Verdict]] = {}
    for verdict in told:
        groups.setdefault(verdict.row.versus(verdict.baseline, verdict.candidate), []).append(verdict)
    if len(groups) > MOST_SAID:
        return f"Of {len(told)} comparisons: {_counted(told)}"
    if len(groups) == 1:
        return "".join(f"{versus}: {_counted(several)}" for versus, several in groups.items())
    sure = {versus: [v for v in several if v.low is not None] for versus, several in groups.items()}
    said = [f"{versus}: {_counted(several)}" for versus, several in sure.items() if several]
    return "; ".join([*said, *_unsure(told)])


def over_sizes(verdicts: Sequence[Verdict], *, otherwise: str = "") -> str:
    """Return from which batch size on what was found: "channels_last vs channels_first: faster from batch 32 on".

    Where settings (frameworks, models, …) differ in that, each finding is said with its settings, and too many are
    counted, as is what has no interval; several things that are compared are counted too.
    """
    told = [verdict for verdict in verdicts if not verdict.is_control]
    versus = _versus(told)
    places = {(*_words(verdict), verdict.baseline.batch_size) for verdict in told}
    if not versus or len(places) < len(told) or not any(_is_decided(verdict) for verdict in told):
        return of_comparisons(verdicts, otherwise=otherwise)
    settings: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in told:
        settings.setdefault(tuple(_words(verdict)), []).append(verdict)
    if len(alike := {_over_sizes(several) for several in settings.values()}) == 1:
        return f"{versus}: {alike.pop()}"
    findings: dict[str, list[str]] = {}
    for name, several in zip(_names([*settings]), settings.values(), strict=True):
        if found := _over_sizes(several, unsure=False):
            findings.setdefault(found, []).append(name)
    if len(findings) > MOST_SAID:
        return of_comparisons(verdicts, otherwise=otherwise)
    said = [f"{found} ({', '.join(names)})" for found, names in findings.items()]
    return f"{versus}: {'; '.join([*said, *_unsure(told)])}"


def _names(settings: Sequence[Sequence[str]]) -> list[str]:
    """Return the shortest names of settings: one word of each where that tells them apart, else all that differ."""
    differ = [[word for word in words if not all(word in other for other in settings)] for words in settings]
    for alone in zip(*differ, strict=False):
        if len({*alone}) == len(settings):
            return [*alone]
    return [" ".join(words) for words in differ]


def of_accuracies(verdicts: Sequence[Verdict], *, otherwise: str) -> str:
    """Return what is known of accuracies: "bf16 vs default precision, accuracy: not lower in both comparisons".

    Args:
        otherwise: The title where nothing is known.
    """
    told = [verdict for verdict in verdicts if not verdict.is_control and verdict.low is not None]
    if not told:
        return _first_look(verdicts) or otherwise
    if not any(equality_of(verdict.judgement) in (Equality.EQUAL, Equality.WORSE) for verdict in told):
        return otherwise
    counts = Counter(outcome_word(verdict.judgement, "accuracy") for verdict in told)
    said = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    if len(counts) == 1:
        said = f"{next(iter(counts))}{f' in {all_of(len(told))}' if len(told) > 1 else ''}"
    versus = _versus(told)
    return f"{versus}, accuracy: {said}" if versus else f"Accuracy, pair by pair: {said}"


def _first_look(verdicts: Sequence[Verdict]) -> str:
    """Return between what bounds accuracies differ that have no interval; nothing where none was compared."""
    seen = [verdict for verdict in verdicts if not verdict.is_control and verdict.speedup is not None]
    if not seen:
        return ""
    versus = _versus(seen)
    what = f"{versus}, accuracy" if versus else "Accuracy, pair by pair"
    return f"{what}: {_points_between(seen)}, a first look ({_in_blocks(seen)}, no interval)"


def accuracy_look(verdicts: Sequence[Verdict], *, otherwise: str) -> str:
    """Return by how much accuracies differ that have no interval, thing by thing, as Markdown; else `otherwise`."""
    seen = [verdict for verdict in verdicts if not verdict.is_control and verdict.speedup is not None]
    groups: dict[str, list[Verdict]] = {}
    for verdict in seen:
        groups.setdefault(verdict.row.versus(verdict.baseline, verdict.candidate), []).append(verdict)
    if not groups:
        return otherwise
    said = "; ".join(
        f"{escape(versus)} by {_points_between(several)}{f' in {len(several)} pairs' * (len(several) > 1)}"
        for versus, several in groups.items()
    )
    return (
        f"In {_in_blocks(seen)}, accuracy differs: {said}. Single runs differ by chance, so that this decides nothing; "
        f"`accuracy_blocks: {MIN_BLOCKS}` would give an interval."
    )


def _points_between(verdicts: Sequence[Verdict]) -> str:
    """Return between what bounds accuracies differ: "-1.5 to +3.0 points"."""
    least, most = (fixed(end(v.speedup for v in verdicts), 1, sign="+") for end in (min, max))
    return f"{least if least == most else f'{least} to {most}'} points"


def _in_blocks(verdicts: Sequence[Verdict]) -> str:
    """Return how many blocks the verdict with the most of them has: "one block", "at most 3 blocks"."""
    blocks = max(verdict.blocks for verdict in verdicts)
    return "one block" if blocks == 1 else f"at most {blocks} blocks"


def of_memory(runs: Collection[Run], *, otherwise: str) -> str:
    """Return how much one run took at most: "The largest of these runs took 30 % of this machine's memory".

    Args:
        otherwise: The title where a run did not fit, or did not tell what it took.
    """
    use = memory_use(runs)
    if use.fullest is None or use.out_of_memory or use.untold:
        return otherwise
    of = "this machine's" if use.fullest.machine.get("device") == "cpu" else "a GPU's"
    return f"The largest of these runs took {percent_used(memory_share(use.fullest))} of {of} memory"


def of_throughput(runs: Collection[Run]) -> str:
    """Return the largest median throughput, and of which trial it is; the question where no run has one."""
    medians = RunSet(tuple(runs)).data().medians(lambda run: run.images_per_s)
    if not medians:
        return "How many images per second is that?"
    trial = max(medians, key=medians.get)
    unsaid = ("image_size", "precision", *["compile"] * (not trial.compile))
    where = ", ".join(trial.describe(without=unsaid))
    return f"Up to {three(medians[trial])} images per second: {where}"


def all_of(number: int) -> str:
    """Return all of two comparisons or more in words: "both comparisons"."""
    return "both comparisons" if number == 2 else f"all {number} comparisons"


def _counted(verdicts: Sequence[Verdict]) -> str:
    """Return how many have which outcome; one outcome alone is no number: "faster in all 4 comparisons"."""
    counts = Counter(map(_found, verdicts))
    if len(counts) == 1:
        (outcome,) = counts
        return _word(outcome) + (f" in {all_of(len(verdicts))}" if len(verdicts) > 1 else "")
    return ", ".join(f"{counts[outcome]} {_word(outcome)}" for outcome in OUTCOMES_SHOWN if counts[outcome])


def _unsure(verdicts: Sequence[Verdict]) -> list[str]:
    """Return how many have no interval, as one finding; nothing where all have one."""
    count = sum(verdict.low is None for verdict in verdicts)
    return [f"{count} {SAID[None]}"] if count else []


def _over_sizes(verdicts: Sequence[Verdict], *, unsure: bool = True) -> str:
    """Return what was found for one setting over its batch sizes, each of which has one verdict.

    The sizes are listed, unless two or more at the end have one outcome, and none before is decided.

    Args:
        unsure: Whether the sizes without an interval are listed, too.
    """
    by_size = {verdict.baseline.batch_size: _found(verdict) for verdict in verdicts}
    sizes = sorted(by_size)
    decided = [size for size in sizes if by_size[size] not in (Outcome.UNDECIDED, None)]
    if (
        len(decided) > 1
        and decided == sizes[-len(decided) :]
        and len({by_size[size] for size in decided}) == 1
    ):
        end = "on" if len(decided) < len(sizes) else f"to {sizes[-1]}"
        return f"{_word(by_size[decided[0]])} from batch {decided[0]} {end}"
    said = []
    for outcome in OUTCOMES_SHOWN:
        own = [str(size) for size in sizes if by_size[size] is outcome]
        if own and (unsure or outcome):
            said.append(f"{_word(outcome)} at batch {', '.join(own)}")
    return ", ".join(said)


def _found(verdict: Verdict) -> Outcome | None:
    """Return its outcome; None where it has no interval."""
    return None if verdict.low is None else verdict.outcome


def _is_decided(verdict: Verdict) -> bool:
    return _found(verdict) not in (Outcome.UNDECIDED, None)


def _versus(verdicts: Sequence[Verdict]) -> str:
    """Return what all of them compare; nothing where they compare several things."""
    versus = {verdict.row.versus(verdict.baseline, verdict.candidate) for verdict in verdicts}
    return versus.pop() if len(versus) == 1 else ""


def _question(verdicts: Sequence[Verdict], otherwise: str) -> str:
    questions = {verdict.question for verdict in verdicts if verdict.quantity == "time"}
    return questions.pop() if len(questions) == 1 else otherwise


def _words(verdict: Verdict) -> list[str]:
    """Return the setting of a verdict in words, without what is compared and the batch size."""
    unsaid = (*verdict.row.hidden, "batch_size")
    return shared_setting(verdict.baseline, verdict.candidate, verdict.row, unsaid)


def _word(outcome: Outcome | None) -> str:
    return SAID.get(outcome, str(outcome))
