"""What a Keras program has for each lever, on TensorFlow and JAX; the places are those of `templates/keras.py.j2`."""

from __future__ import annotations

from trainspeed.snippets.lever_lines import Pasted

THREADS = """\
tf.config.threading.set_intra_op_parallelism_threads(0)  # one for each core
tf.config.threading.set_inter_op_parallelism_threads(0)"""
STEPS_OF_EPOCH = "steps_of_epoch"  # a name that the template gives a value
READ_LOSS = (
    'read_loss = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: print(logs["loss"]))'
)

KERAS: Pasted = {
    "python_gc": lambda _: {
        "import": "import gc",
        "flags": "gc.disable()  # where memory grows: gc.collect() at the end of each epoch",
    },
    "steps_per_call": lambda value: {
        "compile": f"steps_per_execution={STEPS_OF_EPOCH if value == 'epoch' else value}"
    },
    "progress_bar": lambda _: {"fit": "verbose=1"},
    "sync_every_step": lambda _: {"flags": READ_LOSS, "fit": "callbacks=[read_loss]"},
    "pure_bf16": lambda _: {"flags": 'keras.config.set_dtype_policy("bfloat16")'},
}
TENSORFLOW: Pasted = {
    **KERAS,
    "threads": lambda _: {"flags": THREADS},
    "run_eagerly": lambda _: {"compile": "run_eagerly=True"},
    "deterministic": lambda _: {
        "flags": "keras.utils.set_random_seed(0)\ntf.config.experimental.enable_op_determinism()"
    },
}
JAX: Pasted = {
    **KERAS,
    "threads": lambda _: {
        "flags": "# XLA takes the cores that the process may run on. Start it without taskset: python train.py"
    },
    "async_dispatch": lambda _: {"flags": 'jax.config.update("jax_cpu_enable_async_dispatch", False)'},
    "donation": lambda _: {
        "flags": "from keras.src.backend.jax import trainer\n"
        "trainer.jit = lambda step, **options: jax.jit(step)"
    },
}
