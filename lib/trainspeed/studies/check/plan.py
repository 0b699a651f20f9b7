"""What the check of the instrument measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.errors import check_name, check_whole
from trainspeed.core.probe import PROBES, Probe
from trainspeed.core.trial import Trial

STEPS = "images_per_epoch"


@dataclass(frozen=True, kw_only=True)
class CheckPlan(Plan):
    """Probes, and a training that is measured twice and once more with more steps.

    Attributes:
        turns: One training in turns with itself and with an epoch of more steps.
        probes: What each framework is asked in a run of its own.
    """

    turns: TrialSet
    probes: TrialSet


@planner
def plan_check(
    *,
    frameworks: Sequence[str],
    probes: Sequence[str],
    turn_frameworks: Sequence[str],
    planted_steps: int,
    steps: int,
    batch_size: int,
    image_size: int,
    epochs: int,
    blocks: int,
    seed: int,
) -> CheckPlan:
    """Return the plan for the notebook's parameters, which its parameter cell explains.

    Raises:
        UserError: A value that cannot be measured.
    """
    check_whole("steps", steps, 1)
    check_whole("planted_steps", planted_steps, 1, "0 plants nothing")
    for name in probes:
        check_name("probe", name, tuple(PROBES))
    here = next((name for name in turn_frameworks if find_interpreter(name)), None)
    plain = Trial(
        framework=here or next(iter(turn_frameworks), "torch"),
        model="cnn10",
        layout="channels_last",
        batch_size=batch_size,
        image_size=image_size,
        images_per_epoch=steps * batch_size,
        epochs=epochs,
        compile=here == "jax",
        dataset="digits",
        seed=seed,
    )
    longer = replace(plain, images_per_epoch=(steps + planted_steps) * batch_size)
    return CheckPlan(
        turns=TrialSet(trials=(plain, longer), controls=(plain,), blocks=blocks, factors=(STEPS,)),
        probes=TrialSet(
            trials=tuple(Probe(framework=f, name=name) for name in probes or PROBES for f in frameworks),
            blocks=1,
        ),
        accuracy_blocks=0,
        seed=seed,
    )
