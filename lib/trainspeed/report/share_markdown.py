"""A report in GitHub-flavoured Markdown, short enough for a comment on a pull request: `report.md`.

Made of values. What comes from a ledger is text: no markup, no link, and no name that the site would notify.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import MISSING, NAMES, counted
from trainspeed.core.levers.registry import is_switched
from trainspeed.core.machine_text import VARIABLES, machine_parts
from trainspeed.core.markdown import INLINE_CODE, MARKUP, plain_text, visible
from trainspeed.judge.checks import CheckOutcome
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import accuracy_in_words, interval_of, name_words, outcome_word, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome
from trainspeed.studies.summary.confirmation import counts_of
from trainspeed.studies.summary.gains import shared_words_of
from trainspeed.studies.summary.headline import HeadlineOutcome, how_sure, no_gain_texts
from trainspeed.studies.summary.tables import FrontTable
from trainspeed.studies.summary.values import (
    GainValues,
    RecordedVerdict,
    ReportValues,
    recorded_verdicts,
    verdict_of,
)
from trainspeed.studies.summary.worth import slower_elsewhere, worthwhile

MOST_LETTERS = 65_000  # GitHub refuses a comment of more than 65,536
MOST_ITEMS = (200, 100, 50, 25, 10, 0)  # of each list, the first that is short enough
MOST_ITEM_LETTERS = 600
MOST_CODE_LETTERS = 20_000
WHOLE = "in the pages of the report"
# What GitHub makes a link or a notification of although it is escaped; an empty comment keeps it apart.
NOTIFIES = re.compile(r"@|\\#|\bwww(?=\.)|\bGH(?=-)", re.IGNORECASE)
APART = "<!-- -->"
CAPTIONS = {
    FrontTable.CALLS: "Single convolutions",
    FrontTable.OTHERS: "Frameworks, accuracy, all switches together, controls",
}
NAMES_ALONE = {**NAMES, "scipy": "SciPy"}  # OpenCV is a package of its own


def markdown_of(values: ReportValues, *, complete: bool) -> str:
    """Return a report as Markdown, its lists shortened where it would be too long, which it says.

    Args:
        complete: Whether all of the report ended well.
    """
    recorded = recorded_verdicts(values)
    texts = (_text(values, recorded, complete, most) for most in MOST_ITEMS)
    return next((text for text in texts if len(text) <= MOST_LETTERS), "")


def escape_markdown(text: str, *, in_table: bool = False) -> str:
    """Return text as Markdown that shows it as it is, in one line, shortened; `code` between backticks stays code."""
    line = visible(text)
    if len(line) > MOST_ITEM_LETTERS:
        line = f"{line[: MOST_ITEM_LETTERS - 1].replace('`', '')}…"
    parts = INLINE_CODE.split(line)
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = part.replace("|", r"\|") if in_table else part
        else:
            parts[index] = NOTIFIES.sub(lambda found: f"{found[0]}{APART}", MARKUP.sub(r"\\\1", part))
    return "".join(parts)


def fenced(code: str, language: str = "python") -> str:
    """Return code in a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _text(values: ReportValues, recorded: Sequence[RecordedVerdict], complete: bool, most: int) -> str:
    blocks = [
        "## What makes training faster here?",
        *_warnings(values, complete),
        *_headline(values, recorded),
        _measured_on(values),
        *_to_paste(values),
        *_verdicts(recorded, most),
        *(_list("Undecided, and what would decide it", values.next_steps, most) if values.next_steps else ()),
        *_list("Doubts", values.doubts, most, otherwise="No reason to distrust this was found."),
        *_list("What was not measured", values.not_measured, most, otherwise="Every run gave a result."),
    ]
    return "\n\n".join(blocks) + "\n"


def _warnings(values: ReportValues, complete: bool) -> list[str]:
    lines = []
    if not complete:
        ended = [
            f"{escape_markdown(ran.name)} ({escape_markdown(ran.status)})"
            for ran in values.notebooks
            if ran.status != "ok"
        ]
        lines.append(f"> **This report is not complete**{': ' if ended else ''}{', '.join(ended)}.")
    if values.check and values.check.faults:
        lines.append(
            "> **The instrument is not ok here. Do not rely on what is below until that is mended:**"
        )
        lines += [f"> - {escape_markdown(fault)}" for fault in values.check.faults[:10]]
    return ["\n".join(lines)] if lines else []


