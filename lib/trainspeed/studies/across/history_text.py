"""Machines over time in sentences: since when what fails, or is slower or faster, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from trainspeed.core.format import counted, listed, three
from trainspeed.core.markdown import Marked, escape
from trainspeed.judge.failures import kind_of_failure
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, expected_false
from trainspeed.show.theme import status_name
from trainspeed.studies.across.changes import CHANGES, Change, ChangeOutcome, Failing, TrialHistory
from trainspeed.studies.across.common import Common
from trainspeed.studies.across.sessions import Session, changes_text

MOST_NAMED = 3  # trials, in a sentence
MOST_CHANGES = 6  # sentences on changes, the newest
MOST_ALONE = 2  # sentences on newest sessions before which nothing changed
ALIKE = "machines that are alike, whether or not they are one"


def letters(sessions: Iterable[Session]) -> dict[str, str]:
    """Return session's id -> the letter of what changed before it: A, B, … Z, AA, AB, …"""
    changed = [session.id for session in sessions if session.changes]
    return {name: _letter(number) for number, name in enumerate(changed)}


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + chr(ord("A") + last)


def letters_of(named: Mapping[str, str], change: Change | Failing) -> str:
    """Return the letters of the sessions before which it changed: "A", or "A, B"."""
    return ", ".join(named[session.id] for session in change.changed_in)


def change_blocks(sessions: Sequence[Session], trials: Sequence[TrialHistory]) -> list[Marked]:
    """Return what fails now, and what became slower or faster since when, as Markdown: the newest change first; else
    that nothing did."""
    several = len({session.machine for session in sessions}) > 1
    changes = [change for history in trials for change in history.changes]
    failing = _failing([history.failing for history in trials if history.failing], several)
    if not changes:
        return [*failing, *_alone(trials, several), _unchanged(sessions, trials)]
    blocks = [
        _since(own, several)
        for own in _by_change(changes).values()
        if any(change.finding in CHANGES for change in own)
    ]
    if (more := len(blocks) - MOST_CHANGES) > 0:
        blocks[MOST_CHANGES:] = [
            Marked(f"{counted(more, 'earlier change')}: see [every trial](#every-trial).")
        ]
    return [*failing, *(blocks or [_nothing(sessions, changes)]), *_alone(trials, several)]


def _failing(failing: Sequence[Failing], several: bool) -> list[Marked]:
    """Return what has failed since when, and why, the newest first; one sentence for each way to fail.

    Args:
        several: Whether there are machines to tell apart.
    """
    found: dict[tuple[str, str, Hashable], list[Failing]] = {}
    for one in failing:
        key = one.session.label, changes_text(one.differences), kind_of_failure(one.run)
        found.setdefault(key, []).append(one)
    blocks = []
    for (label, what, _), own in sorted(found.items(), key=lambda item: item[0][:2], reverse=True):
        more = len(own) - MOST_NAMED
        names = "; ".join(escape(one.name) for one in own[:MOST_NAMED])
        names += f"; and {more} more" if more > 0 else ""
        reason = escape((own[0].run.reason or "no reason given").rstrip("."))
        when = f"Since {label} ({escape(what) if what else 'nothing that was recorded had changed'})"
        said = f"{when}, **failed**: {names}: {status_name(own[0].run.status)}, {reason}."
        blocks.append(_placed(said, own[0], several))
    return blocks


def _placed(said: str, one: Change | Failing, several: bool) -> Marked:
    """Return a sentence, with its machine before it where there are several."""
    where = f"{escape(machine_title(one.session))}: " if several else ""
    return Marked(f"{where}{said[0].lower() if where else said[0]}{said[1:]}")


def _by_change(changes: Iterable[Change]) -> dict[tuple[str, str], list[Change]]:
    """Return the trials' changes by what changed and when, the newest first."""
    found: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        found.setdefault((change.session.label, changes_text(change.differences)), []).append(change)
    return dict(sorted(found.items(), reverse=True))


def _since(changes: Sequence[Change], several: bool) -> Marked:
    first = changes[0]
    what = escape(changes_text(first.differences))
    parts = []
    for finding in CHANGES:
        own = sorted((c for c in changes if c.finding is finding), key=lambda c: -c.size)
        if own:
            more = len(own) - MOST_NAMED
            names = [f"{escape(c.name)}, {size_text(c)}" for c in own[:MOST_NAMED]]
            parts.append(f"**{finding}**: {'; '.join(names)}{f'; and {more} more' if more > 0 else ''}")
    others = Counter(c.finding for c in changes if c.finding not in CHANGES)
    told = ", ".join(f"{count} {finding}" for finding, count in others.items())
    rest = f". Of {counted(len(changes), 'trial')}, {told}" if told else ""
    return _placed(f"{_span(changes)} ({what}), {'; '.join(parts)}{rest}.", first, several)


