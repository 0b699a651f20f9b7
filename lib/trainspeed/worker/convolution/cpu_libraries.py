"""The convolution in SciPy and OpenCV, on one CPU core and in the host's memory."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from scipy import ndimage, signal

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.reference import padded, padding

Convolve = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # (images, filters) or (plane, kernel) -> the result


class CpuConvolution:
    """A `calls.Convolution` with nothing to send, to fetch or to wait for."""

    transfers = False

    def __init__(self, trial: Conv2dTrial) -> None:
        self._convolve = CONVOLUTIONS[trial.library]

    def open(self) -> None:
        cv2.setNumThreads(1)  # a CPU device is one core

    def send(self, images: np.ndarray, filters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return images, filters

    def compute(self, sent: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return self._convolve(*sent)

    def wait(self, value: object) -> None:
        pass

    def fetch(self, computed: np.ndarray) -> list[np.ndarray]:
        return [computed]

    def placement(self, sent: object, computed: np.ndarray) -> str:
        return "cpu"


def _by_plane(convolve_plane: Convolve) -> Convolve:
    """Return a loop over images, channels and filters, as in article 004 for one of each."""

    def convolve(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
        channels, count = filters.shape[2:]
        if channels == count == 1:  # the article's list, without a copy of each plane
            planes = [convolve_plane(image[:, :, 0], filters[:, :, 0, 0]) for image in images]
            return np.stack(planes)[..., np.newaxis]
        result = np.zeros((*images.shape[:3], count), np.float32)
        for image, out in zip(images, result, strict=True):
            planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
            for channel in range(channels):
                for index in range(count):
                    out[:, :, index] += convolve_plane(planes[channel], filters[:, :, channel, index])
        return result

    return convolve


def _signal_plane(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """SciPy flips the kernel and centres an even one elsewhere: so it is flipped back, and the plane padded."""
    flipped = kernel[::-1, ::-1]
    if kernel.shape[0] % 2:
        return signal.convolve2d(plane, flipped, "same")
    return signal.convolve2d(np.pad(plane, padding(kernel.shape[0])), flipped, "valid")


def _ndimage_plane(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    origin = 0 if kernel.shape[0] % 2 else -1
    return ndimage.correlate(plane, kernel, mode="constant", origin=origin)


def _opencv_plane(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    anchor = padding(kernel.shape[0])[0]
    return cv2.filter2D(plane, -1, kernel, anchor=(anchor, anchor), borderType=cv2.BORDER_CONSTANT)


def _opencv(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    return _by_plane(_opencv_plane)(images, np.ascontiguousarray(filters))


def _batched(convolve_all: Callable) -> Convolve:
    """Return an FFT convolution of all images at once, channel by channel."""

    def convolve(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
        size, _, channels, count = filters.shape
        framed = padded(images, size)
        result = np.zeros((*images.shape[:3], count), np.float32)
        for channel in range(channels):
            for index in range(count):
                kernel = filters[::-1, ::-1, channel, index][np.newaxis]
                result[..., index] += convolve_all(framed[..., channel], kernel, mode="valid", axes=(1, 2))
        return result

    return convolve


CONVOLUTIONS: dict[str, Convolve] = {
    "scipy_signal": _by_plane(_signal_plane),
    "scipy_ndimage": _by_plane(_ndimage_plane),
    "scipy_fft": _batched(signal.fftconvolve),
    "scipy_oaconvolve": _batched(signal.oaconvolve),
    "opencv": _opencv,
}