def _headline(values: ReportValues, recorded: Sequence[RecordedVerdict]) -> list[str]:
    head = values.headline
    if head.gains:
        told = [verdict for gain in head.gains if (verdict := verdict_of(gain.verdict))]
        recipes = [(verdict.baseline, verdict.candidate) for verdict in told if verdict.factor == RECIPE]
        warned = slower_elsewhere(recipes, [one.verdict for one in recorded])
        warnings = [escape_markdown(plain_text(warning)) for warning in warned]
        return [*(_gain(gain, recorded) for gain in head.gains), *warnings]
    switches = [one.verdict for one in recorded if one.table is FrontTable.SWITCHES]
    searched = [
        v for v in (one.verdict for one in recorded) if v.factor == RECIPE and v.quantity == "time" and v.low
    ]
    claim, why = no_gain_texts(
        head.compared + len(searched),
        head.undecided + sum(verdict.outcome is Outcome.UNDECIDED for verdict in searched),
        len(worthwhile(switches, [one.verdict for one in recorded], values.machine)),
        fresh_blocks="fresh blocks",
    )
    said = f"**{escape_markdown(claim)}**: {escape_markdown(why)}."
    if nearest := verdict_of(head.nearest):
        size = f"{size_of(nearest)} ({interval_of(nearest)})"
        said += f" Nearest to it, and undecided: {escape_markdown(nearest.name)}, {size}."
    return [f"{said} Leave your script as it is." if head.finding is HeadlineOutcome.NOTHING else said]


def _gain(gain: GainValues, recorded: Sequence[RecordedVerdict]) -> str:
    verdict = verdict_of(gain.verdict)
    if verdict is None:
        return f"{escape_markdown(gain.name)}: of another version."
    confirmed = [one.again for one in recorded if one.again]
    again = next((one for one in confirmed if verdict in (one.first, one.again)), None)
    ends = f"{interval_of(verdict)}, {counted(verdict.blocks, 'block')}"
    together = "all together, " if gain.finding is HeadlineOutcome.TOGETHER else ""
    sure = escape_markdown(how_sure(gain.finding, verdict, again))
    pair = (verdict.study, verdict.baseline, verdict.candidate)
    points = (one.verdict for one in recorded if one.verdict.quantity == "accuracy")
    known = next((v.judgement for v in points if (v.study, v.baseline, v.candidate) == pair), None)
    kept = f"; accuracy {accuracy_in_words(known)}" if gain.finding is HeadlineOutcome.TOGETHER else ""
    return f"**{size_of(verdict)} as fast** ({ends}): {escape_markdown(gain.name)}; {together}{sure}{kept}."


def _to_paste(values: ReportValues) -> list[str]:
    pasted = [gain for gain in values.headline.gains if gain.lines is not None and gain.program is not None]
    if not pasted:
        return []
    blocks = ["### What to paste", f"What a plain script has not{_comments(pasted)}."]
    for gain in pasted:
        lines = "\n".join(gain.lines)
        if len(lines) + len(gain.program) > MOST_CODE_LETTERS:
            blocks.append(f"The program of {escape_markdown(gain.name)} is too long for here: it is {WHOLE}.")
            continue
        blocks += [fenced(lines)] if lines else []
        blocks.append(
            f"<details><summary>The whole program</summary>\n\n{fenced(gain.program)}\n\n</details>"
        )
    return blocks


def _comments(pasted: Sequence[GainValues]) -> str:
    """Return what the comments of programs say, where anything was switched: each switch has one."""
    verdicts = [verdict for gain in pasted if (verdict := verdict_of(gain.verdict))]
    switched = any(is_switched(one.baseline, one.candidate) for one in verdicts)
    return "; a comment says what each switch does to the numbers" if switched else ""


