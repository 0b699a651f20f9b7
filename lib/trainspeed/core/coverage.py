"""How much of a plan a study had time for: `coverage.jsonl` beside the ledger. Values; words are made later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trainspeed.core.convolution import AnyTrial, trial_from_dict
from trainspeed.core.ledger import append_line, read_lines
from trainspeed.core.quantities import Elapsed, Identifier, Name, Number

COVERAGE_FILE = "coverage.jsonl"


@dataclass(frozen=True, kw_only=True)
class GroupCoverage:
    """Blocks of a group of trials that are compared with each other.

    Attributes:
        part: The set of trials that it belongs to: the field of the plan, empty where it has no name.
        core: Whether it is left out last.
        trials: Its arms, as in the ledger, without their seeds.
        blocks: How many blocks were measured, each with a run at least that ended well.
        most: How many the plan asked for.
        failed: Whether it has no more since its trials, or those that they are compared with, failed: no time was
            lacking.
        needs_s: Seconds that a block of it takes at least, where one was given up for want of time; else None.
        block_s: Seconds that its blocks took, on average; None without one, and in older reports.
    """

    part: Name
    core: bool
    trials: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    blocks: Number
    most: Number
    failed: bool = False
    needs_s: Elapsed | None = None
    block_s: Elapsed | None = None

    @property
    def arms(self) -> tuple[AnyTrial, ...]:
        """Its trials."""
        return tuple(trial_from_dict(trial) for trial in self.trials)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a user chose of a report beside its model and its time: a further report has to be asked for it again.

    Attributes:
        preset: Name of the preset, where the user named one; None: the one that the machine gets by itself.
        parameters: Parameter of the study -> the user's own value, on top of the preset.
        by_fleet: Whether it was measured as one machine of a fleet.
        by_hand: Whether no report asked for it: a reader ran its notebook.
    """

    preset: Identifier | None = None
    parameters: Mapping[Name, Any] = field(default_factory=dict)
    by_fleet: bool = False
    by_hand: bool = False


NOTHING_CHOSEN = Choice()


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What a study measured within its time.

    Attributes:
        budget_s: The time that it was given.
        spent_s: The time that it took.
        groups: In the order in which they are given time.
        choice: What the report was asked for; nothing in older reports.
    """

    session: Identifier
    study: Identifier
    budget_s: Elapsed
    spent_s: Elapsed
    groups: tuple[GroupCoverage, ...]
    choice: Choice = NOTHING_CHOSEN

    def ampler_minutes(self, blocks: int) -> int:
        """Minutes that a reader may try next: three times what it was given, or enough for so many blocks.

        Those of the core are given before all else; what did not fit may have them, too.
        """
        begun = [group for group in self.groups if group.core and group.blocks and not group.failed]
        missing_s = sum(max(0, min(blocks, g.most) - g.blocks) * (g.block_s or 0.0) for g in begun)
        decided_s = (blocks * group.needs_s for group in self.left_out if group.needs_s)
        return ceil(max(3 * self.budget_s, self.spent_s + missing_s, *decided_s, 0.0) / 60)

    @property
    def left_out(self) -> tuple[GroupCoverage, ...]:
        """The groups that there was no time for: without any block, but those that failed."""
        return tuple(group for group in self.groups if not group.blocks and not group.failed)

    @property
    def unequal(self) -> tuple[GroupCoverage, ...]:
        """The core's groups with fewer blocks than its others, but some, for want of time."""
        core = [group for group in self.groups if group.core and not group.failed]
        most = max((group.blocks for group in core), default=0)
        return tuple(group for group in core if 0 < group.blocks < min(most, group.most))

    def blocks_of(self, *, core: bool) -> dict[int, list[int]]:
        """Return the number asked for -> the blocks of each group that was measured of the core or the rest.

        The largest number comes first; what failed has no part in it.
        """
        groups = [group for group in self.groups if group.core is core and group.blocks and not group.failed]
        asked = sorted({group.most for group in groups}, reverse=True)
        return {most: [group.blocks for group in groups if group.most == most] for most in asked}


def append_coverage(folder: Path, coverage: Coverage) -> None:
    """Append what a study measured within its time."""
    append_line(folder / COVERAGE_FILE, msgspec.to_builtins(coverage))


def read_coverage(folder: Path, sessions: dict[str, str]) -> dict[str, Coverage]:
    """Return study -> what it measured within its time, of these sessions; studies without a budget are left out.

    Args:
        sessions: Study -> session.
    """
    newest = {}
    for coverage in _read(folder):
        if sessions.get(coverage.study) == coverage.session:
            newest[coverage.study] = coverage  # a resumed session writes another line
    return newest


def _read(folder: Path) -> Iterator[Coverage]:
    for _, line in read_lines(folder / COVERAGE_FILE):
        try:
            coverage = msgspec.json.decode(line, type=Coverage)
            whole = all(group.arms for group in coverage.groups)  # a trial that is none raises
        except (ValueError, TypeError, LookupError, RecursionError):  # cut off when the process was killed
            continue
        if whole:
            yield coverage
