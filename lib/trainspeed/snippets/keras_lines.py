"""What a Keras program has for each lever, on TensorFlow and JAX; the places are those of `templates/keras.py.j2`."""

from __future__ import annotations

from trainspeed.snippets.lever_lines import Pasted

THREADS = """\
tf.config.threading.set_intra_op_parallelism_threads(0)  # one for each core
tf.config.threading.set_inter_op_parallelism_threads(0)"""

KERAS: Pasted = {
    "python_gc": lambda _: {
        "import": "import gc",
        "flags": "gc.disable()  # where memory grows: gc.collect() at the end of each epoch",
    },
}
TENSORFLOW: Pasted = {**KERAS, "threads": lambda _: {"flags": THREADS}}
JAX: Pasted = {
    **KERAS,
    "threads": lambda _: {
        "flags": "# XLA takes the cores that the process may run on. Start it without taskset: python train.py"
    },
}
