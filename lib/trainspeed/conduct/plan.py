"""Which trials a study runs, how often, and in which order. Runs nothing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ParamSpec

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import EmptyList, UserError, check_list, check_name, check_whole
from trainspeed.core.format import counted
from trainspeed.core.library_model import check_library_models
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.trial import FRAMEWORKS, Trial

P = ParamSpec("P")
MOST_SEED = 2**30  # with what blocks and groups add, and doubled, it still is one of NumPy's, of 32 bits
MAX_BLOCKS = 1000  # 6 to 10 decide most comparisons


@dataclass(frozen=True, kw_only=True)
class TrialSet:
    """Trials of a study that are repeated equally often.

    Attributes:
        blocks: How often every trial runs; 6 or more give an interval.
        controls: Trials among `trials` that run twice in each block: their difference is noise.
        anchors: Trials of another set that run here, too, so that those of this one are compared with them in turns.
        factors: Names of the fields that are compared: in a block, trials that differ in nothing else
            follow each other, so that a machine that gets slower or faster meanwhile affects both.
        around: Whether the first block comes before all other sets and the last one after them: what is measured so
            shows whether the machine is still the same.
        across: Names of the fields in which trials are compared with those of other groups, too: one that is left
            alone in its own group, as all others of it failed, is measured on where there is such a trial.
        label: What the trials are for, where they are not compared with each other: see `Role`.
        lines: Whether its trials are the points of lines, which one block shows: a report has time for these before
            other looks. With fewer than 6 blocks, which tell no accuracies apart, they are timed alone.
        parameter: The notebook's parameter for the number of blocks; only `blocks` itself must not be 0.
        limit_s: Seconds that a run may take to its first turn and for each turn, where the study allows more.
    Raises:
        UserError: There are too few or too many blocks, or a model is not in its library or not for such images.
    """

    trials: tuple[AnyTrial, ...]
    blocks: int
    controls: tuple[AnyTrial, ...] = ()
    anchors: tuple[AnyTrial, ...] = ()
    around: bool = False
    label: str = Role.DATA
    factors: tuple[str, ...] = ()
    across: tuple[str, ...] = ()
    lines: bool = False
    parameter: str = "blocks"
    limit_s: float | None = None

    def __post_init__(self) -> None:
        required = self.parameter == "blocks"
        least, why = (1, "6 or more give an interval") if required else (0, "0 leaves it out")
        check_whole(self.parameter, self.blocks, least, why, most=MAX_BLOCKS)
        check_library_models(self.trials)

    def __iter__(self) -> Iterator[AnyTrial]:
        """Yield the trials."""
        return iter(self.trials)


More = Callable[[Sequence[Run]], Sequence[TrialSet]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a study measures. A study's own plan adds a field for each set of trials, in the order they run in.

    Attributes:
        others: Sets of trials that need no name.
        more: Returns, from the runs so far, what to measure next, until that is nothing: sizes that depend on
            earlier results.
        more_is_core: Whether that is compared as the first sets are: it has 6 blocks before these have 9.
        spare: Returns what to measure in time that is left over then, the most useful first: a study that depends on
            earlier results is given time before it is known how much it needs. Only where time is limited.
        seed: Seed of the order of runs; the trials have their own.
        accuracy_blocks: Number of blocks in which the test accuracy is measured too.
        foreseen: Sets whose trials stand for others that depend on earlier results: for the plan's time alone.
        auto: What the data set "auto" stands for where it was fetched, and the model has none of its own.
        may_be_empty: Whether a report without a run of this study can be rendered again.
        remake: Makes the plan anew from other values of its parameters; see `planner`.
    Raises:
        UserError: `accuracy_blocks` is no number of blocks.
    """

    others: tuple[TrialSet, ...] = ()
    more: More | None = None
    more_is_core: bool = False
    spare: More | None = None
    foreseen: tuple[TrialSet, ...] = ()
    seed: int = 0
    accuracy_blocks: int = 1
    auto: str = "cifar10"
    may_be_empty: bool = False
    remake: Callable[..., Plan] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_whole("accuracy_blocks", self.accuracy_blocks, 0, "0 measures none")

    @property
    def sets(self) -> tuple[TrialSet, ...]:
        """All sets of trials: those with a name in the order of their fields, then the others."""
        return tuple(part for _, part in self.named_sets)

    @property
    def named_sets(self) -> tuple[tuple[str, TrialSet], ...]:
        """The same, each with its name; the others have none."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        named = (pair for pair in values if isinstance(pair[1], TrialSet))
        return (*named, *(("", part) for part in self.others))

    @property
    def core_name(self) -> str:
        """Name of the sets that are left out last where time is short: the first one, or all that have none."""
        return self.named_sets[0][0] if self.sets else ""

    def change(self, **parameters: Any) -> Plan:
        """Return the plan with these parameters changed.

        Raises:
            UserError: It has no such parameter.
        """
        known = inspect.signature(self.remake.func).parameters
        for name in parameters:
            check_name("parameter", name, list(known))
        return self.remake(**parameters)


def planner(make: Callable[P, Plan]) -> Callable[P, Plan]:
    """Let the plan that a function makes of named parameters be made again with some of them changed.

    A parameter that is annotated as a sequence is a list: a text would be taken for its letters. A list that is
    empty is named as the parameter: `frameworks`, of which each trial has one as its `framework`. A seed leaves room
    for what blocks and groups add to it; a trial of an older ledger may have any.
    """

    known = inspect.signature(make).parameters.values()
    lists = [one.name for one in known if str(one.annotation).startswith("Sequence")]

    @functools.wraps(make)
    def planned(**parameters: Any) -> Plan:
        remake = functools.partial(planned, **parameters)
        for name in lists:
            check_list(name, parameters.get(name, ()))
        check_whole("seed", parameters.get("seed", 0), 0, most=MOST_SEED)
        try:
            return replace(make(**parameters), remake=remake)
        except EmptyList as problem:
            raise problem.named({name.removesuffix("s"): name for name in parameters}) from None

    return planned


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One run to do. The trial's seed is the block's own.

    Attributes:
        group: Which of the block's groups it is in, from 0: the runs of a group are compared, and take turns.
        part: Number of its set of trials in the plan.
        timed_only: Whether its accuracy is not measured: see `TrialSet.lines`.
        across, limit_s: See `TrialSet`.
    """

    block: int
    label: str
    trial: AnyTrial
    group: int = field(default=0, compare=False)
    part: int = field(default=0, compare=False)
    timed_only: bool = field(default=False, compare=False)
    across: tuple[str, ...] = field(default=(), compare=False)
    limit_s: float | None = field(default=None, compare=False)

    @property
    def key(self) -> tuple[str, int, AnyTrial]:
        """The same as `Run.key`."""
        return self.label, self.block, self.trial

    @property
    def kind(self) -> tuple[str, AnyTrial]:
        """Label and trial, which are the same in every block."""
        return self.label, self.trial.spec