def _verdicts(recorded: Sequence[RecordedVerdict], most: int) -> list[str]:
    sure = [one for one in recorded if one.table is not FrontTable.FEW]
    outcomes = ", ".join(counts_of([one.verdict for one in sure], [one.again for one in sure if one.again]))
    few = len(recorded) - len(sure)
    first = f"{counted(len(sure), 'verdict')} with a 95 % interval{': ' if outcomes else ''}{outcomes}."
    first += f" {counted(few, 'first look')} in fewer than {MIN_BLOCKS} blocks: {WHOLE}." if few else ""
    blocks = ["### Verdicts", first]
    blocks += _table([one for one in sure if one.table is FrontTable.SWITCHES], most)
    for table, caption in CAPTIONS.items():
        if several := [one for one in sure if one.table is table]:
            rows = "\n\n".join(_table(several, most))
            blocks.append(f"<details><summary>{caption}: {len(several)}</summary>\n\n{rows}\n\n</details>")
    return blocks


def _table(recorded: Sequence[RecordedVerdict], most: int) -> list[str]:
    if not recorded:
        return []
    shared = shared_words_of([one.verdict for one in recorded])
    above = [f"All of them: {escape_markdown(', '.join(shared))}."] if shared and most else []
    size = "speed-up" + " or difference" * any(one.verdict.quantity == "accuracy" for one in recorded)
    lines = [f"| comparison | {size} | interval | outcome | blocks |", "|---|--:|--:|---|--:|"]
    for one in recorded[:most]:
        verdict = one.verdict
        fresh = f"; in fresh blocks: {size_of(one.again.again)}, {one.again.word}" if one.again else ""
        no_gain = f": {escape_markdown(one.no_gain, in_table=True)}" if one.no_gain else ""
        cells = [
            escape_markdown(_name(verdict, shared), in_table=True),
            size_of(verdict, verdict.quantity),
            interval_of(verdict, verdict.quantity) or MISSING,
            f"{_marked(outcome_word(verdict.judgement, verdict.quantity))}{no_gain}{fresh}",
            str(verdict.blocks),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*above, *(["\n".join(lines)] if most else []), *_more(len(recorded), most)]


def _name(verdict: Verdict, unsaid: Collection[str]) -> str:
    """Return what was compared, and where, without the words that are said above."""
    versus, *words = name_words(verdict.baseline, verdict.candidate, verdict.factor)
    about = ["test accuracy"] if verdict.quantity == "accuracy" else []
    return ", ".join([versus, *about, *(word for word in words if word not in unsaid)])


def _marked(outcome: str) -> str:
    return f"**{outcome}**" if outcome in ("faster", "better") else outcome


def _list(heading: str, sentences: Sequence[str], most: int, *, otherwise: str = "") -> list[str]:
    if not sentences:
        return [f"### {heading}", otherwise]
    lines = "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences[:most])
    count = f": {len(sentences)}" if otherwise else ""
    return [f"### {heading}{count}", *filter(None, [lines]), *_more(len(sentences), most)]


def _more(count: int, most: int) -> list[str]:
    return [f"{count - most} more: {WHOLE}."] if count > most else []


def _measured_on(values: ReportValues) -> str:
    """Return machine, versions and session in one line."""
    parts = machine_parts(values.machine) if values.machine else {}
    facts = [str(values.machine["name"])] if values.machine.get("name") else []
    named = {"memory": "memory ", "NVIDIA driver": "driver ", "system": "", VARIABLES: "set: "}
    facts += [f"{word}{parts[name]}" for name, word in named.items() if parts.get(name) not in (None, "none")]
    packages = (
        f"{NAMES_ALONE.get(framework, framework)} {own[framework]}"
        for framework, own in values.versions.items()
        if framework in own
    )
    facts += dict.fromkeys(packages)
    facts += _checked(values)
    facts += [
        f"{word}{value}"
        for word, value in (("preset ", values.preset), ("session ", values.session))
        if value
    ]
    return f"Measured on: {escape_markdown('; '.join([*facts, f'Trainspeed {values.trainspeed}']))}."


def _checked(values: ReportValues) -> Iterable[str]:
    if values.check is None:
        return ["the instrument was not checked here"]
    counts = values.check.outcomes
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in CheckOutcome if counts.get(outcome))
    return [f"checks of the instrument: {said}"]
