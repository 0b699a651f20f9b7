"""Made-up runs of the multi-GPU study: steps of any length, sums as on a link with two constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from study_data import MACHINE, make_run
from trainspeed.core.phase import LATENCY, LINK
from trainspeed.core.result import LinkSum
from trainspeed.core.run import Run
from trainspeed.core.trial import LATENCY_BYTES, Trial
from trainspeed.judge.interconnect import ring_allreduce_s
from trainspeed.studies.multi_gpu.scaling import scaling_trials

COUNT = 1_000_000  # parameters: 4 MB of gradients
ALPHA_S, BYTES_PER_S = 1e-3, 1e9
GPU = {**MACHINE, "device": "gpu"}
SIZES_BYTES = (4096, 32_768, 2**18, 2**21)


def trials(counts=(1, 2), frameworks=("torch",)) -> tuple[Trial, ...]:
    """Return a batch of 8 on these numbers of devices, in strong and in weak scaling."""
    equal = {"model": "cnn10", "layout": "channels_last", "images_per_epoch": 64, "epochs": 3}
    return scaling_trials(frameworks, ("mirrored", "ddp"), counts, batch_size=[8], **equal)


def sums_s(trial: Trial, alpha_s: float = ALPHA_S, bytes_per_s: float = BYTES_PER_S) -> float:
    """Return the seconds of a sum of the model's gradients, or of a small message."""
    size = LATENCY_BYTES if trial.phase is LATENCY else 4 * COUNT
    return ring_allreduce_s(size, trial.devices, alpha_s, 1 / bytes_per_s)


def link_run(trial: Trial, block: int = 0, machine: Mapping = GPU, **constants: float) -> Run:
    """Return a run of sums of several sizes: see `sums_s` for the constants."""
    alpha_s, bytes_per_s = constants.get("alpha_s", ALPHA_S), constants.get("bytes_per_s", BYTES_PER_S)
    sums = tuple(
        LinkSum(size_bytes=size, sum_s=(ring_allreduce_s(size, trial.devices, alpha_s, 1 / bytes_per_s),) * 5)
        for size in SIZES_BYTES
    )
    assert trial.phase is LINK
    return make_run(trial=trial, block=block, machine=machine, link_sums=sums)


def runs_of(
    given: Iterable[Trial], step_s: Callable[[Trial], float], machine: Mapping = MACHINE, blocks: int = 1
) -> list[Run]:
    """Return runs of these trials whose steps take so many seconds; whole ones know their parameters."""
    return [
        make_run(
            trial=trial,
            block=block,
            epoch_s=(9.0, *[step_s(trial) * trial.steps_per_epoch] * 3),
            images_per_epoch=trial.images_per_epoch,
            parameters=COUNT if trial.part == "both" else None,
            machine=machine,
        )
        for trial in given
        for block in range(blocks)
    ]
