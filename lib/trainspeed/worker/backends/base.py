"""What a backend can do. Knows no framework."""

from __future__ import annotations

from typing import Protocol

from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.notes import AnyNote
from trainspeed.core.result import Inspection, LinkSum, Seen
from trainspeed.core.trial import Trial
from trainspeed.worker.convolution.calls import Convolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.gang import Gang
from trainspeed.worker.timing import Another

EVALUATION_BATCH = 128  # images, at most
SMALL_PX = 32  # in height, up to which as many fit: of larger ones, those of a training of few did not


class Training(Protocol):
    """A model on its device with its data, ready for the first step.

    Attributes:
        repeats: How often a step did its work after the first epoch; more than once where nothing is trained.
        tf32, link_sums: See `core.result.RunResult`.
        notes: What makes it doubtful as it was set up.
    """

    repeats: int = 1
    tf32: tuple[str, ...] | None = None
    link_sums: tuple[LinkSum, ...] = ()
    notes: tuple[AnyNote, ...] = ()

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; None where nothing was trained."""

    def train(self, another: Another) -> tuple[float, ...]:
        """Train, or run the phase of the trial, and return the seconds of each epoch, first epoch first.

        Args:
            another: Asked after each epoch whether another one follows; may wait before it answers.
        """

    def test_accuracy(self) -> float | None:
        """Return the share of the held-out images that are classified correctly, 0 to 1."""

    def peak_memory_bytes(self) -> int | None:
        """Return the peak of the framework's allocator on the fullest device; None on a CPU."""

    def skipped_steps(self) -> int | None:
        """Return the number of steps left out because a gradient overflowed; None if the loss is not scaled."""

    def inspect(self) -> Inspection:
        """Look up what the model is and what ran, after the timed epochs."""

    def in_effect(self) -> dict[str, Seen]:
        """Return what was seen of each lever of the trial, after the timed epochs."""
        return {}


class PassedOn(Training):
    """What another training says of itself.

    Attributes:
        training: The other one.
    """

    training: Training

    @property
    def repeats(self) -> int:
        return self.training.repeats

    @property
    def link_sums(self) -> tuple[LinkSum, ...]:
        return self.training.link_sums

    @property
    def tf32(self) -> tuple[str, ...] | None:
        return self.training.tf32

    @property
    def notes(self) -> tuple[AnyNote, ...]:
        return self.training.notes

    @property
    def final_loss(self) -> float | None:
        return self.training.final_loss

    def test_accuracy(self) -> float:
        return self.training.test_accuracy()

    def skipped_steps(self) -> int | None:
        return self.training.skipped_steps()

    def peak_memory_bytes(self) -> int | None:
        return self.training.peak_memory_bytes()

    def inspect(self) -> Inspection:
        return self.training.inspect()

    def in_effect(self) -> dict[str, Seen]:
        return self.training.in_effect()


class Backend(Protocol):
    """A framework, imported but with no device touched yet: a worker forks after this import."""

    def versions(self) -> dict[str, str]:
        """Return the versions of the framework and of the libraries it brings, by name."""

    def prepare(self, trial: AnyTrial) -> None:
        """Import what only this trial needs: called in the worker, before the fork. Touches no device."""

    def start(
        self,
        trial: Trial,
        images: Images,
        *,
        device: str,
        default_allocation: bool,
        gang: Gang | None = None,
    ) -> Training:
        """Build the model of a trial on its device.

        Args:
            device: "gpu" or "cpu", where each device is one core. On "gpu" nothing trains on the CPU instead.
            default_allocation: Leave the framework's own memory allocation as it is.
            gang: The nodes that train it together, where there are several.
        Raises:
            Unsupported: The framework or the device cannot run the trial.
        """

    def convolution(self, trial: Conv2dTrial, *, device: str) -> Convolution:
        """Return the convolution of a trial, ready to be opened: devices may be listed, but none computes yet.

        Raises:
            Unsupported: The framework or the device cannot run the trial.
        """


def evaluation_batch(trial: Trial) -> int:
    """Return how many test images are evaluated at once: of large ones, what fits into memory in training fits then.

    Many small batches take TensorFlow's eager calls twice as long as a few large ones; of small images, activations
    of a layer are megabytes.
    """
    return EVALUATION_BATCH if trial.image_size <= SMALL_PX else min(EVALUATION_BATCH, 2 * trial.batch_size)