def _span(changes: Sequence[Change]) -> str:
    """Return from when on something holds; until when, where something else has changed since."""
    begins = changes[0].session.label
    if all(change.is_last for change in changes):
        return f"Since {begins}"
    ends = max(change.after[-1].session.label for change in changes)
    return f"On {begins}" if ends == begins else f"From {begins} to {ends}"


def size_text(change: Change) -> str:
    """Return how large a change is, with its interval: "1.08 times as long (1.03 to 1.12)"."""
    if change.speedup is None:
        return "no time on both sides"
    slower = change.speedup < 1
    judged = change.judgement.turned if slower else change.judgement
    words = f"{size_of(judged, times='')} times as {'long' if slower else 'fast'}"
    return f"{words} ({interval_of(judged)})" if judged.low is not None else words


def _nothing(sessions: Sequence[Session], changes: Sequence[Change]) -> Marked:
    counts = Counter(change.finding for change in changes)
    told = listed(f"{counts[finding]} {finding}" for finding in ChangeOutcome if counts[finding])
    said = "No change made training slower or faster"
    if open_ := counts[ChangeOutcome.UNDECIDED]:
        said = "Whether a change made training slower or faster is undecided"
        said = said if open_ == len(changes) else "No change was found that made training slower or faster"
    return Marked(
        f"**{said}** beyond noise: "
        f"{counted(len(sessions), 'session')}, {sessions[0].label} to {sessions[-1].label}; of "
        f"{counted(len(changes), 'comparison')} before and after a change, {told}."
    )


def _unchanged(sessions: Sequence[Session], trials: Sequence[TrialHistory]) -> Marked:
    span = f"{counted(len(sessions), 'session')}, {sessions[0].label} to {sessions[-1].label}"
    if not any(len(history.timed) > 1 for history in trials):
        return Marked(
            f"**No trial has a time in two sessions of one machine** ({span}{_machines(sessions)}), so nothing is "
            "compared."
        )
    if changed := [session for session in sessions if session.changes]:
        told = "; ".join(
            f"{session.label}: {escape(changes_text(session.all_changes))}" for session in changed
        )
        return Marked(
            f"**No trial has a time before and after what changed** ({told}), so nothing is compared."
        )
    return Marked(f"**Nothing that was recorded changed** on any machine between its sessions ({span}).")


def _alone(trials: Sequence[TrialHistory], several: bool) -> list[Marked]:
    """Return what differs in a machine's newest session although nothing that was recorded changed."""
    found: dict[tuple[str, ChangeOutcome], list[Change]] = {}
    for change in (history.alone for history in trials):
        if change and change.finding in CHANGES:
            found.setdefault((change.session.label, change.finding), []).append(change)
    blocks = []
    for (label, finding), own in [*found.items()][:MOST_ALONE]:
        largest = max(own, key=lambda change: change.size)
        name = escape(largest.name)
        many = f"{len(own)} trials were {finding} than before, most of all {name}, {size_text(largest)}"
        one = f"{name} was {finding} than before, {size_text(largest)}"
        sessions = [point.session for point in (*largest.before, *largest.after)]
        other = "" if _is_one_machine(sessions) else "another machine that is alike, "
        said = (
            f"On {label}, {many if len(own) > 1 else one}, and **nothing that was recorded had changed**: the luck of "
            f"a day, {other}or something that no ledger records. Measure once more."
        )
        blocks.append(_placed(said, largest, several))
    return blocks


