"""What a backend must be able to do, and the errors that become a run's status. Knows no framework."""

from __future__ import annotations

from typing import Protocol

from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.result import Inspection
from trainspeed.core.trial import Trial
from trainspeed.worker.convolution.calls import Convolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported


class Training(Protocol):
    """A model on its device with its data, ready for the first step."""

    def train(self) -> tuple[float, ...]:
        """Train and return the duration of each epoch, in seconds, first epoch first."""

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; None where nothing was trained."""

    def test_accuracy(self) -> float:
        """Share of the held-out images classified rightly, 0 to 1."""

    def peak_memory_bytes(self) -> int | None:
        """Peak by the framework's allocator on the fullest device; None on a CPU."""

    def skipped_steps(self) -> int | None:
        """Steps left out because a scaled gradient overflowed; None where the loss is not scaled."""

    def inspect(self) -> Inspection:
        """Look up what the model is and what ran, after the timed epochs."""


class Backend(Protocol):
    """A framework, imported but with no device touched yet: a worker forks after this import."""

    def versions(self) -> dict[str, str]:
        """Version of the framework and of what it brings, by name."""

    def prepare(self, trial: AnyTrial) -> None:
        """Import what only this trial needs: called in the worker, before the fork. Touches no device."""

    def start(self, trial: Trial, images: Images, *, device: str, default_allocation: bool) -> Training:
        """Build the model of a trial on its device.

        Args:
            device: "gpu" or "cpu". On "gpu" nothing trains on the CPU instead.
        Raises:
            Unsupported: The framework or the device cannot run it.
        """

    def convolution(self, trial: Conv2dTrial, *, device: str) -> Convolution:
        """Return the convolution of a trial, ready to be opened; no device is touched yet.

        Raises:
            Unsupported: As for `start`.
        """

    def is_out_of_memory(self, problem: BaseException) -> bool:
        """Whether this exception means that memory ran out."""


def check_device(framework: str, wanted: str, gpus: int) -> None:
    """Raise Unsupported where a framework sees no GPU on a machine that has one to train on."""
    if wanted == "gpu" and not gpus:
        raise Unsupported(
            f"this build of {framework} cannot reach the GPU that is here: install its CUDA build, "
            "or set TRAINSPEED_DEVICE=cpu to train everything on the CPU"
        )


# What frameworks, cuDNN and the C++ library say when memory runs out, lower case.
OUT_OF_MEMORY_TEXTS = (
    "out of memory",
    "resource_exhausted",
    "resource exhausted",
    "resourceexhausted",
    "oom when allocating",
    "can't allocate memory",
    "cannot allocate memory",
    "bad_alloc",
    "failed to allocate",
    "cudnn_status_alloc_failed",
    "unable to allocate",
)


def says_out_of_memory(text: str) -> bool:
    """Whether an error text means that memory ran out."""
    lower = text.lower()
    return any(phrase in lower for phrase in OUT_OF_MEMORY_TEXTS)
