"""One training by other clocks, and beside a bare loop of its framework. Knows no framework.

The instrument and a loop as in a plain script train the same model in turns, in one process: whatever differs from
process to process is in both. Meanwhile a stopwatch outside times the instrument's epochs, and after each turn the
device is asked whether it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trainspeed.core.probe import ROUNDS
from trainspeed.core.trial import Trial
from trainspeed.sensors.cpu import taken_by_others_s
from trainspeed.worker.backends.base import Training
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.data.sets import epoch_of
from trainspeed.worker.probes import Surroundings, Values
from trainspeed.worker.probes.leftover import Leftover, leftover_of
from trainspeed.worker.probes.stopwatch import Stopwatch

EPOCHS = 3  # of a turn; the first one warms up what the other loop's turn has displaced, and does not count
# Steps so long that what Python does between them is little, and epochs of a tenth of a second or more.
SIZES = {
    "cpu": {"image_size": 16, "batch_size": 8, "images_per_epoch": 16},
    "gpu": {"image_size": 32, "batch_size": 256, "images_per_epoch": 20 * 256},
}

# Matrix products that are asked for without waiting, and the side of the square matrices: a tenth of a second or so.
QUEUED = 4
SIDES = {"cpu": 1024, "gpu": 8192}


@dataclass(frozen=True, kw_only=True)
class Loops:
    """What is compared, and with which clocks.

    Attributes:
        training: As the instrument trains.
        synchronize: Name of the training's method that waits for the device; called at both ends of an epoch.
        bare: Trains the same model so many epochs in a loop as in a plain script; returns their seconds.
        queue: Calls the device for work and returns at once, if the framework does; None where it always waits.
        device_s: Returns the seconds of the instrument's epochs so far by the device's own timer; None without one.
        before: Called before each wait for the device.
    """

    training: Training
    synchronize: str
    bare: Callable[[int], Sequence[float]]
    queue: Callable[[], object]
    device_s: Callable[[], Sequence[float]] | None = None
    before: Callable[[], object] = lambda: None


def trial_of(framework: str, device: str) -> Trial:
    """Return the training that is timed: real images that every machine has, sizes that suit the device."""
    return Trial(
        framework=framework,
        model="cnn10",
        layout="channels_last",
        epochs=EPOCHS,
        dataset="digits",
        compile=framework == "jax",
        **SIZES[device],
    )


def started(framework: str, where: Surroundings) -> tuple[Training, np.ndarray, np.ndarray]:
    """Return the instrument's training, on its device, and the images and labels of one of its epochs."""
    trial = trial_of(framework, where.device)
    images = images_of(trial)
    training = where.backend.start(trial, images, device=where.device, default_allocation=False)
    return training, *epoch_of(images, trial.steps_per_epoch * trial.batch_size, trial.seed)


def measure_epochs(
    loops: Loops,
    device: str,
    *,
    rounds: int = ROUNDS,
    leftover: Leftover | None = None,
    outside: Callable[[], Stopwatch] = Stopwatch,
    clock: Callable[[], float] = time.perf_counter,
    others: Callable[[], float | None] = taken_by_others_s,
) -> Values:
    """Return the epochs of both loops and what the other clocks say of the instrument's.

    Values, in seconds: `epoch_s` of the instrument, the first of each turn left out, and of the same epochs
    `outside_s` by the stopwatch and `device_s` by the device's timer; of each round `ours_s` and `bare_s`, the
    quickest epoch of each turn, since whatever else runs on the machine only adds time, and `leftover_s`, for how
    long the device went on after the end of the last. `others_share` is the share of a round, 0 to 1, for which
    others had the cores that this process may run on; None where that is not known. `queued_s` is how long a call
    took that queued work, and `unwaited_s` for how long the device went on after that.

    Args:
        rounds: Turns of each loop that count.
        leftover: Asks the device; by default as `leftover_of` it.
        outside: Takes the time of the marks.
        clock: Seconds since a fixed moment, as `bare` reads it.
        others: Returns the seconds for which others had the cores until now; None where that is not known.
    """
    leftover = leftover or leftover_of(device)
    epoch_s: list[float] = []
    ours_s: list[float] = []
    bare_s: list[float] = []
    leftover_s: list[float] = []
    shares: list[float] = []
    with outside() as stopwatch:
        _mark(loops, stopwatch.mark)
        for number in range(1 + rounds):  # the first one traces and compiles
            # Whoever comes second may find the machine otherwise than the first: so they change places.
            # Both have rested before: a busy core's scheduler favours whoever has slept.
            before_s, others_s = clock(), others()
            beside_s = _bare_turn(loops, leftover) if number % 2 else ()
            turn_s, left_s = _turn(loops.training, leftover)
            beside_s = beside_s or _bare_turn(loops, leftover)
            epoch_s += turn_s
            if number:
                ours_s.append(min(turn_s[1:]))
                bare_s.append(min(beside_s[1:]))
                leftover_s.append(left_s)
                if others_s is not None:
                    shares.append((others() - others_s) / (clock() - before_s))
    timed = [index for index in range(EPOCHS, len(epoch_s)) if index % EPOCHS]

    def kept(seconds: Sequence[float] | None) -> tuple[float, ...] | None:
        complete = seconds is not None and len(seconds) == len(epoch_s)
        return tuple(seconds[index] for index in timed) if complete else None

    queued_s, unwaited_s = _unwaited(loops.queue, leftover, clock)
    return {
        "epoch_s": kept(epoch_s),
        "outside_s": kept(stopwatch.spans_s),
        "device_s": kept(loops.device_s() if loops.device_s else None),
        "ours_s": tuple(ours_s),
        "bare_s": tuple(bare_s),
        "leftover_s": tuple(leftover_s),
        "others_share": tuple(shares) or None,
        "queued_s": queued_s,
        "unwaited_s": unwaited_s,
        "device": device,
    }


def _mark(loops: Loops, mark: Callable[[], None]) -> None:
    """Let a training mark both ends of its epochs: between the wait for the device and the reading of the clock."""
    wait = getattr(loops.training, loops.synchronize)

    def synchronize() -> None:
        loops.before()
        wait()
        mark()

    setattr(loops.training, loops.synchronize, synchronize)


def _turn(training: Training, leftover: Leftover) -> tuple[Sequence[float], float]:
    """Return the epochs of a turn of the instrument, and for how long the device went on after the last one."""
    left_s = 0.0

    def another(epoch_s: Sequence[float]) -> bool:
        nonlocal left_s
        if len(epoch_s) < EPOCHS:
            return True
        left_s = leftover()
        return False

    return training.train(another), left_s


def _bare_turn(loops: Loops, leftover: Leftover) -> Sequence[float]:
    """Return the epochs of a turn of the bare loop, which rests after it as the instrument does."""
    seconds = loops.bare(EPOCHS)
    leftover()
    return seconds


def _unwaited(
    queue: Callable[[], object], leftover: Leftover, clock: Callable[[], float]
) -> tuple[float, float]:
    """Return how long it took to ask for work without waiting for it, and how long the device went on after that."""
    queue()  # compiles it
    leftover()
    before_s = clock()
    result = queue()  # held until the device is done
    queued_s = clock() - before_s
    left_s = leftover()
    del result
    return queued_s, left_s
