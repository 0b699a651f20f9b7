"""The switches for TF32 of the real frameworks, without a GPU: what is allowed by default is theirs to say."""

import json

import pytest

from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS

pytestmark = pytest.mark.slow
# Setting of JAX -> precision of a convolution and of a product in a program for GPUs, and where that allows TF32.
IN_PROGRAMS = {
    "True": ["DEFAULT", "DEFAULT", ["convolutions", "matrix products"]],
    "False": ["HIGHEST", "HIGHEST", []],
    "tensorfloat32": ["HIGH", "HIGH", ["convolutions", "matrix products"]],
    "F32_F32_F32": ["DEFAULT", "f32", ["convolutions"]],
    "TF32_TF32_F32": ["DEFAULT", "tf32", ["convolutions", "matrix products"]],
}
KERNELS = [["sine", 1002, 4], ["sgemm", 1009, 5]]
CONVOLUTIONS, BOTH = ["convolutions"], ["convolutions", "matrix products"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_left_alone_allows_tf32_and_can_be_told_otherwise(framework, shared_worker, tmp_path):
    """A plain script has this; were it strict there, what is gained over it would be too much.

    And it reads the kernels of a GPU's profile as we do, and writes profiles where we look for them.
    """
    out = tmp_path / "allowed.json"
    outcome = shared_worker(framework).probe("probes.tf32_probe", framework, out)

    assert outcome.status == Status.OK, outcome.reason
    told = json.loads(out.read_text())
    assert told["allowed"] == {
        "left alone": CONVOLUTIONS if framework == "torch" else BOTH,
        "strict": [],
        "allowed": BOTH,
    }
    assert told["programs"] == (IN_PROGRAMS if framework == "jax" else {})
    assert told["kernels"] == (None if framework == "torch" else [KERNELS, []])
