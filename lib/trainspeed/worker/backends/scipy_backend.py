"""SciPy and OpenCV in the notebooks' own Python: they convolve, and train nothing."""

from __future__ import annotations

import cv2
import scipy

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.backends.base import says_out_of_memory
from trainspeed.worker.convolution.cpu_libraries import CpuConvolution


class ScipyBackend:
    """SciPy and OpenCV, imported."""

    def versions(self) -> dict[str, str]:
        """Versions of both."""
        return {"scipy": scipy.__version__, "opencv": cv2.__version__}

    def prepare(self, trial: Conv2dTrial) -> None:
        """Everything that a trial needs is imported."""

    def convolution(self, trial: Conv2dTrial, *, device: str) -> CpuConvolution:
        """Return the convolution of a trial, on one CPU core."""
        return CpuConvolution(trial)

    def is_out_of_memory(self, problem: BaseException) -> bool:
        """Whether this exception means that memory ran out."""
        return isinstance(problem, MemoryError) or says_out_of_memory(str(problem))


BACKEND = ScipyBackend()
