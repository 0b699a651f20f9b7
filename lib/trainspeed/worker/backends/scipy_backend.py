"""SciPy and OpenCV in the notebooks' own Python: they convolve, and train nothing."""

from __future__ import annotations

import cv2
import scipy

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.backends.base import Backend
from trainspeed.worker.convolution.cpu_libraries import CpuConvolution


class ScipyBackend(Backend):
    """SciPy and OpenCV, imported; both compute on one CPU core."""

    def versions(self) -> dict[str, str]:
        return {"scipy": scipy.__version__, "opencv": cv2.__version__}

    def convolution(self, trial: Conv2dTrial, *, device: str) -> CpuConvolution:
        return CpuConvolution(trial)


BACKEND = ScipyBackend()
