"""A user's model in torch that leaves a process behind, in a session of its own and deaf to SIGTERM."""

import subprocess
import sys

from torch import nn

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"


def convolution(input_shape, classes, layout):
    subprocess.Popen([sys.executable, "-c", DEAF], start_new_session=True)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, classes)
    )
