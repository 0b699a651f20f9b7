"""What would decide what is undecided: how many blocks, and how much longer that takes. Pure functions on numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.factors import RECIPE
from trainspeed.core.levers.lever import LeverKind
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.blocks_needed import blocks_to_decide, is_at_edge
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.run_notes import EpochsDrifted, run_notes
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome

STEADY = 9  # blocks of the core, before anything else has a second one: that of `conduct.timetable`
MANY_SHARE = 1 / 3  # of the runs of what is undecided: from here on that they drifted is told as a reason


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """What would decide verdicts that are undecided.

    Attributes:
        open: What is undecided, and would not be with so many blocks.
        near: What is undecided and too small for its noise: it would take more than `MOST_BLOCKS`.
        at_edge: What would take as many, though its interval is narrow and without 1: the margin's edge lies in it.
        blocks: How many blocks it takes in all, if the effects are as large as they look; None where `open` is empty.
        more_s: Seconds that these take beyond what was measured; None where that is not known.
        others_s: Seconds of blocks that a study with more time gives to its other comparisons before those.
        drifted, of: In how many runs of what is undecided the epoch time changed meanwhile, of how many.
    """

    open: tuple[Verdict, ...]
    near: tuple[Verdict, ...]
    blocks: int | None
    more_s: float | None
    drifted: int = 0
    of: int = 0
    at_edge: tuple[Verdict, ...] = ()
    others_s: float = 0.0

    @property
    def many_drifted(self) -> bool:
        """Whether so many of the runs drifted that this is a reason why the intervals are wide."""
        return self.of > 0 and self.drifted >= MANY_SHARE * self.of

    @property
    def slow_ways(self) -> tuple[str, ...]:
        """The levers that are open of which a search measures each in blocks of its own."""
        return tuple(dict.fromkeys(name for verdict in self.open for name in _slow_ways(verdict)))

    @property
    def has_others(self) -> bool:
        """Whether anything else is open."""
        return not all(map(_slow_ways, self.open))


def _slow_ways(verdict: Verdict) -> list[str]:
    """Return the levers that are measured by their slow way in a verdict; none where it is about anything else."""
    before, after = (getattr(trial, "levers", ()) for trial in (verdict.baseline, verdict.candidate))
    further = [setting for setting in after if setting not in before]
    kinds = {LEVERS[name].kind_with(value) for name, value in further}
    return [] if LeverKind.SWITCH in kinds else [name for name, _ in further]


def next_step(verdicts: Iterable[Verdict], runs: RunSet, coverage: Coverage | None = None) -> NextStep | None:
    """Return what would decide the verdicts on time among these; None where all are decided.

    Args:
        runs: Those of the verdicts, which tell how long a block takes.
        coverage: What of its plan their study had time for; None where it had no limit.
    """
    undecided = [v for v in verdicts if v.outcome is Outcome.UNDECIDED and v.quantity == "time"]
    needed = {id(verdict): blocks_to_decide(verdict) for verdict in undecided if not verdict.is_control}
    undecided = [verdict for verdict in undecided if id(verdict) in needed]
    if not undecided:
        return None
    open_ = tuple(verdict for verdict in undecided if needed[id(verdict)])
    others = [verdict for verdict in undecided if not needed[id(verdict)]]
    at_edge = tuple(verdict for verdict in others if is_at_edge(verdict))
    near = tuple(verdict for verdict in others if not is_at_edge(verdict))
    blocks = max((needed[id(verdict)] or 0 for verdict in open_), default=None)
    pairs = {trial.spec for verdict in undecided for trial in (verdict.baseline, verdict.candidate)}
    own = [run for run in runs if run.status is Status.OK and run.trial.spec in pairs]
    drifted = sum(any(isinstance(note, EpochsDrifted) for note in run_notes(run)) for run in own)
    more_s = blocks and more_seconds(open_, runs, blocks)
    others_s = others_seconds(open_, runs, coverage, blocks) if blocks and coverage else 0.0
    return NextStep(
        open=open_,
        near=near,
        at_edge=at_edge,
        blocks=blocks,
        more_s=more_s,
        others_s=others_s,
        drifted=drifted,
        of=len(own),
    )


def others_seconds(verdicts: Sequence[Verdict], runs: RunSet, coverage: Coverage, blocks: int) -> float:
    """Return the seconds of the blocks that others of a study are given before these verdicts have so many.

    The core comes first, and 9 blocks of it before a second one of the rest; beyond that all have as many that may
    have them. Where the plan has fewer blocks, what has all of those is asked for as many more.
    """
    pairs = [{verdict.baseline.spec, verdict.candidate.spec} for verdict in verdicts]
    own = [group for group in coverage.groups if any(pair <= {*group.arms} for pair in pairs)]
    # A pair of the core is in the lines over batch size, too, where it is one point of many.
    own = [group for group in own if group.core] or own
    if not own:  # as of a search, whose blocks no plan has
        return 0.0
    asked = max((group.most for group in coverage.groups if group.core), default=0)
    core_level = blocks if all(group.core for group in own) else max(blocks, STEADY)
    level = blocks if blocks > STEADY or any(not group.core for group in own) else int(blocks > MIN_BLOCKS)
    blocks_s = _blocks_s(runs)
    known_s = [_block_s(group, blocks_s) for group in coverage.groups]
    # What has not run is taken for as quick as what is open.
    own_s = ((s or 0.0) / len(g.trials) for g, s in zip(coverage.groups, known_s, strict=True) if g in own)
    arm_s, seconds = max(own_s), 0.0
    for group, block_s in zip(coverage.groups, known_s, strict=True):
        most = max(blocks, asked) if group.most == asked else group.most
        missing = min(core_level if group.core else level, most) - group.blocks
        if missing > 0 and group not in own and not group.failed:
            seconds += missing * (block_s or group.needs_s or arm_s * len(group.trials))
    return seconds


def _blocks_s(runs: RunSet) -> list[tuple[set[AnyTrial], float]]:
    """Return the arms of each block of each group, and the seconds that they took."""
    together: dict[object, list[Run]] = {}
    for run in runs.ok():
        together.setdefault((run.session, run.node, run.block, run.group), []).append(run)
    return [({run.trial.spec for run in own}, RunSet(tuple(own)).wall_s) for own in together.values()]


def _block_s(group: GroupCoverage, blocks_s: Sequence[tuple[set[AnyTrial], float]]) -> float | None:
    """Return the seconds of a block of a group, on average over those with the most of its arms; None without one."""
    arms = {*group.arms}
    own = [(len(ran), seconds) for ran, seconds in blocks_s if ran <= arms] if group.blocks else []
    most = max((count for count, _ in own), default=0)
    whole = [seconds for count, seconds in own if count == most]
    return sum(whole) / len(whole) if whole else None


def more_seconds(verdicts: Sequence[Verdict], runs: RunSet, blocks: int) -> float | None:
    """Return the seconds of the blocks that are missing: all arms that take turns with a verdict's run again with them.

    None where not all trials of the verdicts are among the runs.

    A search runs its trials in many other blocks as well: where its fresh blocks hold both of a verdict, those count.
    """
    arms, fresh = runs.by_trial(), runs.role(Role.RECIPE, Role.PLAIN_AGAIN)
    searched, searches = fresh.by_trial(), {(run.trial.framework, run.trial.model) for run in fresh}
    repeated: dict[object, RunSet] = {}
    for verdict in verdicts:
        pair = verdict.baseline.spec, verdict.candidate.spec
        search = None if pair[0].phase.calls else (pair[0].framework, pair[0].model)
        # Of all that a search kept the verdict has the data set that was asked for, its runs the one that there was.
        if all(trial in searched for trial in pair) or (verdict.factor == RECIPE and search in searches):
            repeated[search] = RunSet(tuple(r for r in fresh if (r.trial.framework, r.trial.model) == search))
        elif all(trial in arms for trial in pair):
            together = _in_turns_with(pair, runs)
            own = {frozenset(together.by_trial()): together} if together else {t: arms[t] for t in pair}
            repeated |= own
        else:
            return None
    measured = [(own.wall_s, len({run.block for run in own})) for own in repeated.values()]
    return sum(seconds / in_blocks * max(0, blocks - in_blocks) for seconds, in_blocks in measured)


def _in_turns_with(pair: Collection[AnyTrial], runs: RunSet) -> RunSet:
    """Return the runs of the groups in which both of a pair took turns; of several kinds those in the most blocks."""
    groups: dict[object, list[Run]] = {}
    for run in runs:
        if run.group is not None:
            groups.setdefault((run.session, run.node, run.block, run.group), []).append(run)
    found: dict[frozenset[AnyTrial], list[Run]] = {}
    for group in groups.values():
        if {*pair} <= (trials := frozenset(run.trial.spec for run in group)):
            found.setdefault(trials, []).extend(group)
    return RunSet(tuple(max(found.values(), key=lambda own: len({run.block for run in own}), default=())))
