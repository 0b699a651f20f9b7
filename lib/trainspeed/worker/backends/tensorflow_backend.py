"""Keras 3 on TensorFlow, with Keras's own `fit`."""

from __future__ import annotations

import os
import re

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.config import is_op_determinism_enabled

from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.result import TF32_WORK
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.worker import hlo
from trainspeed.worker.backends.base import Backend, evaluation_batch
from trainspeed.worker.backends.keras_training import KerasTraining
from trainspeed.worker.convolution.tensorflow_convolution import TensorFlowConvolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.gang import Gang
from trainspeed.worker.levers import tensorflow_levers
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.precision import arithmetic_of, check_precision, tf32_flag, tf32_work
from trainspeed.worker.reach import Build, reach
from trainspeed.worker.timing import Another

# What TensorFlow says of its own operations on a CPU, such as the gradients of a convolution.
ONE_LAYOUT = re.compile(r"only supports? .*NHWC")
NO_CHANNELS_FIRST = (
    "TensorFlow trains with channels_first on a CPU only with XLA (compile = true) or with oneDNN, which is off here: "
    "TF_ENABLE_ONEDNN_OPTS=1 switches it on"
)
FORWARD_CONVOLUTIONS = ("Conv2D", "_FusedConv2D", "_MklNativeConv2D", "_MklNativeFusedConv2D")


class TensorFlowTraining(KerasTraining):
    """Keras's training on TensorFlow, compiled by XLA or as a graph."""

    hooks = tensorflow_levers.HOOKS

    def train(self, another: Another) -> tuple[float, ...]:
        try:
            return super().train(another)
        except tf.errors.OpError as problem:
            if self.trial.layout == "channels_first" and ONE_LAYOUT.search(str(problem)):
                raise Unsupported(NO_CHANNELS_FIRST) from problem
            raise

    def synchronize(self) -> None:
        tf.test.experimental.sync_devices()

    @staticmethod
    def process_settings() -> dict[str, object]:
        threads, precise = tf.config.threading, tf.config.experimental
        return {
            "tf.config.functions_run_eagerly()": tf.config.functions_run_eagerly(),
            "tf.config.experimental.enable_op_determinism()": is_op_determinism_enabled(),
            "tf.config.optimizer.get_jit()": tf.config.optimizer.get_jit() or "off",
            "tf.config.threading.get_intra_op_parallelism_threads()": threads.get_intra_op_parallelism_threads(),
            "tf.config.threading.get_inter_op_parallelism_threads()": threads.get_inter_op_parallelism_threads(),
            "tf.config.experimental.tensor_float_32_execution_enabled()": (
                precise.tensor_float_32_execution_enabled()
            ),
        }

    def peak_memory_bytes(self) -> int | None:
        if not tf.config.list_logical_devices("GPU"):
            return None
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]

    def logits(self, x: np.ndarray) -> np.ndarray:
        # Eagerly: for few images, tracing `Model.predict` would take most of the time.
        size = evaluation_batch(self.trial)
        batches = (x[i : i + size] for i in range(0, len(x), size))
        return np.concatenate([self.of_images(batch, training=False).numpy() for batch in batches])

    def spread(self) -> tuple[int, str, str]:
        by = self.model.distribute_strategy
        name = "mirrored" if isinstance(by, tf.distribute.MirroredStrategy) else SINGLE
        return by.num_replicas_in_sync, name, f"{type(by).__name__}.num_replicas_in_sync"

    def on_device(self, x: tf.Tensor) -> tf.Tensor:
        with tf.device("GPU:0"):
            return tf.identity(x)

    def convolutions(self, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str | None]]:
        return self._xla_convolutions(x) if self.trial.compile else self._graph_convolutions(x, y)

    def _graph_convolutions(self, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str | None]]:
        """Return `data_format` and `T` of the convolutions in the graph after Grappler has rewritten it."""

        @tf.function
        def step(images, labels):  # forward and backward: the layout optimiser looks at both
            with tf.GradientTape() as tape:
                loss = self.model.compute_loss(y=labels, y_pred=self.of_images(images, training=True))
            return tape.gradient(loss, self.model.trainable_variables)

        context.context().enable_run_metadata()
        try:
            step(tf.constant(x), tf.constant(y))
            metadata = context.context().export_run_metadata()
        finally:
            context.context().disable_run_metadata()
        nodes = (node for graphs in metadata.function_graphs for node in graphs.post_optimization_graph.node)
        return [
            (
                hlo.LAYOUT_OF_FORMAT.get(node.attr["data_format"].s.decode(), "unknown"),
                tf.as_dtype(node.attr["T"].type).name,
            )
            for node in nodes
            if node.op in FORWARD_CONVOLUTIONS
        ]

    def _xla_convolutions(self, x: np.ndarray) -> list[tuple[str, str | None]]:
        """Return layout and dtype of the convolutions in the program that XLA compiled for the forward pass."""
        forward = tf.function(lambda images: self.of_images(images, training=True), jit_compile=True)
        return hlo.convolutions(forward.experimental_get_compiler_ir(tf.constant(x))(stage="optimized_hlo"))


