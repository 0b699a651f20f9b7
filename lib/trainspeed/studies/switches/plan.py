"""What the notebook on switches measures: where a plain step's time goes, and a search for each framework and model."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from trainspeed.conduct.context import current, recorded
from trainspeed.conduct.machine import cores_here, devices_here, gpu_bytes_here, machine_here
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.errors import UserError, check_seconds, check_some, check_whole
from trainspeed.core.format import NAMES, model_of
from trainspeed.core.levers.compute import without_arithmetic
from trainspeed.core.levers.feeding import batch_ladder, loader_ladder
from trainspeed.core.levers.host import ALL_CORES, AS_SET, THREAD_VARIABLES, plain_values
from trainspeed.core.levers.lever import Setting
from trainspeed.core.levers.registry import chosen_levers
from trainspeed.core.library_model import find_library_model, is_library_model
from trainspeed.core.phase import FIT
from trainspeed.core.run import Role, Run
from trainspeed.core.trial import PLAIN_PIPELINES, SINGLE, Trial
from trainspeed.search.asking import Asking
from trainspeed.search.candidates import Candidates, candidates, check_field_values
from trainspeed.search.findings import Findings
from trainspeed.search.search import Search
from trainspeed.search.sizes import options
from trainspeed.search.switch import DEFAULT_LAYOUT, plain_trial
from trainspeed.studies.switches.step_parts import PARTS

STUDY = "switches"
PART_FACTORS = ("part",)
ENOUGH_IMAGES = 1000  # of an epoch: of fewer, validation takes most, as in no real training
MANY = 6  # levers from which on a screen is worth its runs


@dataclass(frozen=True, kw_only=True)
class SwitchesPlan(Plan):
    """The parts of a plain step, and what the searches want next.

    Attributes:
        rest: For each plain setting the parts of a step, and a ladder of batch sizes. Where time is short, one block
            of the parts comes before the searches, as it says where to look; all else in time that these leave.
        searches: A search for each framework and model, without any runs yet.
    """

    rest: tuple[TrialSet, ...]
    searches: Sequence[Search]

    @property
    def starts(self) -> Mapping[str, Trial]:
        """Framework and model in words -> the plain setting."""
        starts = [search.start for search in self.searches]
        return {f"{NAMES[start.framework]}, {model_of(start.model)}": start for start in starts}


@planner
def plan_switches(
    *,
    frameworks: Sequence[str],
    models: Sequence[str],
    levers: Sequence[str],
    already_on: int,
    blocks: int,
    batch_blocks: int,
    confirm_blocks: int,
    pipeline: str,
    batch_size: int,
    image_size: int,
    images_per_epoch: int,
    epochs: int,
    accuracy_margin: float,
    dataset: str,
    seed: int,
    budget_s: float | None = None,
) -> SwitchesPlan:
    """Return the plan of the notebook's parameters, which its parameter cell explains.

    Raises:
        UserError: A value that cannot be measured, or a lever that there is not.
    """
    check_whole("already_on", already_on, 0, "0 leaves it out")
    check_whole("batch_blocks", batch_blocks, 0, "0 leaves it out")
    check_seconds("budget_s", budget_s, or_none=True)
    check_whole("confirm_blocks", confirm_blocks, 1, "6 or more give an interval")
    if not accuracy_margin > 0:
        rule = "must be more than 0 points: with 0, equal accuracy is never proved."
        raise UserError("accuracy_margin", accuracy_margin, rule)
    for name, values in (("frameworks", frameworks), ("models", models)):
        check_some(name, values, "name at least one, or leave the parameter out.")
    count, kind = devices_here(STUDY)
    gpu_bytes = gpu_bytes_here(STUDY) if kind == "GPU" else None
    cores = cores_here(STUDY)
    machine, device = machine_here(STUDY), "gpu" if kind == "GPU" else "cpu"
    context = current()
    drawn = recorded(STUDY, context, may_be_empty=True).runs if context.render_from else ()
    if not drawn:
        check_field_values(levers)
    searches = []
    for framework, model in _pairs(dict.fromkeys(frameworks), dict.fromkeys(models)):
        start = plain_trial(
            framework,
            model,
            **_plain_input(framework, pipeline, cores),
            batch_size=batch_size,
            image_size=image_size,
            images_per_epoch=images_per_epoch,
            epochs=epochs,
            dataset=dataset,
            seed=seed,
            levers=_plain_levers(framework, kind, count, drawn),
            **_plain_compile(framework, kind, drawn),
        )
        search = Search(
            start=start,
            candidates=candidates(
                start,
                device,
                count,
                levers,
                cores=cores,
                gpu_bytes=gpu_bytes,
                plain=plain_values(machine),
                lacking=without_arithmetic(machine, device),
            ),
            confirm_blocks=confirm_blocks,
            slow_blocks=already_on,
            margin_points=accuracy_margin,
        )
        searches.append(search)
    if levers and not drawn:
        _check_something_to_try(levers, [search.candidates for search in searches], already_on)
    starts = tuple(search.start for search in searches)
    asking = Asking(searches, budget_s)
    parts = tuple(_parts(start, blocks) for start in starts)
    ladders = (_ladder(start, batch_blocks) for start in starts)
    rest = (*parts, *(ladder for ladder in ladders if ladder is not None))
    return SwitchesPlan(
        rest=rest,
        searches=searches,
        # Where time is short, no more than a look at the parts comes before: what to switch on is the question.
        others=(
            (*asking(()), *rest)
            if budget_s is None
            else (*(replace(part, blocks=1) for part in parts), *asking(()))
        ),
        more=asking,
        more_is_core=True,
        spare=lambda runs: rest,
        foreseen=tuple(part for search in searches for part in _foreseen(search)),
        may_be_empty=True,
        accuracy_blocks=confirm_blocks,
        seed=seed,
    )


def _check_something_to_try(levers: Sequence[str], found: Iterable[Candidates], already_on: int) -> None:
    """Raise a UserError where not one of the levers that were named can be pulled here, with the reasons."""
    chosen = chosen_levers(levers)
    reasons: dict[str, None] = {}
    for one in found:
        if one.switches or (already_on and one.slow_ways) or chosen.keys() & {*one.changing}:
            return
        own = (lacking for lacking in one.not_here if lacking.lever in chosen)
        reasons |= dict.fromkeys(f"{lacking.lever}: {lacking.reason}" for lacking in own)
        reasons |= dict.fromkeys(f"{slow.lever}: it is measured with already_on" for slow in one.slow_ways)
    rule = f"names nothing that can be tried here ({'; '.join(reasons)}): name others, or none for all."
    raise UserError("levers", ", ".join(map(str, levers)), rule)


def _pairs(frameworks: Collection[str], models: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield framework and model of each search.

    A framework that cannot have a library's model has no share of the time, where another one can have it.
    """
    able = {model: [name for name in frameworks if _can_have(name, model)] or frameworks for model in models}
    yield from ((name, model) for name, model in product(frameworks, models) if name in able[model])


