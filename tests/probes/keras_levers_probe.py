"""In a framework's environment: train with each lever of Keras, in a fork each, and tell what was seen and learned.

Environment variables are set in the fork, as a worker of their own would have them: XLA reads its flags there.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from probes.strategy_probe import in_a_child
from trainspeed.core.levers.lever import ALL_DEVICES
from trainspeed.core.levers.registry import environment_of
from trainspeed.core.trial import Trial
from trainspeed.worker import backends
from trainspeed.worker.data import sets
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import hook
from trainspeed.worker.measure import pin
from trainspeed.worker.timing import in_a_row

SIZE, STEPS, EPOCHS = 16, 8, 3
XLA = {
    "xla_fast_math": "on",
    "xla_vector_width": "512",
    "xla_latency_hiding": "on",
    "xla_command_buffers": "off",
}
XLA |= {"xla_triton_gemm": "off", "xla_autotuning": "off", "xla_deterministic": "on"}
OF_KERAS = {"steps_per_call": "epoch", "progress_bar": "on", "sync_every_step": "on"}
# Those that a trial can have all at once.
ALL = {
    "tensorflow": OF_KERAS | {"run_eagerly": "on", "deterministic": "on"},
    "jax": OF_KERAS | {"async_dispatch": "off", "donation": "off"},
}
# Name of a case -> what is pulled, and what of the trial is changed; all are compared with the plain one.
CASES = {
    "tensorflow": {
        **{name: ({name: value}, {}) for name, value in OF_KERAS.items()},
        "a divisor": ({"steps_per_call": "8"}, {"images_per_epoch": 2 * STEPS * 8}),
        "no divisor": ({"steps_per_call": "8"}, {"images_per_epoch": (STEPS + 4) * 8}),
        "one step": ({"steps_per_call": "epoch"}, {"images_per_epoch": 8}),
        "compiled": ({"deterministic": "on"}, {"compile": True}),
    },
    "jax": {
        "scan_steps": ({"scan_steps": "epoch"}, {}),
        "scan of a divisor": ({"scan_steps": "8"}, {"images_per_epoch": 2 * STEPS * 8}),
        "divisor": ({}, {"images_per_epoch": 2 * STEPS * 8}),
        "xla": (XLA, {}),
        "unknown flag": ({"xla_fast_math": "on"}, {}),
    },
}


def case(framework: str, levers: dict, changed: dict, emptied: bool, out: Path) -> None:
    """Train, and write what was seen of the levers, and the weights before and after."""
    os.environ["TRAINSPEED_MODEL_FOLDER"] = str(Path(__file__).parent)
    os.environ["TRAINSPEED_CPU_FLAGS"] = "avx512f avx512_bf16"
    fields = {"framework": framework, "model": "own_keras.py:sequential", "layout": "channels_last"}
    fields |= {"batch_size": 8, "images_per_epoch": STEPS * 8, "epochs": EPOCHS, "dataset": "digits"}
    fields |= {"compile": framework == "jax", "image_size": SIZE, **changed}
    trial = Trial(**fields, levers=tuple(levers.items()))
    os.environ.update({} if emptied else environment_of(trial.levers))
    if out.stem == "unknown flag":
        os.environ["XLA_FLAGS"] += " --xla_of_another_version=true"
    backend = backends.load_backend(backends.MODULES[framework])
    if emptied:
        empty_hooks()
    # XLA takes its flags for a GPU here, too.
    hook.LEVERS = {name: replace(lever, devices=ALL_DEVICES) for name, lever in hook.LEVERS.items()}
    pin(1)
    told: dict = {}
    try:
        training = backend.start(
            trial, sets.load_data_set("digits", SIZE), device="cpu", default_allocation=False
        )
        before = training.model.get_weights()
        training.train(in_a_row(EPOCHS))
        told = {"in_effect": training.in_effect(), "loss": training.final_loss}
        told["accuracy"] = training.test_accuracy()
        weights = {f"before{n}": np.float32(array) for n, array in enumerate(before)}
        weights |= {f"after{n}": np.float32(array) for n, array in enumerate(training.model.get_weights())}
        np.savez(out.with_suffix(".npz"), **weights)
    except Unsupported as problem:
        told = {"unsupported": str(problem)}
    out.write_text(json.dumps(told))


def empty_hooks() -> None:
    """Take from each hook all but its look; weights are kept to look at, where a look needs them."""
    usual = hook.Levers.__init__

    def look(name, own):
        return hook.Hook(seen=own.seen, options=own.options if name == "donation" else None)

    def emptied(self, trial, hooks):
        usual(self, trial, {name: look(name, own) for name, own in hooks.items()})

    hook.Levers.__init__ = emptied


def main(framework: str, folder: str) -> None:
    out, bf16 = Path(folder), {"pure_bf16": "on"}
    cases = {"plain": ({}, {}), "all at once": (ALL[framework], {}), "pure_bf16": (bf16, {})}
    for name, (levers, changed) in (cases | CASES[framework]).items():
        in_a_child(case, framework, levers, changed, False, out / f"{name}.json")
    everything = ALL[framework] | bf16 | (XLA if framework == "jax" else {})
    in_a_child(case, framework, everything, {}, True, out / "emptied.json")
    if framework == "jax":  # it excludes others of those
        in_a_child(case, framework, {"scan_steps": "epoch"}, {}, True, out / "no scan.json")
    in_a_child(looks, framework, out / "looks.json")


def looks(framework: str, out: Path) -> None:
    """Look at what a GPU would have, and at what TensorFlow convolves with."""
    pin(1)
    if framework == "jax":
        return out.write_text(json.dumps(pools()))
    from trainspeed.worker.levers import process, tensorflow_levers

    # TensorFlow reads it at its first convolution.
    os.environ |= environment_of([("onednn_math", "bf16")])
    told = {"onednn_math": tensorflow_levers.HOOKS["onednn_math"].seen("bf16", None)}
    told["onednn_math, rounded"] = rounded(tensorflow_levers)
    os.environ["TRAINSPEED_CPU_FLAGS"] = "avx512f"
    try:
        tensorflow_levers.HOOKS["onednn_math"].flags("bf16", "cpu")
    except Unsupported as problem:
        told["onednn_math, no bf16"] = str(problem)
    told |= {"onednn": tensorflow_levers.HOOKS["onednn"].seen("off", None), "allocators": {}, "threads": {}}
    told["own allocators"] = sorted(tensorflow_levers.allocators())
    for name in ("GPU_0_bfc", "gpu_async_0"):
        tensorflow_levers.allocators = lambda name=name: {"gpu_host_bfc", name}
        told["allocators"][name] = tensorflow_levers.HOOKS["cuda_malloc_async"].seen("on", None)
    for name in ("tf_Compute", "tf_gpu_private_"):  # as the kernel cuts them off
        own = [process.Thread(name=each, cores=frozenset()) for each in ("python", name)]
        tensorflow_levers.process.threads = lambda own=own: own
        told["threads"][name] = tensorflow_levers.HOOKS["gpu_threads"].seen("on", None)
    return out.write_text(json.dumps(told))


def rounded(levers) -> dict:
    """Return what is seen of oneDNN's arithmetic where its convolution keeps so many bits, and its product all."""
    convolution, found = levers._convolution, {}
    for bits in (23, 7):
        kept = partial(round_to, bits)
        levers._convolution = lambda images, filters, kept=kept: kept(images)
        found[bits] = levers.HOOKS["onednn_math"].seen("bf16", None)[0]
    levers._convolution = convolution
    return found


def round_to(bits: int, numbers: np.ndarray) -> np.ndarray:
    return (np.round(numbers.astype(np.float64) * 2**bits) / 2**bits).astype(np.float32)


def pools() -> dict:
    """Return what is seen of the pools of a GPU that has 100 bytes."""
    from trainspeed.worker.levers import jax_levers

    class Gpu:
        def __init__(self, **stats: int) -> None:
            self.memory_stats = lambda: stats or None

    gpus = {
        "taken": Gpu(pool_bytes=100, bytes_limit=100),
        "grown": Gpu(pool_bytes=9, bytes_limit=100),
        "mute": Gpu(),
    }
    told = {}
    for name, gpu in gpus.items():
        jax_levers.jax.devices = lambda gpu=gpu: [gpu]
        told[name] = jax_levers.HOOKS["preallocation"].seen("on", None)
    return told


def tell_onednn() -> None:
    """Print what TensorFlow convolves with, in a process of its own: it reads its variable as it is imported."""
    backends.load_backend(backends.MODULES["tensorflow"])
    from trainspeed.worker.levers import tensorflow_levers

    print(json.dumps(tensorflow_levers.HOOKS["onednn"].seen("off", None)))


if __name__ == "__main__":
    tell_onednn()