def one_per_framework(trials: Sequence[Trial], frameworks: Sequence[str] | None = None) -> tuple[Trial, ...]:
    """Return one trial of each framework: the last layout of its first model and batch size.

    Args:
        frameworks: The frameworks to return trials of; all by default.
    Raises:
        UserError: There is no such framework.
    """
    for name in frameworks or ():
        check_name("framework", name, FRAMEWORKS)
    firsts: dict[str, Trial] = {}
    last_layout: dict[str, Trial] = {}
    for trial in trials:
        first = firsts.setdefault(trial.framework, trial)
        if replace(trial, layout=first.layout) == first:
            last_layout[trial.framework] = trial
    return tuple(t for name, t in last_layout.items() if frameworks is None or name in frameworks)


def still_to_do(
    plan: Sequence[Planned], done: Iterable[Run], is_no_use: Callable[[Planned], bool]
) -> tuple[Planned, ...]:
    """Return what a resumed session has left: all but what ended well or would end the same again.

    Runs of a group are compared within one start, on one node: if one of them is left there, they all are.

    Args:
        is_no_use: Returns whether a run is not to be tried again: see `trainspeed.conduct.given_up`.
    """
    finished_on: dict[Any, set[str | None]] = {}
    for run in done:
        if run.status == Status.OK:
            finished_on.setdefault(run.key, set()).add(run.node)
    possible = [p for p in plan if not is_no_use(p)]
    whole_on: dict[tuple[int, int], set[str | None]] = {}
    for p in possible:
        on = finished_on.get(p.key, set())
        whole_on[p.block, p.group] = on & whole_on.get((p.block, p.group), on)
    return tuple(p for p in possible if not whole_on[p.block, p.group])


def most_devices(plan: Iterable[Planned]) -> int:
    """Return the largest number of devices that a run uses on a node."""
    return max((planned.trial.devices_per_node for planned in plan), default=1)


def most_cores(plan: Iterable[Planned]) -> int | None:
    """Return the largest number of CPU cores that a run uses where there is no GPU; None for all that there are."""
    cores = [planned.trial.cores for planned in plan]
    return None if None in cores else max(cores, default=1)


def check_devices(plan: Sequence[Planned], count: int, kind: str) -> None:
    """Raise a UserError where a run needs more devices on a node than there are here.

    Args:
        kind: "GPU" or "CPU core".
    """
    if (most := most_devices(plan)) > count:
        raise UserError(
            "devices", most, f"is more than there are: {counted(count, kind)} to use here. Lower devices."
        )
