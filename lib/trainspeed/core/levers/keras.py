"""The levers of Keras's own training loop. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import ON, Level, Lever, LeverKind, Numbers

KERAS = ("tensorflow", "jax")

LEVERS = (
    Lever(
        name="steps_per_call",
        words="steps per call",
        frameworks=KERAS,
        values=("epoch", "8"),
        # On JAX the loop is one in Python around the jitted step: what it saves is Keras's work between two calls.
        # Source: keras/src/backend/jax/trainer.py, _make_function (3.15)
        valued={"epoch": "all steps of an epoch in one call", "8": "8 steps per call"},
        default="1",
        level=Level.LOOP,
        # On two devices of a CPU TensorFlow ended the loop over a distributed data set with an InvalidArgumentError.
        conflicts={"strategy": ("mirrored",)},
        missing={"torch": "a loop in Python is all that PyTorch has; CUDA graphs are a compile_mode"},
        evidence="the loop around the step, and the steps that the optimizer counted",
        source="https://keras.io/api/models/model_training_apis/",
    ),
    Lever(
        name="progress_bar",
        words="progress bar",
        frameworks=KERAS,
        kind=LeverKind.BRAKE,
        level=Level.LOOP,
        default="off; Keras's own default is on",
        missing={"torch": "PyTorch has no training loop that draws one"},
        evidence="how often the bar was drawn",
        source="keras/src/utils/progbar.py",
    ),
    Lever(
        name="run_eagerly",
        words="run eagerly",
        frameworks=("tensorflow",),
        kind=LeverKind.BRAKE,
        numbers=Numbers.ROUNDING,
        conflicts={"compile": (ON,)},
        missing={
            "torch": "PyTorch is eager unless it is compiled: the lever is compile",
            "jax": "JAX compiles: without it, each operation would be a program of its own",
        },
        evidence="whether the step that Keras called is a graph",
        source="https://www.tensorflow.org/api_docs/python/tf/config/run_functions_eagerly",
    ),
)