class TensorFlowBackend(Backend):
    """TensorFlow and Keras, imported; no device is listed or touched before `start`."""

    def versions(self) -> dict[str, str]:
        build = tf.sysconfig.get_build_info()
        return {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "cuda": build.get("cuda_version", "none"),
            "cudnn": build.get("cudnn_version", "none"),
        }

    def prepare(self, trial: AnyTrial) -> None:
        if trial.nodes > 1:
            raise Unsupported(
                "Keras's fit fails under MultiWorkerMirroredStrategy, which TensorFlow needs on several nodes "
                "(keras-team/keras#20585)"
            )

    def start(
        self,
        trial: Trial,
        images: Images,
        *,
        device: str,
        default_allocation: bool,
        gang: Gang | None = None,
    ) -> TensorFlowTraining:
        if device == "cpu" and trial.compile and trial.strategy != SINGLE:
            raise Unsupported("XLA cannot compile a step for several CPU devices: use compile = false")
        gpus = _set_up(device, trial.devices, grow=not default_allocation)
        capability = None
        if gpus:
            capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability")
        set_tf32(tf32_flag(trial.precision))
        Levers(trial, tensorflow_levers.HOOKS).set_flags(device)
        check_precision(arithmetic_of(trial), capability)
        scope = None if trial.strategy == SINGLE else _mirrored(trial.devices, gpus).scope()
        training = TensorFlowTraining(trial, images, device, scope)
        training.tf32 = tf32_work(tf32_allowed(), capability)
        return training

    def convolution(self, trial: Conv2dTrial, *, device: str) -> TensorFlowConvolution:
        _set_up(device, trial.devices)
        if device == "cpu":
            _split_cpu(trial.devices)
        set_tf32(False)
        return TensorFlowConvolution(trial, device)


def set_tf32(allowed: bool | None) -> None:
    """Set TensorFlow's switch for TF32; None leaves it alone."""
    if allowed is not None:
        tf.config.experimental.enable_tensor_float_32_execution(allowed)


def tf32_allowed() -> tuple[str, ...]:
    """Return the kinds of work in which TensorFlow allows TF32: by default in all."""
    return TF32_WORK if tf.config.experimental.tensor_float_32_execution_enabled() else ()


def _set_up(device: str, devices: int, *, grow: bool = True) -> list:
    """Return the GPUs, which take memory as they need it; without one, give each CPU device one thread."""
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(devices)
        return []

    def first_step() -> None:
        if grow:
            for gpu in tf.config.list_physical_devices("GPU"):
                tf.config.experimental.set_memory_growth(gpu, True)
        for index in range(devices):
            with tf.device(f"/GPU:{index}"):
                (tf.ones(1) + 1).numpy()

    told = tf.sysconfig.get_build_info()
    architectures = tuple(told.get("cuda_compute_capabilities", ()))
    build = Build(framework="TensorFlow", cuda=told.get("cuda_version"), architectures=architectures)
    reach(build, lambda: len(tf.config.list_physical_devices("GPU")), first_step)
    return tf.config.list_physical_devices("GPU")


def _split_cpu(devices: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)


def _mirrored(devices: int, gpus: list) -> tf.distribute.MirroredStrategy:
    """Return the strategy over the first GPUs; without one, over logical devices of the CPU."""
    if not gpus:
        _split_cpu(devices)
    kind = "GPU" if gpus else "CPU"
    return tf.distribute.MirroredStrategy([f"{kind}:{index}" for index in range(devices)])


BACKEND = TensorFlowBackend()
