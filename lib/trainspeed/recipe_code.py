"""The code to paste for a recipe: what was measured, as a program, in current APIs of Keras 3 and torch.

Text only; knows no framework. The reader's own are `make_model`, `images` and `labels`: the program's first
comment says what they must be. It runs with GPUs and without.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.recipe_code_torch import torch_code
from trainspeed.trial import SINGLE, WITH_WORKERS, Trial

NAMES = {"torch": "PyTorch", "tensorflow": "Keras on TensorFlow", "jax": "Keras on JAX"}
POLICIES = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
FROM_PYTHON = ("generator", *WITH_WORKERS)  # pipelines whose batches Python makes


def code(trial: Trial) -> str:
    """Return Python code that trains as the trial does."""
    return torch_code(trial) if trial.framework == "torch" else _keras(trial)


def pasted(trials: Sequence[Trial]) -> list[str]:
    """Return Markdown with the code of each trial."""
    return [f"**{NAMES[t.framework]}** ({t.model})\n\n```python\n{code(t)}\n```" for t in trials]


def _keras(trial: Trial) -> str:
    lines = [*_imports(trial), "", *_yours(trial), *_settings(trial), *_spread(trial)]
    build = [*_model(trial), *_compile(trial)]
    if trial.strategy == "mirrored":
        build = ["with strategy.scope():", *(f"    {line}" for line in build)]
    return "\n".join([*lines, "", *build, *_fit(trial)])


def _imports(trial: Trial) -> list[str]:
    numpy = ["import numpy as np"] if trial.pipeline in FROM_PYTHON else []
    on_jax = trial.framework == "jax"
    return [
        "import os",
        "",
        f'os.environ["KERAS_BACKEND"] = "{trial.framework}"  # before Keras is imported',
        *(["import jax"] if on_jax else []),
        "import keras",
        *numpy,
        *([] if on_jax else ["import tensorflow as tf"]),
    ]


def _yours(trial: Trial) -> list[str]:
    first = trial.layout == "channels_first"
    shape = "count, 3, height, width" if first else "count, height, width, 3"
    last = ' in float32 (dtype="float32")' if trial.precision in POLICIES else ""
    return [
        f"# Yours: make_model(), whose last layer returns logits{last};",
        f"# images, a float32 array ({shape}), and labels, integers (count,).",
        *(["# Layers with an axis, such as BatchNormalization, need axis=1."] if first else []),
    ]


def _settings(trial: Trial) -> list[str]:
    lines = [f'keras.config.set_image_data_format("{trial.layout}")']
    if trial.precision in POLICIES:
        lines.append(f'keras.config.set_dtype_policy("{POLICIES[trial.precision]}")')
    tf32 = trial.precision == "tf32"
    if trial.framework == "jax":
        precision = "tensorfloat32" if tf32 else "highest"
        return [*lines, f'jax.config.update("jax_default_matmul_precision", "{precision}")']
    return [*lines, f"tf.config.experimental.enable_tensor_float_32_execution({tf32})"]


def _spread(trial: Trial) -> list[str]:
    """The lines that spread each batch over devices; on CPU cores where there is no GPU, as it is measured."""
    if trial.strategy == SINGLE:
        return []
    count = trial.devices
    note = "# Without a GPU a device is one CPU core; one device that uses all cores may be as fast."
    if trial.framework == "jax":
        return [
            note,
            f'jax.config.update("jax_num_cpu_devices", {count})',
            f"devices = keras.distribution.list_devices()[:{count}]",
            "keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))",
        ]
    return [
        note,
        'kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"',
        'if kind == "CPU":',
        '    cpu = tf.config.list_physical_devices("CPU")[0]',
        f"    parts = [tf.config.LogicalDeviceConfiguration()] * {count}",
        "    tf.config.set_logical_device_configuration(cpu, parts)",
        f'strategy = tf.distribute.MirroredStrategy([f"{{kind}}:{{n}}" for n in range({count})])',
    ]


def _model(trial: Trial) -> list[str]:
    if trial.pipeline == "resize":
        size = trial.image_size
        enlarge = f'keras.layers.Resizing({size}, {size}, dtype="float32")'
        return [f"model = keras.Sequential([{enlarge}, make_model()])"]
    if trial.pipeline != "in_model" or not trial.augment:
        return ["model = make_model()"]
    lines = [
        "augment = [  # yours; here shifts and flips",
        '    keras.layers.RandomTranslation(0.1, 0.1, fill_mode="nearest", dtype="float32"),',
        '    keras.layers.RandomFlip("horizontal", dtype="float32"),',
        "]",
    ]
    if trial.framework == "jax":
        lines += [
            "for layer in augment:",
            "    layer.supports_jit = True  # else Keras runs the whole model uncompiled",
        ]
    return [*lines, "model = keras.Sequential([*augment, make_model()])"]


def _compile(trial: Trial) -> list[str]:
    return [
        "# Where the model ends in a softmax: from_logits=False.",
        "loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
        f'model.compile(optimizer="adam", loss=loss, jit_compile={trial.compile})',
    ]


def _fit(trial: Trial) -> list[str]:
    if trial.pipeline == "tf_data":
        return _tf_data(trial)
    if trial.pipeline in FROM_PYTHON:
        return _from_python(trial)
    return [
        f"whole = len(images) // {trial.batch_size} * {trial.batch_size}  # a smaller batch is compiled anew",
        f"model.fit(images[:whole], labels[:whole], batch_size={trial.batch_size}, epochs=100)",
    ]


def _tf_data(trial: Trial) -> list[str]:
    width = 3 if trial.layout == "channels_first" else 2
    augment = [
        "",
        "",
        "def augment(x, y):  # yours; here half of the images are mirrored",
        f"    mirrored = tf.random.uniform(({trial.batch_size}, 1, 1, 1)) < 0.5",
        f"    return tf.where(mirrored, tf.reverse(x, [{width}]), x), y",
        "",
        "",
    ]
    return [
        *(augment if trial.augment else []),
        "data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images))",
        f"data = data.batch({trial.batch_size}, drop_remainder=True)",
        *(["data = data.map(augment, num_parallel_calls=tf.data.AUTOTUNE)"] if trial.augment else []),
        "model.fit(data.prefetch(tf.data.AUTOTUNE), shuffle=False, epochs=100)",
    ]


def _from_python(trial: Trial) -> list[str]:
    size = trial.batch_size
    mirrored = "x[..., ::-1]" if trial.layout == "channels_first" else "x[:, :, ::-1]"
    augment = [
        "def augment(x):  # yours; here half of the images are mirrored",
        f"    return np.where(np.random.default_rng().random((len(x), 1, 1, 1)) < 0.5, {mirrored}, x)",
        "",
        "",
    ]
    made = "augment(images[chosen])" if trial.augment else "images[chosen]"
    lines = ["", "", *(augment if trial.augment else [])]
    if trial.pipeline == "generator":
        return [
            *lines,
            "def batches():",
            "    while True:",
            f"        for chosen in np.random.permutation(len(images))[: steps * {size}].reshape(steps, {size}):",
            f"            yield {made}, labels[chosen]",
            "",
            "",
            f"steps = len(images) // {size}",
            "model.fit(batches(), steps_per_epoch=steps, shuffle=False, epochs=100)",
        ]
    processes = trial.pipeline == "processes"
    kept = [
        "# Measured with processes that are kept; Keras forks new ones in each epoch.",
        "# Where that hangs: use_multiprocessing=False.",
    ]
    return [
        *lines,
        "class Batches(keras.utils.PyDataset):",
        "    order = np.random.permutation(len(images))",
        "",
        "    def __len__(self):",
        f"        return len(images) // {size}",
        "",
        "    def __getitem__(self, index):",
        f"        chosen = self.order[{size} * index : {size} * (index + 1)]",
        f"        return {made}, labels[chosen]",
        "",
        "    def on_epoch_end(self):",
        "        np.random.shuffle(self.order)",
        "",
        "",
        *(kept if processes else []),
        f"how = dict(workers={trial.workers}, use_multiprocessing={processes}, max_queue_size={trial.queue})",
        "model.fit(Batches(**how), epochs=100)",
    ]
