"""Each switch alone beside the plain trial: does it run, is it seen in effect, what does a run of it cost?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median

from trainspeed.core.bursts import looked_up_s, undisturbed_s
from trainspeed.core.levers.lever import text_of
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.programs import again_s
from trainspeed.core.result import TF32_WORK, EffectivePrecision, Seen, tf32_text
from trainspeed.core.run import Role, Run, Status
from trainspeed.judge.comparison import judge_runs
from trainspeed.search.arms import Fit, fit_speedups
from trainspeed.search.findings import Effect, Feasible
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Switch

# Switches beside one plain trial: all are alive together, and memory has to be enough.
SWITCHES_PER_GROUP = 5
SEEDS_APART = 1000  # groups of a label have seeds of their own, a block each from there on
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
RECORDED = frozenset({"devices", "strategy"})  # fields of which every run tells, but those of older ledgers
ELSEWHERE = ("layout", "precision")  # fields of which a run tells by what its convolutions did
TF32 = "tf32"  # a precision without a dtype of its own


def alone_groups(known: Known, switches: Sequence[Switch], blocks: int, label: str) -> list[ArmGroup]:
    """Return the plain trial and each switch alone, in groups of a few."""
    groups = []
    for number, first in enumerate(range(0, len(switches), SWITCHES_PER_GROUP)):
        arms = ((), *((switch,) for switch in switches[first : first + SWITCHES_PER_GROUP]))
        seed = known.start.seed + SEEDS_APART * number
        groups.append(ArmGroup(label=label, seed=seed, arms=arms, blocks=blocks))
    return groups


def again_groups(known: Known, found: Sequence[Feasible], blocks: int) -> list[ArmGroup]:
    """Return once more those that gave no time, as where they or the plain trial beside them crashed.

    So do looks that others spoiled: see `Known.arms`. What would end the same again is not among them.
    """
    first = alone_groups(known, [one.switch for one in found], blocks, Role.FEASIBLE)
    behind = SEEDS_APART * len(first)
    ran = known.of(Role.FEASIBLE)
    final = {one.on for one in ran if one.run.is_final}
    once = {one.on for one in ran if one.run.trial.seed < known.start.seed + behind}
    open_ = [
        one.switch
        for one in found
        if (on := known.on_with([one.switch])) in once
        and on not in final
        and not _timed_at_first(one, known, behind)
    ]
    again = alone_groups(known, open_, blocks, Role.FEASIBLE)
    return [replace(group, seed=group.seed + behind) for group in again]


def look_groups(known: Known, switches: Sequence[Switch]) -> list[ArmGroup]:
    """Return the plain trial and each of these switches alone, in one block that no other look had."""
    behind = _behind_again(known) + _slot(known) * looks_had(known)
    return [
        replace(group, seed=group.seed + behind) for group in alone_groups(known, switches, 1, Role.FEASIBLE)
    ]


def looks_had(known: Known) -> int:
    """Return how many looks there were at what looked quick alone: see `look_groups`."""
    first = known.start.seed + _behind_again(known)
    return len({(seed - first) // _slot(known) for seed in _seeds(known) if seed >= first})


def _slot(known: Known) -> int:
    """Return the seeds of a look at all switches."""
    return SEEDS_APART * max(1, math.ceil(len(known.switches) / SWITCHES_PER_GROUP))


def _behind_again(known: Known) -> int:
    """Return what is added to the seeds of looks: before them are the first groups, and those that ran again."""
    return 2 * _slot(known)


def _seeds(known: Known) -> set[int]:
    return {one.run.trial.seed for one in known.of(Role.FEASIBLE)}


def _timed_at_first(one: Feasible, known: Known, behind: int) -> bool:
    """Whether a switch gave a time beside a plain trial in its first group."""
    own = feasible(one.switch, known, most_seed=known.start.seed + behind - 1)
    return own.alone is not None


def feasible(
    switch: Switch, known: Known, label: str = Role.FEASIBLE, most_seed: float = math.inf
) -> Feasible:
    """Return what the runs of a switch alone say.

    Args:
        most_seed: Runs of larger seeds are left aside.
    """
    alone = known.on_with([switch])
    own = [one for one in known.of(label) if one.run.trial.seed <= most_seed]
    with_it = [one.run for one in own if one.on == alone]
    # The groups have plain trials of their own, and blocks are numbered in each.
    groups = {run.trial.seed - run.block for run in with_it}
    without = [r.run for r in own if not r.on and r.run.trial.seed - r.run.block in groups]
    bad = [run for run in with_it if run.status is not Status.OK]
    ended = [run for run in with_it if run.status is Status.OK]
    # One that crashed once and then ran well is fit to be tried.
    failed = next((run for run in bad if run.is_final or not ended), None)
    plain = [run for run in without if run.status is Status.OK]
    spoiled = known.spoiled_seeds(alone)
    told = [run for run in ended if run.trial.seed not in spoiled]
    pair = judge_runs(plain, told) if told and plain else None
    timed, plain_timed = _with_first_epochs(ended, plain), _with_first_epochs(plain, ended)
    return Feasible(
        switch=switch,
        effect=_effect(switch, with_it, ended, failed),
        status=failed.status if failed else Status.OK if ended else None,
        reason=failed.reason if failed else None,
        seen={name: saw for run in reversed(ended) for name, saw in seen_of(switch, run).items()},
        alone=pair if pair and pair.blocks else None,
        # Others' bursts only add. In one look of two, one that lasted for seconds doubled what bf16 took, and fresh
        # blocks did without it for lack of time.
        cost_s=_least(ended, undisturbed_s),
        again_s=_least(ended, _again_s),
        plain_cost_s=_median(plain, lambda run: _again_s(run) or None),
        first_epoch_s=_median(timed or ended, lambda run: run.first_epoch_s),
        plain_first_epoch_s=_median(plain_timed, lambda run: run.first_epoch_s),
        epoch_s=_median(ended, lambda run: run.median_epoch_s),
        plain_epoch_s=_median(plain, lambda run: run.median_epoch_s),
        peak_memory_bytes=_median(ended, lambda run: run.peak_memory_bytes),
        plain_peak_memory_bytes=_median(plain, lambda run: run.peak_memory_bytes),
    )


def seen_of(switch: Switch, run: Run) -> dict[str, Seen]:
    """Return what a run saw of each lever that a switch sets; None where it was not looked up.

    In older ledgers nothing was recorded of fields of a trial: such a field is not in it, as that the trial ran is all
    there is to see. Layout and precision are recorded elsewhere, and of some models nothing is to be seen of them.
    """
    tells_fields = run.in_effect.keys() >= RECORDED
    missing = (None, "it was not looked up")
    seen: dict[str, Seen] = {name: run.in_effect.get(name, missing) for name, _ in switch.settings}
    for name, value in switch.fields:
        if name in run.in_effect:
            seen[name] = run.in_effect[name]
        elif tells_fields and name in LEVERS and LEVERS[name].evidence and name not in ELSEWHERE:
            seen[name] = missing
        elif name == "layout" and run.effective_layout:
            seen[name] = "+".join(sorted(run.effective_layout)), "the layouts of the convolutions that ran"
        elif name == "precision" and value in DTYPES and run.effective_precision:
            seen[name] = _precision_seen(value, run.effective_precision)
        elif name == "precision" and value == TF32 and run.tf32 is not None:
            everywhere = set(run.tf32) == set(TF32_WORK)
            seen[name] = (
                (TF32 if everywhere else tf32_text(run.tf32)),
                "the framework's switches, and the GPU",
            )
    return seen


def _precision_seen(value: str, ran: EffectivePrecision) -> Seen:
    if ran.asked:
        return None, "what ran could not be found out, only what the layers were set to"
    seen = value if DTYPES[value] in ran.dtypes else "+".join(sorted(ran.dtypes))
    return seen, "the dtypes of the convolutions that ran"


def was_seen(switch: Switch, run: Run) -> Effect:
    """Return whether a run that ended well saw a switch in effect."""
    asked = dict(switch.settings) | {name: text_of(value) for name, value in switch.fields}
    values = [(saw[0], asked[name]) for name, saw in seen_of(switch, run).items()]
    if any(value is not None and value != wanted for value, wanted in values):
        return Effect.UNSEEN
    return Effect.UNKNOWN if any(value is None for value, _ in values) else Effect.SEEN


def alone_fit(known: Known, switches: Sequence[Switch]) -> Fit:
    """Return what each switch brings alone, from the feasibility's runs: a rough guess, by which others are led."""
    arms = known.arms(Role.FEASIBLE)
    found = {}
    for switch in switches:
        on = known.on_with([switch])
        groups = {arm.group for arm in arms if arm.on == on}
        pair = [arm for arm in arms if arm.group in groups and (arm.on == on or not arm.on)]
        found[switch] = fit_speedups(pair, [switch])
    return Fit(
        log={switch: own.log[switch] for switch, own in found.items() if switch in own.log},
        se={switch: own.se[switch] for switch, own in found.items() if switch in own.se},
        sd=max((own.sd for own in found.values()), default=0.0),
        freedom=0,
        arms=len(arms),
    )


def _with_first_epochs(runs: Iterable[Run], others: Iterable[Run]) -> list[Run]:
    """Return the runs of blocks in which both settings have the time of a first epoch; a block has a seed."""
    known = {run.trial.seed for run in others if run.first_epoch_s is not None}
    return [run for run in runs if run.first_epoch_s is not None and run.trial.seed in known]


def _effect(switch: Switch, runs: Sequence[Run], ended: Sequence[Run], failed: Run | None) -> Effect:
    if not runs:
        return Effect.OPEN
    if failed or not ended:
        return Effect.FAILED
    found = {was_seen(switch, run) for run in ended}
    return next(effect for effect in (Effect.UNSEEN, Effect.UNKNOWN, Effect.SEEN) if effect in found)


def _again_s(run: Run) -> float:
    return undisturbed_s(run) - (run.busy_s - again_s(run)) - looked_up_s(run)


def _least(runs: Iterable[Run], value: Callable[[Run], float]) -> float | None:
    return min((amount for run in runs if (amount := value(run))), default=None)


def _median(runs: Iterable[Run], value: Callable[[Run], float | None]) -> float | None:
    known = [amount for run in runs if (amount := value(run)) is not None]
    return median(known) if known else None
