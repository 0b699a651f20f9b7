"""In torch's environment: what each lever does to a training, and what is seen of it. One fork for each arm.

Nothing is compiled to machine code: torch.compile captures its graphs, and runs them uncompiled.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import os
import sys
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch._inductor.compile_fx  # takes seconds: once before the forks
from torch._inductor import cudagraph_trees

from trainspeed.core import optimizers
from trainspeed.core.trial import Trial
from trainspeed.worker.backends import torch_parts
from trainspeed.worker.backends.torch_backend import BACKEND
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.levers import torch_flags, torch_levers
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.levers.torch_compile import LOSS_FUNCTION, Compiled, compiled
from trainspeed.worker.measure import pin
from trainspeed.worker.timing import in_a_row

EPOCHS = 3
SGD = {"optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.9}
FIELDS = {
    "framework": "torch",
    "model": "cnn10",
    "layout": "channels_last",
    "batch_size": 8,
    "epochs": EPOCHS,
}
FIELDS |= {"images_per_epoch": 32, "image_size": 8, "dataset": "digits"}
DDP, COMPILED, BLOCKS = (
    {"strategy": "ddp", "devices": 2},
    {"compile": True},
    {"model": "wrn28_1", "batch_size": 32},
)
IN_STEPS = ["anomaly_mode", "deterministic", "activation_hooks", "flush_denormal", "sync_every_step"]
# Arm -> fields of its trial.
ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    # What can be had at once is: each of them is looked for by itself.
    "many": {
        "levers": [*((name, "on") for name in IN_STEPS), ("optimizer", "foreach"), ("set_to_none", "off")]
    },
    "fused": {"levers": [("optimizer", "fused")]},
    "rmsprop": {"model": "cnn_keras", "image_size": 12, "levers": [("optimizer", "fused")]},
    "pure_bf16": {"levers": [("pure_bf16", "on")]},
    "bf16 math": {"levers": [("math_mode", "bf16")]},
    "with_loss": COMPILED | {"levers": [("compile_scope", "with_loss")]},
    "with_optimizer": COMPILED | {"levers": [("compile_scope", "with_optimizer")]},
    "fused in vain": COMPILED | {"levers": [("compile_scope", "with_optimizer"), ("optimizer", "fused")]},
    "graphs on a CPU": COMPILED | {"levers": [("compile_mode", "reduce-overhead")]},
    "without blocks": COMPILED | {"levers": [("compile_scope", "blocks")]},
    "uncompiled blocks": BLOCKS,
    "blocks": BLOCKS | COMPILED | {"levers": [("compile_scope", "blocks")]},
    "ddp": DDP,
    "ddp levers": DDP | {"levers": [("ddp_options", "on"), ("ddp_compression", "bf16")]},
    "ddp buckets": DDP | {"levers": [("ddp_buckets", "5"), ("ddp_batched_copy", "on")]},
    "ddp compiled": DDP | COMPILED | {"levers": [("ddp_options", "on"), ("compile_scope", "with_loss")]},
}


GPU_LEVERS = (("cudnn_benchmark", "on"), ("cudnn_benchmark_limit", "all"), ("depthwise_kernel", "native"))
GPU_LEVERS += (("compile_mode", "max-autotune"),)


def arm(fields: dict[str, Any]) -> dict[str, Any]:
    """Train it, and return what it learned and what was seen of its levers."""
    trial = Trial(**(FIELDS | fields))
    pin(trial.devices)
    capture_only()
    os.environ["TRAINSPEED_CPU_FLAGS"] = "avx512f avx512_bf16"  # a CPU without them computes it, too
    # Of a step of Adam along a gradient that is 0 but for rounding, rounding decides.
    torch_parts.recipe = lambda model: dataclasses.replace(
        optimizers.recipe(model), **({} if model == "cnn_keras" else SGD)
    )
    started = BACKEND.start(trial, images_of(trial), device="cpu", default_allocation=False)
    started.train(in_a_row(EPOCHS))
    training = started.training if trial.strategy == "ddp" else started
    weights = torch.cat([each.detach().float().flatten() for each in training.model.parameters()])
    found = {"seen": started.in_effect(), "weights": weights[::97].tolist(), "loss": started.final_loss}
    if trial.devices == 1 and not trial.compile:
        found |= facts(training)
    if not fields:
        training.inspect()  # after the accuracy, which is measured in evaluation mode
        found["profiled in training mode"] = training.forward.module.training
    return found


def compute_alone() -> int:
    """Return how many batches are made for three epochs of computing alone."""
    trial = Trial(**FIELDS, part="compute")
    training = BACKEND.start(trial, images_of(trial), device="cpu", default_allocation=False)
    made, training._first_batch = training._first_batch, mock.Mock()
    training._first_batch.side_effect = made
    training.train(in_a_row(EPOCHS))
    return training._first_batch.call_count


def facts(training: Any) -> dict[str, Any]:
    """What holds of the process and its steps, asked of torch and not of the levers."""
    x, y = training._first_batch()
    gradient = training.model[0].weight.grad if isinstance(training.model, torch.nn.Sequential) else None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        training.step(x, y)
    names = collections.Counter({event.key: event.count for event in profiler.key_averages()})
    return {
        "optimizer": sorted(name for name in names if "_fused_" in name or "_foreach_" in name),
        "reads": names["aten::item"],
        "means": names["aten::mean"],
        "same_gradient": gradient is not None and training.model[0].weight.grad is gradient,
        "nan_raises": nan_raises(),
        "new_memory_is_nan": torch.empty(64).isnan().all().item(),
        "tiny": (torch.full((), torch.finfo(torch.float32).tiny) * 0.5).item(),
        "convolutions": dict(training.inspect().effective_precision.dtypes),
        "accuracy": training.test_accuracy(),
    }


def nan_raises() -> bool:
    x = torch.full((1,), -1.0, requires_grad=True)
    try:
        (x.sqrt() * 0).backward()
    except RuntimeError:
        return True
    return False


def on_a_gpu() -> dict[str, Any]:
    """What is set and seen of what only a GPU has: torch's flags are there, its recorded graphs are made up."""
    trial = Trial(**FIELDS, levers=GPU_LEVERS, compile=True)
    levers = Levers(trial, torch_levers.HOOKS)
    before = flags()
    levers.set_flags("gpu")
    training = SimpleNamespace(
        trial=trial, device=torch.device("cuda", 0), model=torch.nn.Sequential(torch.nn.Linear(4, 4))
    )
    linear = levers.seen(training)
    training.trial = SimpleNamespace(model="nets/my.py:build")
    unknown = levers.seen(training)
    training.model.append(torch.nn.Conv2d(4, 4, 3))
    plain = levers.seen(training)
    training.model.append(torch.nn.Conv2d(4, 4, 3, groups=4))
    leaf = SimpleNamespace(children={})
    manager = SimpleNamespace(roots={0: [SimpleNamespace(children={1: [leaf]})], 2: [leaf]})
    cudagraph_trees.get_container = lambda device: SimpleNamespace(tree_manager=manager)
    torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] = 1
    text = "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n  File my.py, line 3"
    skipped = SimpleNamespace(cudagraph_skip_reason=text)
    with mock.patch.object(torch._dynamo.utils, "get_compilation_metrics", return_value=[skipped]):
        graphs = levers.seen(training)
    torch._dynamo.utils.counters["inductor"]["select_algorithm_autotune"] = 5
    return {
        "before": before,
        "after": flags(),
        "linear": linear,
        "unknown": unknown,
        "plain": plain,
        "graphs": graphs,
        "both": levers.seen(training),
    }


