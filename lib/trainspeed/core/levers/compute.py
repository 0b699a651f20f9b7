"""The levers of what is computed: optimizer, compiler, arithmetic, exchange of gradients. Knows no framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainspeed.core.levers.lever import OFF, ON, Level, Lever, LeverKind, Numbers

KERAS = ("tensorflow", "jax")
COMPILED = {"compile": (ON,)}
OF_DDP = {"strategy": ("ddp",)}
# Precisions that set a dtype or a switch of their own: with them, weights in bf16 would be something else.
OTHER_PRECISIONS = {"precision": ("fp32", "tf32", "fp16", "bf16")}
# A processor computes in a precision where it has one of these flags; the last names are Arm's.
PRECISION_FLAGS = {"bf16": ("avx512_bf16", "amx_bf16", "bf16"), "fp16": ("avx512_fp16", "amx_fp16", "fphp")}
OF_BF16 = ("precision", "pure_bf16", "math_mode", "onednn_math")  # on a CPU
NO_DDP = dict.fromkeys(KERAS, "DistributedDataParallel is PyTorch's")
CUDNN_OF_XLA = "its compiler chooses cuDNN's algorithms by measuring them already"
NO_CUDNN_SWITCH = {"tensorflow": "TensorFlow measures cuDNN's algorithms already", "jax": CUDNN_OF_XLA}

LEVERS = (
    Lever(
        name="optimizer",
        words="optimizer",
        frameworks=("torch",),
        values=("fused", "foreach", "loop"),
        valued={"fused": "fused optimizer", "foreach": "foreach optimizer", "loop": "optimizer in a loop"},
        default="a loop over the weights on a CPU, foreach on a GPU; never fused",
        plain={"cpu": "loop", "gpu": "foreach"},
        missing=dict.fromkeys(KERAS, "Keras has one implementation of each optimizer"),
        evidence="the optimizer's own settings",
        source="torch/optim/optimizer.py, _default_to_fused_or_foreach",
    ),
    Lever(
        name="compile_mode",
        words="mode of torch.compile",
        frameworks=("torch",),
        values=("reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
        valued={"reduce-overhead": "CUDA graphs"},
        default="Inductor's own choice of kernels, and no CUDA graphs",
        numbers=Numbers.ROUNDING,
        needs=COMPILED,
        missing=dict.fromkeys(KERAS, "XLA has no modes"),
        evidence="CUDA graphs that were recorded, kernels that were chosen by measuring",
        source="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
    ),
    Lever(
        name="compile_scope",
        words="scope of torch.compile",
        frameworks=("torch",),
        values=("with_loss", "with_optimizer", "blocks"),
        valued={
            "with_loss": "model and loss compiled as one",
            "with_optimizer": "optimizer compiled, too",
            "blocks": "each repeated block compiled",
        },
        default="the model",
        numbers=Numbers.ROUNDING,
        needs=COMPILED,
        missing=dict.fromkeys(KERAS, "XLA compiles the whole step: model, loss and optimizer"),
        evidence="functions that torch.compile made graphs of",
        source="https://docs.pytorch.org/tutorials/recipes/regional_compilation.html",
    ),
    Lever(
        name="pure_bf16",
        words="weights and images in bf16, no autocast",
        default="off: weights in 32 bits",
        numbers=Numbers.ROUNDING,
        # MirroredStrategy exchanges all gradients in one piece, and those of the logits are in 32 bits.
        conflicts={**OTHER_PRECISIONS, "strategy": ("mirrored",)},
        evidence="dtypes of the weights and of their gradients",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.bfloat16",
    ),
    Lever(
        name="math_mode",
        words="oneDNN's arithmetic",
        frameworks=("torch",),
        devices=("cpu",),
        values=("bf16", "tf32"),
        valued={"bf16": "oneDNN may round to bf16", "tf32": "oneDNN may round to TF32"},
        default="32 bits",
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        conflicts={**OTHER_PRECISIONS, "pure_bf16": ()},
        missing={
            "tensorflow": "it is a variable of the environment there: onednn_math",
            "jax": "XLA computes 32 bits as they are on a CPU",
        },
        evidence="bits that survive a convolution and a product",
        source="https://docs.pytorch.org/docs/stable/notes/mkldnn.html",
    ),
    Lever(
        name="onednn_math",
        words="oneDNN's arithmetic, by the environment",
        frameworks=("tensorflow",),
        devices=("cpu",),
        values=("bf16",),
        valued={"bf16": "oneDNN may round to bf16"},
        default="32 bits",
        numbers=Numbers.ROUNDING,
        level=Level.ENVIRONMENT,
        conflicts={**OTHER_PRECISIONS, "pure_bf16": (), "onednn": (OFF,), **COMPILED},
        missing={
            "torch": "it is a switch of PyTorch's own there: math_mode",
            "jax": "its build has no oneDNN",
        },
        environment={"bf16": {"TF_SET_ONEDNN_FPMATH_MODE": "BF16"}},
        evidence="bits that survive a convolution and a product",
        source="https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_fpmath_mode.html",
    ),
    Lever(
        name="flush_denormal",
        words="tiny numbers flushed to 0",
        frameworks=("torch",),
        devices=("cpu",),
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        missing={"tensorflow": "TensorFlow flushes them already", "jax": "XLA flushes them already"},
        evidence="a product whose result is such a number",
        source="https://docs.pytorch.org/docs/stable/generated/torch.set_flush_denormal.html",
    ),
    Lever(
        name="ddp_options",
        words="DDP's options: bucket views, static graph, no exchange of buffers",
        frameworks=("torch",),
        needs=OF_DDP,
        missing=NO_DDP,
        evidence="DDP's own logging data, and gradients that lie in its buckets",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Lever(
        name="ddp_buckets",
        words="DDP's buckets",
        frameworks=("torch",),
        values=("5", "100"),
        valued={"5": "DDP's buckets of 5 MiB", "100": "DDP's buckets of 100 MiB"},
        default="25 MiB of gradients are exchanged at once, the first bucket 1",
        needs=OF_DDP,
        missing=NO_DDP,
        evidence="the size in DDP's own logging data, and how many buckets it reduced",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Lever(
        name="ddp_batched_copy",
        words="DDP's copies into buckets batched",
        frameworks=("torch",),
        needs=OF_DDP,
        missing=NO_DDP,
        evidence="batched copies in a profile of the first step",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
    Lever(
        name="ddp_compression",
        words="gradients exchanged in bf16",
        frameworks=("torch",),
        values=("bf16",),
        default="off: exchanged in the weights' dtype",
        numbers=Numbers.ROUNDING,
        needs=OF_DDP,
        missing=NO_DDP,
        evidence="the hook in DDP's own logging data",
        source="https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html",
    ),
    Lever(
        name="cudnn_benchmark",
        words="cuDNN's algorithms chosen by measuring",
        frameworks=("torch",),
        devices=("gpu",),
        default="off: cuDNN's rules of thumb choose",
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        conflicts={"deterministic": ()},
        missing=NO_CUDNN_SWITCH,
        evidence="torch.backends.cudnn.benchmark after training, and that the model has convolutions",
        source="https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cudnn.benchmark",
    ),
    Lever(
        name="cudnn_benchmark_limit",
        words="all of cuDNN's algorithms measured",
        frameworks=("torch",),
        devices=("gpu",),
        values=("all",),
        default="the first 10 are measured",
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        needs={"cudnn_benchmark": (ON,)},
        missing=NO_CUDNN_SWITCH,
        evidence="torch.backends.cudnn.benchmark_limit after training, and that the model has convolutions",
        source="https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cudnn.benchmark_limit",
    ),
    Lever(
        name="depthwise_kernel",
        words="kernels of depthwise convolutions",
        frameworks=("torch",),
        devices=("gpu",),
        values=("cudnn", "native"),
        default="PyTorch chooses for each shape",
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        missing=dict.fromkeys(KERAS, "it has no kernels of its own to choose from"),
        evidence="torch.backends.cudnn.depthwise_kernel, and that the model has depthwise convolutions",
        source="torch/backends/cudnn/__init__.py, depthwise_kernel",
    ),
    Lever(
        name="set_to_none",
        words="gradients dropped between steps",
        frameworks=("torch",),
        values=(OFF,),
        valued={OFF: "gradients kept and set to 0 between steps"},
        default="on",
        level=Level.STEP,
        kind=LeverKind.ALREADY_ON,
        missing=dict.fromkeys(KERAS, "its gradients are values of a step and are never kept"),
        evidence="whether a step begins with gradients that are None",
        source="https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html",
    ),
)


def no_arithmetic(precision: str) -> str:
    """Return that a processor has not the instructions of a precision, in words."""
    return (
        f"this CPU has no {precision} arithmetic (none of the flags {', '.join(PRECISION_FLAGS[precision])})"
    )


def without_arithmetic(machine: Mapping[str, Any], device: str) -> dict[str, str]:
    """Return lever -> why it is not to be had, of those that a processor without bf16 computes in 32 bits with.

    Args:
        machine: As `trainspeed.sensors.machine.detect_machine` returns it. One whose flags are not known has them all.
        device: "cpu" or "gpu".
    """
    flags = machine.get("cpu_flags")
    if device == "gpu" or not flags or {*flags} & {*PRECISION_FLAGS["bf16"]}:
        return {}
    return dict.fromkeys(OF_BF16, no_arithmetic("bf16"))
