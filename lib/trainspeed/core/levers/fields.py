"""The levers that are fields of a trial: its factors that can be switched. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import Level, Lever, Numbers

LEVERS = (
    Lever(
        name="layout",
        words="layout",
        values=(),
        of_field=True,
        default="channels_first in PyTorch, channels_last in TensorFlow and JAX",
        evidence="strides of the convolutions' outputs, compiled HLO, or Inductor's graph",
    ),
    Lever(
        name="precision",
        words="precision",
        values=(),
        of_field=True,
        numbers=Numbers.ROUNDING,
        default="the framework's flags left alone",
        evidence="dtypes of the convolutions' outputs",
    ),
    Lever(
        name="compile",
        words="compiled",
        values=(),
        of_field=True,
        numbers=Numbers.ROUNDING,
        frameworks=("tensorflow", "torch"),
        default="off; Keras's own default, jit_compile='auto', is off on a CPU, and on on a single GPU",
        missing={"jax": "JAX always compiles"},
        evidence="that the model was compiled; of torch.compile its graphs and their breaks",
        source="keras/src/trainers/trainer.py, _resolve_auto_jit_compile",
    ),
    Lever(
        name="pipeline",
        words="input pipeline",
        values=(),
        of_field=True,
        numbers=Numbers.ROUNDING,
        level=Level.LOOP,
        default="arrays in memory",
        valued={"in_model": "augmentation on the device"},
        evidence="who made the batches: living worker processes, threads, a data set's operations; of augmentation on "
        "the device its random numbers",
    ),
    Lever(
        name="batch_size",
        words="batch size",
        values=(),
        of_field=True,
        numbers=Numbers.MODEL,
        level=Level.LOOP,
        default="the notebook's own, batch_size",
        evidence="the batch that the loop was given",
    ),
    Lever(
        name="devices",
        words="devices",
        values=(),
        of_field=True,
        default="1",
        evidence="the replicas that the model was spread over",
    ),
    Lever(
        name="strategy",
        words="strategy",
        values=(),
        of_field=True,
        default="single",
        # Each replica's BatchNorm normalises over its own share of a batch. XLA's compiled step, which a search has as
        # data_parallel, normalises over the whole batch.
        numbers_of={"ddp": Numbers.ROUNDING, "mirrored": Numbers.ROUNDING},
        evidence="what spreads the model",
    ),
)
