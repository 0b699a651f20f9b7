"""The brakes: what slows a training down where a script has it, measured by switching it on. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import Kind, Level, Lever, Numbers

KERAS = ("tensorflow", "jax")

LEVERS = (
    Lever(
        name="sync_every_step",
        words="the loss read in each step",
        frameworks=KERAS,
        level=Level.STEP,
        kind=Kind.BRAKE,
        evidence="losses that were read",
        source="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
    Lever(
        name="deterministic",
        words="deterministic algorithms",
        frameworks=("tensorflow",),
        numbers=Numbers.ROUNDING,
        level=Level.IMPORT,
        kind=Kind.BRAKE,
        missing={"jax": "it is a flag of XLA there, on a GPU: xla_deterministic"},
        evidence="the framework's own flag after training",
        source="https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_op_determinism",
    ),
)
