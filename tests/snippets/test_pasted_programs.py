"""The code to paste, run as it is: it trains."""

import pytest

from program_text import trial_of
from trainspeed.core.run import Status
from trainspeed.snippets.code import program_of

TORCH = """
import torch
from torch import nn
torch.manual_seed(0)
labels = torch.arange(60) % 3
images = 10 * torch.eye(3)[labels][:, :, None, None].expand(60, 3, 8, 8) + torch.rand(60, 3, 8, 8)
def make_model():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
"""
TORCH_END = """
with torch.no_grad():
    logits = model(images.to(device)).float().cpu()
right = torch.softmax(logits, 1)[torch.arange(60), labels].mean()
import os

os.write(1, f"RIGHT {right.item()}\\n".encode())  # in one piece: ranks share the terminal
"""
GRAPHS = """
graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
os.write(1, f"GRAPHS {graphs}\\n".encode())
"""
KERAS = """
import os
import numpy as np
labels = np.arange(240) % 3
images = (10 * np.eye(3)[labels][:, None, None, :] + np.random.rand(240, 8, 8, 3)).astype("float32")
def make_model():
    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential([
        keras.Input((8, 8, 3)), layers.Conv2D(8, 3, activation="relu"), layers.GlobalAveragePooling2D(),
        layers.Dense(3, dtype="float32"),
    ])
"""
KERAS_END = """
logits = model.predict(images[:48], batch_size=16, verbose=0)
right = keras.ops.convert_to_numpy(keras.ops.softmax(logits))[np.arange(48), labels[:48]].mean()
print("RIGHT", float(right))
print("STEPS", int(keras.ops.convert_to_numpy(model.optimizer.iterations)))
"""
RUN = {
    "torch": {
        "model": "wrn28_1",
        "precision": "bf16",
        "levers": (("optimizer", "fused"), ("python_gc", "off")),
    },
    "torch on two devices": {"strategy": "ddp", "pipeline": "threads", "augment": True, "compile": True},
    "torch by processes": {
        "layout": "channels_first",
        "pipeline": "processes",
        "augment": True,
        "levers": (
            ("loader_order", "free"),
            ("loader_persistent", "off"),
            ("resident", "off"),
            ("transfer", "pinned_in_loop"),
        ),
    },
    "tensorflow": {"precision": "bf16", "compile": True, "levers": (("steps_per_call", "epoch"),)},
    "tensorflow on two devices": {
        "strategy": "mirrored",
        "pipeline": "tf_data",
        "augment": True,
        "levers": (("private_threads", "on"), ("onednn", "off"), ("progress_bar", "on")),
    },
    "tensorflow by threads": {"model": "wrn28_1", "pipeline": "threads", "augment": True},
    "jax": {"compile": True, "levers": (("scan_steps", "8"),)},  # of which 15 steps are no multiple
    "jax on two devices": {"strategy": "data_parallel", "compile": True},
    "jax in the model": {
        "pipeline": "in_model",
        "augment": True,
        "compile": True,
        "levers": (("donation", "off"), ("sync_every_step", "on")),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_program_trains_as_it_is_pasted(name, shared_worker, tmp_path):
    """Only the number of epochs is changed, and what torch.compile makes of its graphs; three classes are colours."""
    framework, fields = name.split()[0], RUN[name]
    worker = shared_worker(framework)
    program = program_of(trial_of(framework, **fields))
    program = program.replace("range(100)", "range(12)").replace("epochs=100", "epochs=8")
    program = program.replace("torch.compile(model", 'torch.compile(model, backend="eager"')
    before, after = (TORCH, TORCH_END) if framework == "torch" else (KERAS, KERAS_END)
    ddp = fields.get("strategy") == "ddp"
    after += GRAPHS if (compiled := framework == "torch" and fields.get("compile")) else ""
    if ddp:  # as each rank sees it, before the others are let go
        program = program.replace("torch.distributed.destroy", f"{after}\ntorch.distributed.destroy")
    (tmp_path / "train.py").write_text(before + program + ("" if ddp else after))
    train, said = tmp_path / "train.py", tmp_path / "printed"
    if ddp:  # as its first comment says
        loopback = {"GLOO_SOCKET_IFNAME": "lo"}
        command = ["--nproc-per-node", 2, train]
        outcome = worker.probe("probes.forked_torchrun", said, *command, environment=loopback)
    else:
        outcome = worker.probe("probes.pasted_program", train, said)
    printed = "\n".join((tmp_path / f"printed.{stream}").read_text() for stream in ("out", "err"))
    assert outcome.status == Status.OK, printed[-3000:]
    accuracies = [float(line.split()[1]) for line in printed.splitlines() if line.startswith("RIGHT")]
    assert len(accuracies) == (2 if ddp else 1)
    graphs = [int(line.split()[1]) for line in printed.splitlines() if line.startswith("GRAPHS")]
    assert len(graphs) == (len(accuracies) if compiled else 0) and all(graphs), "nothing was compiled"
    assert min(accuracies) > 0.6, "guessing gives a third"
    steps = [int(line.split()[1]) for line in printed.splitlines() if line.startswith("STEPS")]
    assert steps == ([] if framework == "torch" else [8 * 15]), "each epoch is of all images"
    assert "deprecat" not in printed.lower(), printed
