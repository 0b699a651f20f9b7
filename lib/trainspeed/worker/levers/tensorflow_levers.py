"""What each lever does in Keras on TensorFlow, where it is not what it does on JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.config import is_op_determinism_enabled

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.core.trial import Trial
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import keras_levers, process
from trainspeed.worker.levers.hook import Hook, Options
from trainspeed.worker.levers.keras_levers import NOT_TRAINED, inner, steps_per_call, steps_seen
from trainspeed.worker.precision import check_precision
from trainspeed.worker.rounding import mode_seen

WHILE = ("While", "StatelessWhile")
OF_ONEDNN = "_Mkl"  # how the names of its operations begin
PRIVATE_THREADS = "gpu_private"
ASYNC_ALLOCATOR = "gpu_async"


def _steps_seen(value: str, training: Any) -> Seen:
    """Look for the loop in the graph that Keras calls."""
    if training.history is None:
        return NOT_TRAINED
    called = inner(training.model.train_function, "multi_step_on_iterator")
    if not isinstance(called, tf.types.experimental.PolymorphicFunction):
        return steps_seen(value, training, "a loop in Python", training.model.steps_per_execution)
    for traced in called._list_all_concrete_functions():
        graph = traced.graph.as_graph_def()
        conditions = [node.attr["cond"].func.name for node in graph.node if node.op in WHILE]
        bounds = [
            _bound(function) for function in graph.library.function if function.signature.name in conditions
        ]
        if len(bounds) == 1:
            return steps_seen(value, training, "a while loop in TensorFlow's graph", bounds[0])
    return steps_seen(value, training, None, None)


def _bound(condition: Any) -> int | None:
    """Return the number that a while loop's condition compares with; None where there is not just one."""
    numbers = [
        int(tf.make_ndarray(node.attr["value"].tensor))
        for node in condition.node_def
        if node.op == "Const" and node.attr["dtype"].type == tf.int32.as_datatype_enum
    ]
    return numbers[0] if len(numbers) == 1 else None


def _eager_seen(_value: str, training: Any) -> Seen:
    if training.history is None:
        return NOT_TRAINED
    step = inner(training.model.train_function, "multi_step_on_iterator")
    graph = isinstance(step, tf.types.experimental.PolymorphicFunction)
    return OFF if graph else ON, "the step is a graph" if graph else "the step is a function of Python"


def _deterministic_options(_value: str, trial: Trial) -> Options:
    if trial.compile:
        raise Unsupported("Keras compiles no model with XLA where operations are to be deterministic")
    return {}


def _deterministic_seen(_value: str, _training: Any) -> Seen:
    return ON if is_op_determinism_enabled() else OFF, "tf.config's switch for deterministic operations"


def _onednn_seen(_value: str, _training: Any) -> Seen:
    """Convolve once, and look up which kernel TensorFlow replaced the convolution by."""

    @tf.function
    def convolve(images, filters):
        return tf.nn.relu(tf.nn.conv2d(images, filters, 1, "SAME"))

    context.context().enable_run_metadata()
    try:
        with tf.device("CPU"):
            convolve(tf.ones((8, 16, 16, 16)), tf.ones((3, 3, 16, 16)))
        metadata = context.context().export_run_metadata()
    finally:
        context.context().disable_run_metadata()
    graphs = [graph for function in metadata.function_graphs for graph in function.partition_graphs]
    names = {node.op for graph in graphs for node in graph.node if "Conv2D" in node.op}
    if len(names) != 1:
        return None, f"{len(names)} kinds of convolutions in TensorFlow's graph"
    name = names.pop()
    return ON if name.startswith(OF_ONEDNN) else OFF, f"a convolution ran as {name}"


def _check_bf16(_value: str, _device: str) -> None:
    check_precision("bf16", None)


def _math_seen(value: str, _training: Any) -> Seen:
    with tf.device("CPU"):
        return mode_seen(value, _convolution, _product)


def _convolution(images: Any, filters: Any) -> Any:
    return tf.nn.conv2d(images, filters, 1, "SAME").numpy()


def _product(a: Any, b: Any) -> Any:
    return tf.matmul(a, b).numpy()


def _threads_seen(_value: str, _training: Any) -> Seen:
    threads = process.threads()
    own = sum(PRIVATE_THREADS in thread.name for thread in threads)
    return ON if own else OFF, f"{own} of {len(threads)} threads are named {PRIVATE_THREADS}"


def allocators() -> set[str]:
    """Return the names of the allocators that a step on the first GPU uses; without one, on the CPU."""
    graph = tf.Graph()
    with graph.as_default():
        total = tf.reduce_sum(tf.random.uniform((64, 64)) + 1.0)
    metadata = tf.compat.v1.RunMetadata()
    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(total, options=options, run_metadata=metadata)
    nodes = (node for device in metadata.step_stats.dev_stats for node in device.node_stats)
    return {used.allocator_name for node in nodes for used in node.memory}


def _allocator_seen(_value: str, _training: Any) -> Seen:
    names = allocators()
    asynchronous = any(ASYNC_ALLOCATOR in name for name in names)
    return ON if asynchronous else OFF, f"a step's memory is from {', '.join(sorted(names))}"


HOOKS: Mapping[str, Hook] = {
    **keras_levers.HOOKS,
    "steps_per_call": steps_per_call(_steps_seen),
    "run_eagerly": Hook(options=lambda _: {"compile": {"run_eagerly": True}}, seen=_eager_seen),
    "deterministic": Hook(
        flags=lambda _value, _device: tf.config.experimental.enable_op_determinism(),
        trial_options=_deterministic_options,
        seen=_deterministic_seen,
    ),
    "onednn": Hook(seen=_onednn_seen),
    "onednn_math": Hook(flags=_check_bf16, seen=_math_seen),
    "gpu_threads": Hook(seen=_threads_seen),
    "cuda_malloc_async": Hook(seen=_allocator_seen),
}