def _can_have(framework: str, model: str) -> bool:
    if framework not in DEFAULT_LAYOUT or not is_library_model(model):
        return True
    return find_library_model(model).why_not(framework, DEFAULT_LAYOUT[framework]) is None


def _plain_levers(framework: str, kind: str, count: int, drawn: Sequence[Run]) -> tuple[Setting, ...]:
    """Return what a plain script has and a plain trial has not: all cores, or as many threads as the user has set.

    Args:
        drawn: The runs of an older report: they began as they did, whatever this machine has. Those on several
            devices tell nothing of it: each device has a core of its own.
    """
    single = [run.trial for run in drawn if run.trial.strategy == SINGLE]
    if own := [trial for trial in single if trial.framework == framework]:
        if not all(ALL_CORES[0] in dict(trial.levers) for trial in own):
            return ()
        return (AS_SET if any(AS_SET in trial.levers for trial in own) else ALL_CORES,)
    if kind == "GPU" or count < 2:
        return ()
    of_user = any(os.environ.get(name) for name in THREAD_VARIABLES.get(framework, ()))
    return (AS_SET if of_user else ALL_CORES,)


def _plain_compile(framework: str, kind: str, drawn: Sequence[Run]) -> dict[str, bool]:
    """Return whether Keras compiles by itself: with TensorFlow on a GPU it does."""
    own = [run.trial.compile for run in drawn if run.trial.framework == framework]
    compiled = all(own) if own else kind == "GPU"
    return {"compile": compiled} if framework == "tensorflow" else {}


