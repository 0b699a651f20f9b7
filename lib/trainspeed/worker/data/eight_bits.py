"""Images as 8 bits a colour: a quarter of float32's bytes. Knows no framework, and not who makes floats of them again.

A device divides them by `BRIGHTEST`: a model that gets 0 to 255 instead of 0 to 1 trains without an error, and badly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported

BRIGHTEST = 255
AT_ONCE = 256  # images: what is needed besides the result stays small
SLACK = 1e-3  # of a brightness, by which images that were 8 bits are off after a division in float32
# By which factor mean and standard deviation may differ: enlarging images on a device changes them a little.
TIMES = 2


def as_bytes(images: Images, *, exact: bool) -> Images:
    """Return a data set whose images are uint8, 0 to 255: rounded, as a file of images would hold them.

    Args:
        images: float32 from 0 to 1.
        exact: Whether they must not lose anything by it.
    Raises:
        Unsupported: They do: they were not made from 8 bits, or were resized since.
    """
    return replace(
        images, train_x=_rounded(images.train_x, exact=exact), test_x=_rounded(images.test_x, exact=exact)
    )


def _rounded(x: np.ndarray, *, exact: bool) -> np.ndarray:
    out = np.empty(x.shape, np.uint8)
    for start in range(0, len(x), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        bright = x[some] * np.float32(BRIGHTEST)
        whole = np.rint(bright)
        if exact and np.abs(whole - bright).max(initial=0) > SLACK:
            raise Unsupported(
                "your images would lose detail as uint8: they are no whole 255ths. Return uint8 from `data`, in the "
                "size that it is asked for"
            )
        out[some] = whole
    return out


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Mean and standard deviation of a batch of images."""

    mean: float
    sd: float

    @classmethod
    def of(cls, x: np.ndarray) -> Statistics:
        """Return those of an array of floats, or of bytes, as if they were divided already."""
        scale = BRIGHTEST if x.dtype == np.uint8 else 1
        return cls(mean=float(x.mean(dtype=np.float64)) / scale, sd=float(x.std(dtype=np.float64)) / scale)


def seen_as_bytes(dtype: str, model_input: Statistics, expected: Statistics) -> Seen:
    """Return whether images came to the device as bytes, and whether the model got floats from 0 to 1 then.

    Args:
        dtype: Of a batch as it came, such as "uint8".
        model_input: Of what the model got of it.
        expected: Of the batch itself, from 0 to 1.
    """
    pairs = (model_input.mean, expected.mean), (model_input.sd, expected.sd)
    right = all(expected / TIMES <= found <= expected * TIMES for found, expected in pairs)
    how = (
        f"a batch crossed as {dtype}; the model's input has mean {model_input.mean:.4f} and standard deviation "
        f"{model_input.sd:.4f}, the images {expected.mean:.4f} and {expected.sd:.4f}"
    )
    return (ON if dtype == "uint8" and right else OFF), how
