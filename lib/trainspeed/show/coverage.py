"""What a study's time was enough for, in words, and a table of what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain

from pandas.io.formats.style import Styler

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.format import MISSING, counted, listed, minutes
from trainspeed.judge.commands import command_with_time
from trainspeed.show.cells import styled

MOST_NAMED = 3  # groups that a sentence names; the table has all
GROUPS = (
    "group of measurements",
    "groups of measurements",
)  # trials that take turns, as a front page says it
WORDS_ALONE, MOST_WORDS = 2, 3  # of a group's name: those that it has anyway, and all
CORE, FURTHER = "the core comparisons", "further measurements"
ASKED_LATER = "what depends on earlier results"  # of trials that no set of the plan has
DIFFERENCES = {"part": "part of the training", "levers": "what is switched on", "augment": "augmentation"}


def coverage_sentences(coverage: Coverage | None) -> list[str]:
    """Return how much of its time a study took, and how many blocks there was time for; nothing without a limit."""
    if coverage is None:
        return []
    limits = f"{minutes(coverage.spent_s)} of {minutes(coverage.budget_s)} that it was given"
    if coverage.spent_s > coverage.budget_s:
        given = minutes(coverage.budget_s)
        limits = f"{minutes(coverage.spent_s)}; {given} were given, and what has begun may take longer"
    core, rest = (coverage.blocks_of(core=core) for core in (True, False))
    had = [_had_of_core(core)] if core else []
    had += (
        [f"what is shown beside them had {_blocks(max(rest), [*chain.from_iterable(rest.values())])}"]
        if rest
        else []
    )
    sentences = [f"Time: {limits}{f': {listed(had)}' if had else ''}."]
    if left := coverage.left_out:
        of_core = sum(_kind(group, coverage) == CORE for group in left)
        where = f" ({of_core} of them of the core)" if of_core else ""
        everywhere = _words_of(coverage)
        names = list(dict.fromkeys(_name(group, everywhere) for group in left))
        command = command_with_time(coverage, _arms(left))
        adds = "" if coverage.choice.by_hand else "; `make plan` says what that adds"
        sentences.append(
            f"No time for {len(left)} of {counted(len(coverage.groups), 'group')} of trials that take turns{where}: "
            f"{_first_of(names)}. Give it more (`{command}`{adds})."
        )
    return sentences


def left_out_in_short(coverage: Coverage) -> list[str]:
    """Return what there was no time for, in a sentence with the command for it; nothing where there was for all."""
    everywhere = _words_of(coverage)
    found = (_parts(group, everywhere) for group in coverage.left_out)
    groups = Counter(
        f"{listed(differ)} ({', '.join(own)})" if differ and own else ", ".join(own) or listed(differ)
        for own, differ in found
    )
    named = [*groups][:MOST_NAMED]
    more = groups.total() - sum(groups[name] for name in named)
    told = "; ".join([*named, *([f"{more} more"] if more else [])])
    command = command_with_time(coverage, _arms(coverage.left_out))
    number = counted(groups.total(), *GROUPS)
    return [f"No time for {number}: {told}. To make up for it: `{command}`."] if groups else []


def core_left_out(coverage: Coverage | None) -> list[str]:
    """Return for which comparisons of its core a study had no time, in a sentence with the command; else nothing.

    What depends on earlier results is in no named set of the plan, and is not among them.
    """
    left = [group for group in coverage.left_out if group.core and group.part] if coverage else []
    if not left:
        return []
    names = _settings(left, coverage)
    command = command_with_time(coverage, _arms(left))
    return [
        f"{_first_of(names)}: no time for {'its' if len(names) == 1 else 'their'} own blocks here: `{command}`."
    ]


def _settings(groups: Iterable[GroupCoverage], coverage: Coverage) -> list[str]:
    """Return in words what all trials of each group are, each once."""
    everywhere = _words_of(coverage)
    return list(dict.fromkeys(", ".join(_parts(group, everywhere)[0]) for group in groups))


def _first_of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return "; ".join([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def why_missing(coverage: Coverage | None, *kinds: str, otherwise: str) -> str:
    """Return why something is not shown: what there was no time for, with the command, or else `otherwise`.

    Args:
        kinds: What it needs: names of sets of trials of the plan, or of phases.
    """
    left = coverage.left_out if coverage else ()
    needed = [group for group in left if {group.part, *(arm.phase.name for arm in group.arms)} & {*kinds}]
    if not needed:
        return otherwise
    of_needed = (arm.phase for arm in _arms(needed))
    alone = dict.fromkeys(phase.words.removesuffix(" only") for phase in of_needed if phase.name in kinds)
    told = f"{listed(alone)} alone" if alone else _first_of(_settings(needed, coverage))
    return f"No time for {told}: `{command_with_time(coverage, _arms(needed))}`."


def _arms(groups: Iterable[GroupCoverage]) -> list[AnyTrial]:
    return [arm for group in groups for arm in group.arms]


def _words_of(coverage: Coverage) -> list[Collection[str]]:
    return [{*arm.describe()} for group in coverage.groups for arm in group.arms]


def _name(group: GroupCoverage, everywhere: Sequence[Collection[str]]) -> str:
    """Return what all trials of a group are, and how many these are; arguments as of `_parts`."""
    own, differ = _parts(group, everywhere)
    number = counted(len(group.arms), "trial") + (f" that differ in {listed(differ)}" if differ else "")
    return f"{', '.join(own)} ({number})" if own else number


def _parts(group: GroupCoverage, everywhere: Sequence[Collection[str]]) -> tuple[list[str], list[str]]:
    """Return what all trials of a group are, without what most of the study's are, and in what they differ.

    Args:
        everywhere: The words of each of the study's trials.
    """
    said = [arm.describe() for arm in group.arms]
    shared = [word for word in said[0] if all(word in words for words in said)]
    telling = [word for word in shared if 2 * sum(word in words for words in everywhere) <= len(everywhere)]
    own = [word for word in shared if word in said[0][:WORDS_ALONE] or word in telling][:MOST_WORDS]
    if len({type(arm) for arm in group.arms}) > 1:
        return own, []
    names = [f.name for f in fields(group.arms[0]) if len({getattr(arm, f.name) for arm in group.arms}) > 1]
    return own, [DIFFERENCES.get(name, name.replace("_", " ")) for name in names]


def _had_of_core(by_asked: Mapping[int, Sequence[int]]) -> str:
    """Return how many blocks the core had: of a search those that were asked for most are the fresh ones."""
    if len(by_asked) == 1:
        return f"the core comparisons had {_blocks(*next(iter(by_asked.items())))}"
    had = [f"{len(blocks)} had {_blocks(asked, blocks)}" for asked, blocks in by_asked.items()]
    return f"of the core comparisons {listed(had)}"


def _blocks(asked: int, blocks: Sequence[int]) -> str:
    """Return the fewest and the most blocks of some groups, and how many were asked for where none had as many."""
    fewest, most = min(blocks), max(blocks)
    had = "" if fewest == most else f"{fewest} to "
    if most < asked:
        return f"{had}{most} of at most {counted(asked, 'block')}"
    return f"{had}{counted(most, 'block')}"


def left_out_table(coverage: Coverage) -> Styler:
    """Return a table of what there was no time for, in the order in which it would have come."""
    rows = [
        {
            "belongs to": _kind(group, coverage),
            "what": ", ".join(group.arms[0].describe()),
            "compared with": _others(group),
            "blocks measured": f"{group.blocks or 'none'} of {group.most}",
        }
        for group in (*coverage.left_out, *coverage.unequal)
    ]
    return styled(rows, "left-out", "No time for these")


def _kind(group: GroupCoverage, coverage: Coverage) -> str:
    """Return what a group belongs to; without a name, where others have one, earlier results have asked for it."""
    if not group.part and any(other.part for other in coverage.groups):
        return ASKED_LATER
    return CORE if group.core else FURTHER


def _others(group: GroupCoverage) -> str:
    """Return in what the other arms differ from the first; a dash where there is none, as of a single run."""
    first, *others = group.arms
    differences = (_difference(first.describe(), arm.describe()) for arm in others)
    return "; ".join(dict.fromkeys(filter(None, differences))) or MISSING


def _difference(first: Sequence[str], other: Sequence[str]) -> str:
    """Return what only the other has, or what it lacks."""
    own = ", ".join(word for word in other if word not in first)
    lacks = ", ".join(f"without {word}" for word in first if word not in other)
    return own or lacks