def change_certainty_sentences(trials: Sequence[TrialHistory]) -> list[str]:
    """Return how sure the answer is: blocks, noise, days, chance."""
    changes = [change for history in trials for change in history.compared]
    sure = [change for change in changes if change.low is not None]
    if not sure:
        return [f"Nothing is decided: no trial has {MIN_BLOCKS} blocks before a change and as many after it."]
    noise = [change.noise for change in sure if change.noise is not None]
    confidence = sure[0].judgement.confidence
    sentences = [
        f"{counted(len(sure), 'interval')} at {100 * confidence:g} % confidence, over all ratios of a block after to a "
        f"block before: on average {three(expected_false(len(sure), confidence))} of so many miss by the luck of "
        "blocks alone."
    ]
    if noise:
        sentences.append(
            f"The same takes up to {max(noise):.2f} times as long where nothing differs: A/A controls within a "
            "session, and sessions between which nothing changed. A change that is no larger than that of its own "
            "trial and sessions is called noise."
        )
    if unknown := sum(change.lacks_noise for change in sure):
        sentences.append(
            f"What noise does is not known for {counted(unknown, 'comparison')}, so that none is called slower or "
            f"faster: these sessions hold no A/A control of {MIN_BLOCKS} blocks, and no two of them are alike."
        )
    found = [change for change in sure if change.finding in CHANGES]
    days = [change for change in found if min(len(change.before), len(change.after)) == 1]
    if days:
        sentences.append(
            f"{counted(len(days), 'change')} of {len(found)} {'rests' if len(days) == 1 else 'rest'} on a single "
            "session before or after: two sessions differ in more than versions (a warmer day, another tenant of the "
            "host), and no interval holds that. Another `make report` without a change tells."
        )
    several = [change for change in found if len(change.differences) > 1]
    if several:
        sentences.append(
            f"Of {counted(len(several), 'change')}, several things changed at once, so a difference cannot be ascribed "
            "to one of them."
        )
    return sentences


def machine_label(session: Session) -> str:
    """Return what tells the machine of a session from the others, with its number."""
    return f"machine {session.machine + 1}"


def machine_title(session: Session) -> str:
    """Return the machine with its number and its name: "Machine 2 (NVIDIA A10G)"."""
    return f"{machine_label(session).capitalize()} ({session.machine_words})"


def _machines(sessions: Iterable[Session]) -> str:
    """Return how many sessions each machine has; nothing where there is one machine only."""
    counts = Counter(escape(machine_title(session)) for session in sessions)
    told = "; ".join(f"{name}: {counted(count, 'session')}" for name, count in counts.items())
    return f"; {told}; `make compare` compares machines" if len(counts) > 1 else ""


def machine_sentences(sessions: Sequence[Session]) -> list[str]:
    """Return on which machines was measured: one, alike ones, or where each other one came in and how it differs."""
    if len({session.machine for session in sessions}) == 1:
        one = "one machine" if _is_one_machine(sessions) else ALIKE
        return [f"All {len(sessions)} sessions were measured on {one}: {sessions[-1].machine_words}."]
    sentences, seen = [], set()
    for session in sessions:
        if session.machine not in seen:
            seen.add(session.machine)
            differs = ", ".join(f"{d.what} {d.before} → {d.now}" for d in session.new)
            apart = f", another one than before ({differs})" if differs else ""
            sentences.append(
                f"{machine_label(session).capitalize()}, from {session.label} on: {session.machine_words}{apart}."
            )
    sentences.append("Times of different machines are not compared: each has a chart of its own.")
    guessed = [
        machine_label(own[0])
        for number in sorted({session.machine for session in sessions})
        if len(own := [one for one in sessions if one.machine == number]) > 1 and not _is_one_machine(own)
    ]
    return [*sentences, *([f"Sessions of {listed(guessed)} were measured on {ALIKE}."] if guessed else [])]


def _is_one_machine(sessions: Iterable[Session]) -> bool:
    """Whether the GPUs of all sessions tell that they are the same ones."""
    known = {session.gpu_uuids for session in sessions}
    return len(known) == 1 and None not in known


def unrepeated_sentences(
    sessions: Sequence[Session], common: Common, trials: Sequence[TrialHistory]
) -> list[str]:
    """Return, in at most one sentence for each kind, what is in one session only, or never twice on a machine."""
    alone = sum(map(len, common.alone.values()))
    sentences = (
        [f"{counted(alone, 'trial')} {'is' if alone == 1 else 'are'} in one session only."] if alone else []
    )
    shown = {(history.trial.study, history.trial.trial) for history in trials}
    if never := sum((trial.study, trial.trial) not in shown for trial in common.trials):
        sentences.append(
            f"{counted(never, 'trial')} {'has' if never == 1 else 'have'} no time in any of several sessions, or never "
            "in two of one machine."
        )
    unlike: Mapping[str, object] = common.data
    without = [
        session.label for session in sessions if session.label in unlike and session.label not in common.runs
    ]
    if without:
        sentences.append(f"No trial of any other session was measured on {listed(without)}.")
    return sentences