def copies_in_vain() -> dict[str, Any]:
    """What is seen of batched copies into DDP's buckets where DDP was not asked for them."""
    name = "ddp_batched_copy"
    idle = dataclasses.replace(torch_levers.HOOKS[name], options=None)
    with mock.patch.dict(torch_levers.HOOKS, {name: idle}):
        return arm(DDP | {"levers": [(name, "on")]})


def broken() -> dict[str, Any]:
    """What is told of a function that Dynamo breaks into graphs."""

    def talks(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("between two graphs")
        return y * 2

    torch.compile(talks, backend="eager")(torch.ones(2))
    return {"words": compiled().words}


def flags() -> list[Any]:
    cudnn = torch.backends.cudnn
    return [cudnn.benchmark, cudnn.benchmark_limit, cudnn.depthwise_kernel]


def rounded() -> dict[str, Any]:
    """What is seen of oneDNN's arithmetic where it keeps so many bits of a fraction."""
    product, convolution = torch_flags._product, torch_flags._convolution
    found = {}
    for bits in (23, 10, 7):
        kept = functools.partial(round_to, bits)
        torch_flags._product = lambda a, b, kept=kept: product(kept(a), b)
        torch_flags._convolution = lambda a, b, kept=kept: convolution(kept(a), b)
        found[bits] = torch_flags.HOOKS["math_mode"].seen("bf16", None)
    return found


def round_to(bits: int, numbers: np.ndarray) -> np.ndarray:
    return (np.round(numbers.astype(np.float64) * 2**bits) / 2**bits).astype(np.float32)


def capture_only() -> None:
    """Have torch.compile capture graphs and run them as they are: generating code takes tens of seconds."""
    compile_ = torch.compile

    def captured(function: Any = None, **options: Any) -> Any:
        if options.pop("mode", None):
            torch._inductor.config.triton.cudagraphs = True
        return compile_(function, **options, backend="aot_eager")

    torch.compile = captured


def in_a_child(do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what it returns in a fork, or the error that it ends with."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        try:
            found = do()
        except Exception as problem:
            if type(problem).__name__ != "Unsupported":
                traceback.print_exc()
            found = {"error": f"{type(problem).__name__}: {problem}"}
        with os.fdopen(write, "w") as pipe:
            json.dump(found, pipe)
        sys.stdout.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def main(out: str, *only: str) -> None:
    names = only or ARMS
    found = {name: in_a_child(functools.partial(arm, ARMS[name])) for name in names}
    if not only:
        found |= {"on a GPU": in_a_child(on_a_gpu), "rounded": in_a_child(rounded)}
        found["copies in vain"] = in_a_child(copies_in_vain)
        found["a broken graph"] = in_a_child(broken)
        found["batches of compute alone"] = in_a_child(compute_alone)
        alone = Compiled({f"torch_dynamo_resume_in_{LOSS_FUNCTION}_at_62": 1}, 0, 3, 0)
        found["the loss alone"] = {"of_model": alone.of_model, "graphs": alone.graphs}
    with open(out, "w") as file:
        json.dump(found, file)
