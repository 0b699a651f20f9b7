"""What a Keras program has for each lever, on TensorFlow and JAX; the places are those of `templates/keras.py.j2`."""

from __future__ import annotations

from collections.abc import Mapping

from trainspeed.core.trial import Trial
from trainspeed.snippets.lever_lines import THRESHOLDS, Lines, Pasted, in_template, same_lines

THREADS = {"all": (0, "  # one for each core"), "one": (1, ""), "as_set": (0, "  # as TF_NUM_…_THREADS say")}
THREADS |= {"half": ("max(1, len(os.sched_getaffinity(0)) // 2)", "")}
TF_THREADS = """\
tf.config.threading.set_intra_op_parallelism_threads({0}){1}
tf.config.threading.set_inter_op_parallelism_threads({0})"""
OF_XLA = "# XLA takes the cores that the process may run on"
JAX_THREADS: Mapping[str, Lines] = {
    "all": {"shell": f"{OF_XLA}: start it without taskset.", "unset": "NPROC"},
    "half": {"shell": f"{OF_XLA}.", "prefix": "taskset -c 0-$(($(nproc) / 2 - 1))"},
    "one": {"shell": f"{OF_XLA}.", "prefix": "taskset -c 0"},
    "as_set": {"flags": "# XLA takes as many threads as NPROC says."},
}
READ_LOSS = (
    'read_loss = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: print(logs["loss"]))'
)
UNDONATED = """\
model.train_function = model._make_function(jax.jit(model.train_step))
model.make_train_function = lambda force=False: None  # it is there already"""

SCAN = """\


def scanned(state, batches):
    state, logs = jax.lax.scan(lambda state, batch: model.train_step(state, batch)[::-1], state, batches)
    return jax.tree.map(lambda each: each[-1], logs), state


program = jax.jit(scanned, donate_argnums=0)


def several_steps(state, iterator):
    # The last call of an epoch may have fewer batches.
    batches = [next(iterator), *itertools.islice(iterator, model.steps_per_execution - 1)]
    return program(state, jax.tree.map(lambda *each: jax.numpy.stack(each), *batches))


model.train_function = several_steps
model.make_train_function = lambda force=False: None  # it is there already"""


def _scan_steps(value: str, trial: Trial) -> Lines:
    return {**_steps_per_call(value, trial), "modules": "itertools", "before fit": SCAN}


def _steps_per_call(value: str, trial: Trial) -> Lines:
    steps = f"len(images) // {trial.batch_size}" if value == "epoch" else value
    return {"compile": f"steps_per_execution={steps}"}


def _order(_value: str, trial: Trial) -> Lines:
    if trial.pipeline != "tf_data":
        return {
            "before fit": "# Keras's PyDataset keeps the order; tf.data need not: see its Options.deterministic."
        }
    return _options("deterministic = False")


def _options(text: str) -> Lines:
    return {"dataset": f"options = tf.data.Options()\noptions.{text}\ndata = data.with_options(options)"}


KERAS: Pasted = {
    "malloc_thresholds": THRESHOLDS,
    "python_gc": same_lines(
        modules="gc", flags="gc.disable()  # where memory grows: gc.collect() at the end of each epoch"
    ),
    "pure_bf16": same_lines(flags='keras.config.set_dtype_policy("bfloat16")'),
    "steps_per_call": _steps_per_call,
    "progress_bar": in_template,
    "sync_every_step": same_lines(before_fit=READ_LOSS, fit="callbacks=[read_loss]"),
    "resident": in_template,
    "uint8": same_lines(data='images = (255 * images).round().astype("uint8")  # yours are in [0, 1]'),
}
TENSORFLOW: Pasted = {
    **KERAS,
    "threads": lambda value, _: {"flags": TF_THREADS.format(*THREADS[value])},
    "run_eagerly": same_lines(compile="run_eagerly=True"),
    "deterministic": same_lines(
        flags="keras.utils.set_random_seed(0)\ntf.config.experimental.enable_op_determinism()"
    ),
    "device_prefetch": in_template,
    "data_autotuning": same_lines(
        before_fit="# On for what fit makes of arrays; off in Trainspeed: Options.autotune.enabled of a tf.data set."
    ),
    "loader_order": _order,
    "private_threads": lambda *_: _options(
        "threading.private_threadpool_size = len(os.sched_getaffinity(0))"
    ),
}
JAX: Pasted = {
    **KERAS,
    "threads": lambda value, _: JAX_THREADS[value],
    "async_dispatch": same_lines(flags='jax.config.update("jax_cpu_enable_async_dispatch", False)'),
    "donation": same_lines(before_fit=UNDONATED),
    "scan_steps": _scan_steps,
}