def _plain_input(framework: str, pipeline: str, cores: int) -> dict[str, Any]:
    """Return the fields of a plain trial's input pipeline; workers are as many as are tried first."""
    if pipeline in PLAIN_PIPELINES:
        return {"pipeline": pipeline}
    ladder = loader_ladder(framework, cores, augment=True)
    known = next((rung for rung in ladder if rung["pipeline"] == pipeline), {"pipeline": pipeline})
    return {**known, "augment": True}


def _parts(start: Trial, blocks: int) -> TrialSet:
    phases = PARTS if start.images_per_epoch >= ENOUGH_IMAGES else [part for part in PARTS if part is not FIT]
    return TrialSet(
        trials=tuple(start.only(phase) for phase in phases),
        controls=(start,),
        blocks=blocks,
        factors=PART_FACTORS,
    )


def findings(plan: SwitchesPlan, runs: Sequence[Run]) -> list[Findings]:
    """Return what each search found, as far as these runs go, the largest gain first; nothing without a run."""
    return (
        largest_first(replace(search, runs=tuple(runs)).findings for search in plan.searches) if runs else []
    )


def largest_first(found: Iterable[Findings]) -> list[Findings]:
    """Return what searches found in the order of the front page: by what fresh blocks say, and those without last."""
    return sorted(
        found, key=lambda one: (one.confirmation and one.confirmation.total.speedup) or 0.0, reverse=True
    )


def _ladder(start: Trial, blocks: int) -> TrialSet | None:
    """Return the plain setting at larger and larger batches; None where an epoch has no images for them."""
    sizes = batch_ladder(start.batch_size, start.images_per_epoch)
    if not blocks or len(sizes) < 2:
        return None
    return TrialSet(
        trials=tuple(replace(start, batch_size=size) for size in sizes),
        blocks=blocks,
        label=Role.LADDER,
        factors=("batch_size",),
        parameter="batch_blocks",
    )


def _foreseen(search: Search) -> list[TrialSet]:
    """Return pairs of plain trials in place of what a search measures after its first stage.

    It is the least that answers: fresh blocks, and a screen where there are many switches. A search with more time than
    that does more, so the notebook gets its share of what all have left.
    """
    switches, start = search.candidates.switches, search.start
    if not switches:
        return []
    levers = {switch.lever for switch in switches}
    possible = options(len(levers), search.confirm_blocks)
    screened = [sizes for sizes in possible if sizes.columns]
    least = screened[-1] if len(levers) >= MANY else possible[-1]
    runs = least.runs(raced=len(switches) - len(levers))
    fresh = (runs.pop(Role.RECIPE) + runs.pop(Role.PLAIN_AGAIN)) // least.confirm
    pairs = sum(map(math.ceil, (number / 2 for number in runs.values())))
    fresh_pairs = math.ceil(fresh / 2)
    slow_pairs = math.ceil(len(search.candidates.slow_ways) / 2) if search.slow_blocks else 0
    return [
        *(_pair(start) for _ in range(pairs)),
        *(_pair(start, least.confirm, "confirm_blocks") for _ in range(fresh_pairs)),
        *(_pair(start) for _ in range(slow_pairs)),
    ]


def _pair(start: Trial, blocks: int = 1, parameter: str = "blocks") -> TrialSet:
    return TrialSet(trials=(start,), controls=(start,), blocks=blocks, parameter=parameter)
