"""What a study's page begins with, in words: its answer, and how sure that is. Shows and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import NAMES, counted, listed, percent, three
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.runs import Measured
from trainspeed.judge.answer import Answer, answers, shared_words, where_measured
from trainspeed.judge.arithmetic import onednn_sentences
from trainspeed.judge.blocks_needed import blocks_for_margin
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.next_step import next_step
from trainspeed.judge.text import (
    DEVICES,
    OUTCOME_WORDS,
    OVER_ONE_CORE,
    interval_of,
    name_words,
    size_in_short,
    size_of,
    uneven_in_words,
)
from trainspeed.judge.verdict import CONFIDENCE, MIN_BLOCKS, Outcome, expected_false
from trainspeed.show.messages import of_accuracies
from trainspeed.show.next_steps import step_sentences

MOST_NAMED = 4  # settings with one outcome that a sentence names
MOST_LOOKS = 3  # things that are compared in too few blocks that a line names
MOST_APART = 2  # words for the setting of such a one
OUTCOMES = {Outcome.SAME: OUTCOME_WORDS[Outcome.SAME]}
# A page that stands alone has no link to it: see `trainspeed.report.export`.
FRONT_PAGE = "[front page](index.html#measured-again-in-fresh-blocks)"
AGAIN = Marked(
    "That is a first measurement: the largest gains are measured again in fresh blocks, and the "
    f"{FRONT_PAGE} says what became of them."
)
AGAIN_BY_HAND = Marked(
    "That is a first measurement: `summary.ipynb` measures the largest gains again in fresh blocks, and so does "
    "`make report`."
)


def answer_text(answer: Answer, *, on_cores: bool = False) -> Marked:
    """Return one comparison's answer as Markdown: outcome by outcome, the settings and the sizes.

    Args:
        on_cores: Whether a device is a CPU core: what several gain over one is nothing that a plain script has not.
    """
    gained = answer.settings.get(Outcome.FASTER, ())
    over_one = on_cores and any(verdict.factor == DEVICES for _, verdict in gained)
    words = {**OUTCOMES, **({Outcome.FASTER: "faster than one core"} if over_one else {})}
    said = [
        f"**{words.get(outcome, str(outcome))}** for {_named(settings)}"
        for outcome, settings in answer.settings.items()
    ]
    return Marked(f"{escape(answer.versus)}: {'; '.join(said)}.{f' That is {OVER_ONE_CORE}.' * over_one}")


def first_looks(verdicts: Sequence[Verdict]) -> list[Marked]:
    """Return how much trainings showed that were compared in too few blocks: a line for each framework.

    Each thing that is compared has its own span; where it was decided in another setting, the setting is told, too.
    """
    trained = [
        v for v in verdicts if not v.is_control and not v.candidate.phase.calls and v.quantity == "time"
    ]
    decided: dict[str, dict[str, list[Verdict]]] = {}
    seen: dict[str, dict[str, list[Verdict]]] = {}
    for verdict in trained:
        if verdict.speedup is not None:
            kind = seen if verdict.low is None else decided
            versus = verdict.row.versus(verdict.baseline, verdict.candidate)
            kind.setdefault(verdict.baseline.framework, {}).setdefault(versus, []).append(verdict)
    lines = []
    for framework, by_versus in seen.items():
        sure = decided.get(framework, {})
        looks = [_look(versus, several, sure.get(versus, ())) for versus, several in by_versus.items()]
        if (more := len(looks) - MOST_LOOKS) > 0:
            looks[MOST_LOOKS:] = [f"{more} more"]
        why = (
            f"a first look in fewer than {MIN_BLOCKS} blocks, which decides nothing"
            if sure
            else f"**undecided**, as no comparison has {MIN_BLOCKS} blocks; a first look"
        )
        lines.append(Marked(f"{escape(NAMES[framework])}: {why}: {'; '.join(looks)}."))
    return lines


def accuracy_text(verdicts: Sequence[Verdict], untrained: Sequence[str] = ()) -> str:
    """Return what is known of accuracy as Markdown, one sentence: what is undecided is named, with what decides it.

    Args:
        untrained: What had not learned, so that no verdict is about it: "mobilenet in PyTorch".
    """
    said = []
    if verdicts:
        sure = [verdict for verdict in verdicts if verdict.low is not None]
        open_ = _undecided_accuracy(sure) if sure else f"undecided, with fewer than {MIN_BLOCKS} blocks"
        said.append(of_accuracies(verdicts, otherwise=f"Accuracy: {open_}"))
    if untrained:
        compared = f"not compared for {escape(listed(untrained))}, which had not learned"
        said.append(compared if said else f"Accuracy: {compared}")
    return f"{'; '.join(said) or 'Accuracy: not compared'}."


def _undecided_accuracy(sure: Sequence[Verdict]) -> str:
    """Return for what it is undecided whether accuracy was kept, and how many blocks decide it."""
    found = answers(sure)
    settings = [
        (f"{answer.versus} for {name}" if len(found) > 1 else name, verdict)
        for answer in found
        for several in answer.settings.values()
        for name, verdict in several
    ]
    if all(why := [uneven_in_words(verdict.judgement) for verdict in sure]):
        return f"undecided for {_named(settings)}, as {max(why)}"
    needed = [blocks_for_margin(verdict) for verdict in sure]
    if not (blocks := max(filter(None, needed), default=None)):
        return f"undecided for {_named(settings)}, and no reasonable number of blocks decides it"
    return f"undecided for {_named(settings)}: {accuracy_blocks(blocks)}"


def accuracy_blocks(blocks: int) -> str:
    """Return that so many blocks would decide an accuracy that is undecided."""
    return f"`accuracy_blocks: {blocks}` would decide it, if the difference is as large as it looks now"


def _look(versus: str, several: Sequence[Verdict], decided: Sequence[Verdict]) -> str:
    """Return the span of some speed-ups, and in which setting, where others of the same comparison are decided."""
    known = {word for verdict in decided for word in _setting(verdict)}
    apart = [*dict.fromkeys(word for v in several for word in _setting(v) if word not in known)]
    where = " in other settings"
    if 0 < len(apart) <= MOST_APART:
        where = f" ({(', ' if len(several) == 1 else ' or ').join(apart)})"
    sizes = sorted(verdict.speedup for verdict in several)
    span = listed(dict.fromkeys(f"{size:.2f}x" for size in (sizes[0], sizes[-1])), last="to")
    return f"{escape(versus + where * bool(decided))} {span}"


def _setting(verdict: Verdict) -> list[str]:
    return name_words(verdict.baseline, verdict.candidate, verdict.factor)


def _named(settings: Sequence[tuple[str, Verdict]]) -> str:
    names = [
        f"{escape(name)} ({size_in_short(verdict, verdict.quantity)})"
        for name, verdict in settings[:MOST_NAMED]
    ]
    more = len(settings) - MOST_NAMED
    return listed([*names, f"{more} more"] if more > 0 else names)


def certainty_sentences(
    measured: Measured,
    verdicts: Sequence[Verdict],
    control: Sequence[Verdict],
    doubted: Sequence[Verdict] = (),
) -> list[str]:
    """Return how sure the answer is, in sentences; arguments as of `sections.certainty`."""
    sure = [verdict for verdict in verdicts if verdict.low is not None]
    sentences = []
    if sure:
        where = where_measured(sure, measured)
        # A version names its framework: "PyTorch 2.15".
        told = {word.partition(" ")[0] for word in where}
        setting = [*where, *(word for word in shared_words(sure) if word not in told)]
        sentences.append(f"Measured on: {', '.join(setting)}.")
        every = [verdict for verdict in doubted or verdicts if not verdict.is_control]
        judged = [verdict for verdict in every if verdict.low is not None]
        sentences.append(_intervals(judged, len(every), measured.by_hand))
    sentences += onednn_sentences(measured.runs)
    noise = [f"{_whose(v)} {size_of(v)} ({interval_of(v)})" for v in control if v.low is not None]
    if noise:
        sentences.append(
            f"The same setting measured twice, as if it were two: {listed(noise)}. That much is noise alone."
        )
    doubts = len([*measured.doubts, *study_doubts(measured.runs, control, doubted, measured.coverage)])
    sentences.append(
        Marked(f"{counted(doubts, 'reason')} to distrust this: see the [doubts](#doubts).")
        if doubts
        else "No reason to distrust this was found in the runs."
    )
    step = next_step(sure or verdicts, measured, measured.coverage)
    asked = measured.study, measured.wall_s, measured.coverage, measured.choice
    return [*sentences, *step_sentences(step, *asked)]


def _whose(control: Verdict) -> str:
    """Return what was measured twice, in short: "PyTorch, cnn10"."""
    return ", ".join(control.baseline.describe()[:2])


def _intervals(sure: Sequence[Verdict], all_of_them: int, by_hand: bool) -> Marked:
    """Return what the intervals are, how many of them may miss the truth, and where fresh blocks are told."""
    blocks = sorted({verdict.blocks for verdict in sure})
    span = f"{blocks[0]}" if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    chance = three(expected_false(len(sure)))
    told = (
        f"Each is a {percent(CONFIDENCE)} interval over {span} blocks of fresh processes; of {len(sure)} such "
        f"intervals, at most {chance} are expected to miss the truth."
        if len(sure) > 1
        else f"It is a {percent(CONFIDENCE)} interval over {span} blocks of fresh processes."
    )
    chosen = f"What was measured again in fresh blocks is on the {FRONT_PAGE}."
    if any(verdict.factor == RECIPE for verdict in sure):
        chosen = "The total was measured in blocks that were not used to choose the switches."
    elif by_hand:
        chosen = "Nothing was measured again in fresh blocks."
    return Marked(f"{told} Comparisons in all: {all_of_them}. {chosen}")
