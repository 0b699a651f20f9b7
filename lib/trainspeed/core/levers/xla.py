"""The levers of XLA and of JAX, which hands it its programs: flags, dispatch, memory. Knows no framework.

Flags and defaults are those of jaxlib 0.10.2, as it lists them with XLA_FLAGS=--help. Left out is what its build for a
CPU takes and does nothing with, such as --xla_cpu_use_onednn, and --xla_gpu_triton_gemm_any, which is on already.
"""

from __future__ import annotations

from trainspeed.core.levers.lever import ALL_DEVICES, OFF, ON, Level, Lever, LeverKind, Numbers

OF_JAX = {
    "torch": "PyTorch does not use XLA",
    "tensorflow": "XLA compiles a part of TensorFlow's programs only: its flags are tried with JAX",
}
OWN_LOOP = {
    "torch": "PyTorch's steps change the weights in place",
    "tensorflow": "TensorFlow's steps change the weights in place",
}
FLAGS = "https://docs.jax.dev/en/latest/xla_flags.html"


def _flag(
    name: str, flag: str, words: str, default: str, *, on: bool, value: str = ON, **fields: object
) -> Lever:
    """Return a lever that is a flag of XLA.

    Args:
        flag: With its value, as in XLA_FLAGS.
        on: Whether it is on already, so that it is measured by switching it off.
    """
    return Lever(
        **{
            "name": name,
            "words": words,
            "frameworks": ("jax",),
            "devices": ("gpu",),
            "values": (OFF if on else value,),
            "valued": {OFF: f"without {words}"} if on else {},
            "default": default,
            "level": Level.ENVIRONMENT,
            "kind": LeverKind.ALREADY_ON if on else LeverKind.SWITCH,
            "missing": OF_JAX,
            "environment": {OFF if on else value: {"XLA_FLAGS": flag}},
            "evidence": "the options that XLA compiles with in the process that trained",
            "source": FLAGS,
            **fields,
        }
    )


LEVERS = (
    _flag(
        "xla_fast_math",
        "--xla_cpu_enable_fast_math=true",
        "XLA's fast math",
        "off",
        on=False,
        devices=("cpu",),
        numbers=Numbers.ROUNDING,
    ),
    _flag(
        "xla_vector_width",
        "--xla_cpu_prefer_vector_width=512",
        "XLA's vectors of 512 bits",
        "256 bits, on a processor that has 512, too",
        on=False,
        value="512",
        devices=("cpu",),
    ),
    _flag(
        "xla_latency_hiding",
        "--xla_gpu_enable_latency_hiding_scheduler=true",
        "XLA's latency-hiding scheduler",
        "off; it pays where devices exchange gradients",
        on=False,
        source="https://docs.jax.dev/en/latest/gpu_performance_tips.html",
    ),
    _flag(
        "xla_command_buffers",
        "--xla_gpu_enable_command_buffer=",
        "XLA's command buffers",
        "on: XLA launches its kernels as CUDA graphs",
        on=True,
    ),
    _flag(
        "xla_triton_gemm",
        "--xla_gpu_enable_triton_gemm=false",
        "XLA's Triton products",
        "on: tried beside cuBLAS",
        on=True,
        numbers=Numbers.ROUNDING,
    ),
    _flag(
        "xla_autotuning",
        "--xla_gpu_autotune_level=0",
        "XLA's autotuning",
        "on: convolutions and products are tried before the first step",
        on=True,
        numbers=Numbers.ROUNDING,
    ),
    _flag(
        "xla_deterministic",
        "--xla_gpu_exclude_nondeterministic_ops=true",
        "XLA's deterministic operations",
        "off",
        on=False,
        kind=LeverKind.BRAKE,
        numbers=Numbers.ROUNDING,
    ),
    Lever(
        name="scan_steps",
        words="several steps in one program",
        frameworks=("jax",),
        devices=("gpu",),
        # An epoch of cnn10 took 7 to 10 s there, for 0.22 (jaxlib 0.10.2); all four steps unrolled, 0.30.
        unfit={
            "cpu": "within a loop, XLA computes convolutions on a CPU without the fast kernels that it has elsewhere"
        },
        values=("epoch", "8"),
        valued={"epoch": "all steps of an epoch in one program", "8": "8 steps in one program"},
        default="1: Keras calls its jitted step from Python, and steps_per_call repeats that call there",
        level=Level.LOOP,
        # Each sets how many steps are in a call, or what is called; shards of a state are spelled out for one step.
        conflicts={"steps_per_call": (), "donation": (), "strategy": ("data_parallel",)},
        missing={
            "tensorflow": "it is steps_per_call, which is a loop in TensorFlow's graph",
            "torch": "PyTorch has CUDA graphs for it, a compile_mode: one for each step",
        },
        evidence="calls of the program of lax.scan, and the steps that the optimizer counted",
        source="https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
    ),
    Lever(
        name="async_dispatch",
        words="asynchronous dispatch",
        frameworks=("jax",),
        devices=("cpu",),
        values=(OFF,),
        valued={OFF: "without asynchronous dispatch"},
        default="on: a step returns before it is computed",
        level=Level.IMPORT,
        kind=LeverKind.ALREADY_ON,
        missing={
            "torch": "PyTorch has no such setting: on a CPU it computes as it is called",
            "tensorflow": "it is JAX's: TensorFlow's step on a CPU returns when it is computed",
        },
        evidence="whether a product was ready as its call returned",
        source="jax/_src/xla_bridge.py, jax_cpu_enable_async_dispatch",
    ),
    Lever(
        name="donation",
        words="donated weights",
        frameworks=("jax",),
        devices=ALL_DEVICES,
        values=(OFF,),
        valued={OFF: "without donated weights"},
        default="on: Keras lets a step write the new weights over the old",
        level=Level.STEP,
        kind=LeverKind.ALREADY_ON,
        conflicts={"strategy": ("data_parallel",)},
        missing=OWN_LOOP,
        evidence="whether weights from before the first step were still there after training",
        source="keras/src/backend/jax/trainer.py, make_train_function",
    ),
    Lever(
        name="preallocation",
        words="GPU memory taken at once",
        frameworks=("jax",),
        devices=("gpu",),
        valued={ON: "GPU memory taken at once, as in a script"},
        default="off in Trainspeed, so that runs fit beside each other; on in a script, and takes three quarters",
        level=Level.ENVIRONMENT,
        kind=LeverKind.OWN,
        missing={
            "torch": "PyTorch takes memory as it needs it",
            "tensorflow": "TensorFlow's own default is measured in its memory table, not as a lever",
        },
        environment={ON: {"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}},
        evidence="size of XLA's memory pool against its limit",
        source="https://docs.jax.dev/en/latest/gpu_memory_allocation.html",
    ),
)
