"""On a real GPU each of PyTorch's levers of compute is seen in effect, and so are its CUDA graphs."""

from __future__ import annotations

import os

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
AT_ONCE = {
    "cudnn_benchmark": "on",
    "cudnn_benchmark_limit": "all",
    "optimizer": "fused",
    "sync_every_step": "on",
}


@pytest.mark.parametrize(
    ("model", "levers", "compile"),
    [
        ("cnn10", AT_ONCE, False),
        ("cnn10", {"pure_bf16": "on", "set_to_none": "off"}, False),
        ("cnn10", {"deterministic": "on", "anomaly_mode": "on"}, False),
        ("mobilenet", {"depthwise_kernel": "native"}, False),
        ("cnn10", {"compile_mode": "reduce-overhead", "compile_scope": "with_loss"}, True),
        ("cnn10", {"compile_mode": "max-autotune"}, True),
        ("wrn28_1", {"compile_scope": "blocks"}, True),
    ],
    ids=["at_once", "pure_bf16", "brakes", "depthwise", "cuda_graphs", "max_autotune", "blocks"],
)
def test_what_is_switched_on_is_seen_in_effect(shared_worker, model, levers, compile):
    trial = Trial(
        framework="torch",
        model=model,
        layout="channels_last",
        compile=compile,
        batch_size=64,
        images_per_epoch=512,
        epochs=3,
        dataset="digits",
        levers=tuple(levers.items()),
    )
    outcome = shared_worker("torch").run(trial, device="gpu", gpu_uuids=devices()[1][:1], evaluate=True)

    if outcome.status is Status.UNSUPPORTED and "depthwise_kernel" in levers:
        pytest.skip(outcome.reason)  # PyTorch 2.11 cannot choose it yet
    assert outcome.status == Status.OK, outcome.reason
    seen = {name: outcome.result.in_effect[name] for name in levers}
    assert {name: value for name, (value, _) in seen.items()} == levers, seen
    assert outcome.result.test_accuracy is not None
