"""On a real GPU 32 bits are what a run says: strict fp32 keeps all digits, and TF32 rounds to 10 bits of them."""

from __future__ import annotations

import os
import re

import pytest

from gpu_environment import told_by
from trainspeed.conduct.machine import devices
from trainspeed.core.probe import Probe
from trainspeed.core.run import Status
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


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_kernels_that_multiply_are_known_by_name_and_strict_ones_are_not_of_tf32(
    shared_worker, framework
):
    probe = Probe(framework=framework, name="arithmetic")
    outcome = shared_worker(framework).run(probe, device="gpu", gpu_uuids=devices()[1][:1])
    assert outcome.status is Status.OK, outcome.reason
    values = outcome.result.probe
    names = {name: value for name, value in values.items() if "_kernels_" in name}

    assert values["kernels_unknown"] is None, values
    assert all(value for name, value in names.items() if values["tf32_possible"] or "tf32" not in name), names
    assert not re.search(
        "tf32|tensorop", f"{names['product_kernels_fp32']} {names['convolution_kernels_fp32']}"
    )
