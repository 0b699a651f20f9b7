"""A run on a real GPU sees the one that it was given and no other, and on the CPU it sees none."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from study_data import tiny_trial
from trainspeed.conduct.machine import devices, find_interpreter
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.worker import backends
from trainspeed.worker.request import Request

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
SEEN = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid)"


def test_the_uuid_that_a_run_is_given_is_the_device_that_torch_computes_on():
    _, uuids, machine = devices()
    if find_interpreter("torch") is None or machine["other_gpus"] or uuids[-1].startswith("MIG-"):
        pytest.skip("needs torch and whole GPUs")

    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": uuids[-1]}
    command = [find_interpreter("torch"), "-c", SEEN]
    seen = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)

    assert seen.stdout.split() == ["1", uuids[-1].removeprefix("GPU-")]


@pytest.mark.parametrize("device", ["gpu", "cpu"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_trains_on_the_device_that_was_asked_for(framework, device):
    """On the CPU, no plugin for GPUs may be in the way."""
    python = find_interpreter(framework)
    if python is None:
        pytest.skip(f"{framework} is not installed here")
    trial = tiny_trial(framework=framework, layout="channels_last")
    uuids = devices()[1]
    worker = WorkerProcess(
        python, backends.MODULES[framework], environment={"CUDA_VISIBLE_DEVICES": ",".join(uuids)}
    )
    try:
        given = uuids[-1:] if device == "gpu" else ()
        request = Request(trial=trial, device=device, requested_at=time.monotonic(), gpu_uuids=given)
        outcome = worker.run(request, timeout_s=300)
    finally:
        worker.close()

    assert outcome.status is Status.OK, outcome.reason
