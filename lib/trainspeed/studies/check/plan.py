"""What the check of the instrument measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trainspeed.conduct.machine import devices_here, find_interpreter
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.errors import check_name, check_whole
from trainspeed.core.phase import EXCHANGE
from trainspeed.core.probe import IN_ROUNDS, MAX_ROUNDS, PROBES, ROUNDS, WITHOUT_FRAMEWORK, Probe
from trainspeed.core.trial import Trial

STEPS = "images_per_epoch"
SUM_DEVICES = 2
# Images per step and their height, where the notebook has 0. A GPU would wait for the host with steps of 8, and what is
# compared would be the host's noise: on an H100 the interval of a training against itself was 0.88 to 1.22.
SIZES = {"CPU core": (8, 16), "GPU": (256, 32)}


@dataclass(frozen=True, kw_only=True)
class CheckPlan(Plan):
    """Probes, and a training that is measured twice and once more with more steps.

    Attributes:
        turns: One training in turns with itself and with an epoch of more steps.
        probes: What each framework is asked in a run of its own.
        formats: Trainings whose precision and layout are looked up.
        sums: Sums of gradients over two devices.
    """

    turns: TrialSet
    probes: TrialSet
    formats: TrialSet
    sums: TrialSet


@planner
def plan_check(
    *,
    frameworks: Sequence[str],
    probes: Sequence[str],
    rounds: int,
    precisions: Sequence[str],
    layouts: Sequence[str],
    exchange_model: str,
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
    check_whole("rounds", rounds, 1, most=MAX_ROUNDS)
    check_whole("steps", steps, 1)
    check_whole("batch_size", batch_size, 0)
    check_whole("image_size", image_size, 0)
    check_whole("planted_steps", planted_steps, 1, "0 plants nothing")
    for name in probes:
        check_name("probe", name, tuple(PROBES))
    here = next((name for name in turn_frameworks if find_interpreter(name)), None)
    usual = SIZES[devices_here("check")[1]]
    batch_size, image_size = batch_size or usual[0], image_size or usual[1]
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
    arms = (plain, longer) if turn_frameworks else ()
    return CheckPlan(
        turns=TrialSet(trials=arms, controls=arms[:1], blocks=blocks, factors=(STEPS,)),
        probes=TrialSet(trials=tuple(_probes(probes or tuple(PROBES), frameworks, rounds)), blocks=1),
        formats=TrialSet(trials=tuple(_formats(plain, frameworks, precisions, layouts)), blocks=1),
        sums=TrialSet(trials=_sums(exchange_model), blocks=1),
        accuracy_blocks=0,
        seed=seed,
    )


def _probes(names: Sequence[str], frameworks: Sequence[str], rounds: int) -> Iterator[Probe]:
    here = [name for name in frameworks if find_interpreter(name)] or list(frameworks)
    for name in names:
        for framework in here[:1] if name in WITHOUT_FRAMEWORK else frameworks:
            yield Probe(framework=framework, name=name, rounds=rounds if name in IN_ROUNDS else ROUNDS)


def _formats(
    plain: Trial, frameworks: Sequence[str], precisions: Sequence[str], layouts: Sequence[str]
) -> Iterator[Trial]:
    """Yield trainings of a few steps: each precision in the plain layout, each layout in the plain precision.

    A CPU that has fp16 at all may take ten seconds for a step in it.
    """
    on_gpu = devices_here("check")[1] == "GPU"
    for framework in frameworks:
        small = replace(
            plain,
            framework=framework,
            compile=framework == "jax",
            images_per_epoch=2 * plain.batch_size,
            epochs=3,
        )
        yield from (replace(small, precision=name) for name in precisions if on_gpu or name != "fp16")
        yield from (replace(small, layout=layout) for layout in layouts)


def _sums(model: str) -> tuple[Trial, ...]:
    """Return sums of the gradients of a model over two devices; over one, where there are no two, a row."""
    if not model:
        return ()
    devices = min(devices_here("check")[0], SUM_DEVICES)
    whole = Trial(
        framework="torch",
        model=model,
        layout="channels_last",
        strategy="ddp",
        devices=devices,
        batch_size=2 * SUM_DEVICES,
        image_size=32,
        images_per_epoch=2 * SUM_DEVICES,
        epochs=5,
        dataset="digits",
    )
    return (whole.only(EXCHANGE),)
