"""What the harness adds to a convolution's call, in torch: its calls and a bare loop's, one after the other.

Prints {"small": [[bare_s, ours_s], ...], "large": [...]} as JSON: small is all overhead, large takes about 10 ms.
"""

import json
import os
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import torch

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.calls import repeat, round_trip
from trainspeed.worker.convolution.reference import random_data
from trainspeed.worker.convolution.torch_convolution import TorchConvolution

PAIRS = {"small": 2000, "large": 400}
SIZES = {
    "small": {"images": 1, "height": 8, "width": 8},
    "large": {"images": 160, "height": 100, "width": 100},
}
WARM = 20


def bare_s(images, filters) -> float:
    """What a user would write, timed."""
    started = time.perf_counter()
    with torch.inference_mode():
        x = torch.from_numpy(images).permute(0, 3, 1, 2)
        y = torch.nn.functional.conv2d(x, torch.from_numpy(filters).permute(3, 2, 0, 1), padding=1)
    y.permute(0, 2, 3, 1).numpy()
    return time.perf_counter() - started


def ours_s(convolution, images, filters) -> float:
    """A call by the harness, as it times it."""
    return repeat(lambda: round_trip(convolution, images, filters), 1, time.perf_counter)[0]


found = {}
for name, size in SIZES.items():
    trial = Conv2dTrial(library="torch", mode="eager", **size)
    data = random_data(trial)
    convolution = TorchConvolution(trial, "cpu")
    convolution.open()
    for _ in range(WARM):
        bare_s(*data), ours_s(convolution, *data)
    found[name] = [(bare_s(*data), ours_s(convolution, *data)) for _ in range(PAIRS[name])]
print(json.dumps(found))
