"""The brakes: what slows a training down where a script has it, measured by switching it on. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import Level, Lever, LeverKind, Numbers

KERAS = ("tensorflow", "jax")

LEVERS = (
    Lever(
        name="sync_every_step",
        words="the loss read in each step",
        level=Level.STEP,
        kind=LeverKind.BRAKE,
        evidence="losses that were read",
        source="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
    Lever(
        name="anomaly_mode",
        words="anomaly detection",
        frameworks=("torch",),
        level=Level.IMPORT,
        kind=LeverKind.BRAKE,
        missing=dict.fromkeys(KERAS, "it has no such mode"),
        evidence="torch.is_anomaly_enabled() after training",
        source="https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection",
    ),
    Lever(
        name="deterministic",
        words="deterministic algorithms",
        frameworks=("tensorflow", "torch"),
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        kind=LeverKind.BRAKE,
        missing={"jax": "it is a flag of XLA there, on a GPU: xla_deterministic"},
        evidence="the framework's own flag after training",
        source="https://docs.pytorch.org/docs/stable/notes/randomness.html",
    ),
    Lever(
        name="activation_hooks",
        words="a hook on every layer that reads its output's mean",
        frameworks=("torch",),
        level=Level.STEP,
        kind=LeverKind.BRAKE,
        conflicts={"compile": ("on",)},
        missing=dict.fromkeys(KERAS, "a layer of Keras has no hooks"),
        evidence="outputs that were read",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"
        "#torch.nn.Module.register_forward_hook",
    ),
)
