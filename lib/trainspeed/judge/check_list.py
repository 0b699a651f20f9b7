"""All checks of the instrument, in their order, and what they say together. Knows only runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from trainspeed.core.format import NAMES, counted, listed
from trainspeed.core.runs import RunSet
from trainspeed.judge import (
    check_arithmetic,
    check_clocks,
    check_energy,
    check_exchange,
    check_formats,
    check_memory,
    check_time,
    check_turns,
    check_work,
)
from trainspeed.judge.checks import Check, CheckOutcome

# Number of a line of `make check` -> what is checked for it.
LINES: dict[int, tuple[Callable[[RunSet], list[Check]], ...]] = {
    1: (check_turns.agrees_with_itself, check_turns.finds_what_was_planted),
    2: (check_time.waits_for_device,),
    3: (check_time.as_fast_as_bare_loop,),
    4: (
        check_arithmetic.strict_is_strict,
        check_arithmetic.tf32_is_tf32,
        check_formats.runs_in_16_bits,
        check_formats.runs_in_layout,
    ),
    5: (check_work.is_counted_right, check_work.is_possible),
    6: (check_memory.is_seen, check_memory.running_out_is_a_row),
    7: (check_energy.counter_agrees, check_energy.is_right_gpu),
    8: (check_clocks.is_steady, check_clocks.monitor_is_cheap),
    9: (check_exchange.is_plausible,),
    10: (check_time.agrees_with_stopwatch,),
}

QUIET = "run `make check` while nothing else runs"
MORE_ROUNDS = "more `rounds` decide, and `make check` has more of them than a report"


def all_checks(runs: RunSet) -> list[Check]:
    """Return every line that these runs are enough for."""
    return [check for makers in LINES.values() for make in makers for check in make(runs)]


def summary(checks: Sequence[Check]) -> str:
    """Return how many checks ended how, in words; "" where there is none."""
    counts = Counter(check.outcome for check in checks)
    parts = [f"{counts[outcome]} {outcome}" for outcome in CheckOutcome if counts[outcome]]
    return f"{counted(len(checks), 'check')} of the instrument: {', '.join(parts)}" if checks else ""


def faults(checks: Iterable[Check]) -> list[str]:
    """Return in a sentence each what is not ok, and why."""
    wrong = [check for check in checks if check.outcome is CheckOutcome.NOT_OK]
    return [f"{named(check)}: {check.reason}." for check in wrong]


def checks_sentence(checks: Sequence[Check]) -> str:
    """Return whether anything wrong was found, and what is undecided; `reasons` has why."""
    open_ = undecided(checks)
    beside = [f"Undecided: {'; '.join(open_)}."] if open_ else []
    if wrong := [named(check) for check in checks if check.outcome is CheckOutcome.NOT_OK]:
        return " ".join([f"Something is wrong: {listed(wrong)}.", *beside])
    if not any(check.outcome is CheckOutcome.OK for check in checks):
        return " ".join(["Not known: no check was decided.", *beside])
    return " ".join([*beside, "Nothing wrong was found" + " by the others" * bool(beside) + "."])


def undecided(checks: Iterable[Check]) -> list[str]:
    """Return what is undecided, with what was measured, as a rule with its interval, and what would be right.

    What is checked in several frameworks is said once.
    """
    open_ = [check for check in checks if check.outcome is CheckOutcome.UNDECIDED]
    alike: dict[tuple[str, str], list[str]] = {}
    for check in (check for check in open_ if check.measured):
        where = f"{NAMES[check.framework]} " if check.framework else ""
        alike.setdefault((check.name, check.expected), []).append(f"{where}{check.measured}")
    told = [
        f"{name}: {', '.join(measured)}: too noisy to tell whether that is right ({expected})"
        for (name, expected), measured in alike.items()
    ]
    return [*told, *(named(check) for check in open_ if not check.measured)]


def reasons(checks: Sequence[Check]) -> list[str]:
    """Return in a sentence each why a check did not end well, faults first."""
    told = [
        f"{named(check)}: {check.outcome}{check.reason and f': {check.reason}'}."
        for check in checks
        if check.outcome is CheckOutcome.UNDECIDED
        or (check.reason and check.outcome is CheckOutcome.NOT_APPLICABLE)
    ]
    return [*(f"Not ok: {fault}" for fault in faults(checks)), *told]


def open_sentences(checks: Iterable[Check]) -> list[str]:
    """Return which checks are undecided, and what decides them: a sentence for each remedy; nothing where none is."""
    open_: dict[str, list[str]] = {QUIET: [], MORE_ROUNDS: []}
    for check in checks:
        if check.outcome is CheckOutcome.UNDECIDED:
            open_[MORE_ROUNDS if check.scatters else QUIET].append(named(check))
    return [
        f"Too noisy here to tell: {listed(names)}. No fault was found there, and none is ruled out: {remedy}."
        for remedy, names in open_.items()
        if names
    ]


def named(check: Check) -> str:
    """Return a check's name, with its framework if it has one."""
    return f"{check.name} ({NAMES[check.framework]})" if check.framework else check.name
