"""On a real GPU 32 bits are what a run says: strict fp32 keeps all digits, and TF32 rounds to 10 bits of them."""

from __future__ import annotations

import os

import pytest

from gpu_environment import told_by
from trainspeed.conduct.machine import devices
from trainspeed.core.trial import FRAMEWORKS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
STRICT_ERROR, TF32_ERROR = 1e-5, 5e-5  # relative to the result's root mean square: below, above
BOTH = ["convolutions", "matrix products"]


@pytest.mark.parametrize(
    ("precision", "allowed"),
    [("fp32", []), ("tf32", BOTH), ("default", None)],
)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_error_of_products_and_convolutions_is_that_of_the_precision(framework, precision, allowed):
    """What the default one allows is the framework's to say; the digits have to agree."""
    if float(devices()[2]["gpus"][0]["compute_capability"]) < 8:
        pytest.skip("needs a GPU with TF32")

    told = told_by(framework, "probes.gpu_precision_probe", framework, precision)

    if allowed is not None:
        assert told["allowed"] == allowed
    for work, error in told["errors"].items():
        if work in told["allowed"]:
            assert error > TF32_ERROR, (work, error)
        else:
            assert error < STRICT_ERROR, (work, error)
