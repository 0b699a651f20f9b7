"""The code to paste for a recipe: a training loop with the switches that were kept, in current APIs.

Text only; knows no framework. `make_model`, `images` and `labels` are the reader's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.trial import Trial

POLICIES = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
TORCH_TYPES = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}


def code(trial: Trial) -> str:
    """Return Python code that trains as the trial does."""
    return _torch(trial) if trial.framework == "torch" else _keras(trial)


def pasted(trials: Sequence[Trial]) -> list[str]:
    """Return Markdown with the code of each trial."""
    names = {"torch": "PyTorch", "tensorflow": "Keras on TensorFlow", "jax": "Keras on JAX"}
    return [f"**{names[t.framework]}** ({t.model})\n\n```python\n{code(t)}\n```" for t in trials]


def _keras(trial: Trial) -> str:
    on_jax = trial.framework == "jax"
    lines = ["import os", "", 'os.environ["KERAS_BACKEND"] = "jax"'] if on_jax else []
    lines += ["import keras"] + ([] if on_jax else ["import tensorflow as tf"])
    lines += ["", f'keras.config.set_image_data_format("{trial.layout}")']
    if trial.layout == "channels_first":
        lines.append("# BatchNormalization(axis=1), and images of the shape (batch, channels, height, width)")
    if trial.precision in POLICIES:
        lines.append(f'keras.mixed_precision.set_global_policy("{POLICIES[trial.precision]}")')
    if not on_jax:
        lines.append(f"tf.config.experimental.enable_tensor_float_32_execution({trial.precision == 'tf32'})")
    if on_jax and trial.devices > 1:
        lines.append("keras.distribution.set_distribution(keras.distribution.DataParallel())")
    build = ["model = make_model()", _keras_compile(trial)]
    if trial.strategy == "mirrored":
        devices = ", ".join(f'"GPU:{index}"' for index in range(trial.devices))
        lines += [f"strategy = tf.distribute.MirroredStrategy([{devices}])", "with strategy.scope():"]
        build = [f"    {line}" for line in build]
    return "\n".join([*lines, *build, *_keras_fit(trial)])


def _keras_compile(trial: Trial) -> str:
    loss = (
        'loss="sparse_categorical_crossentropy"'  # of logits: SparseCategoricalCrossentropy(from_logits=True)
    )
    return f'model.compile(optimizer="adam", {loss}, jit_compile={trial.compile})'


def _keras_fit(trial: Trial) -> list[str]:
    batch = f"batch_size={trial.batch_size}"
    if trial.pipeline == "in_model":
        note = [
            "# augment inside the model: keras.layers.RandomFlip and RandomTranslation as its first layers"
        ]
        return [*note, f"model.fit(images, labels, {batch}, epochs=100)"]
    if trial.pipeline == "tf_data":
        return [
            "data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images))",
            "data = data.map(augment, num_parallel_calls=tf.data.AUTOTUNE)",
            f"data = data.batch({trial.batch_size}, drop_remainder=True).prefetch(tf.data.AUTOTUNE)",
            "model.fit(data, epochs=100)",
        ]
    if trial.pipeline in ("threads", "processes"):
        processes = trial.pipeline == "processes"
        workers = f"workers={trial.workers}, use_multiprocessing={processes}, max_queue_size={trial.queue}"
        return [
            f"data = MyPyDataset(images, labels, {batch}, {workers})  # a keras.utils.PyDataset",
            "model.fit(data, epochs=100)",
        ]
    if trial.pipeline == "generator":
        return [f"model.fit(augmented_batches(images, labels, {batch}), epochs=100, steps_per_epoch=steps)"]
    return [f"model.fit(images, labels, {batch}, epochs=100)"]


def _torch(trial: Trial) -> str:
    tf32 = trial.precision == "tf32"
    memory_format = "torch.channels_last" if trial.layout == "channels_last" else "torch.contiguous_format"
    lines = ["import torch", "from torch.nn.functional import cross_entropy"]
    if trial.strategy == "ddp":
        lines += ["import os", "from torch.nn.parallel import DistributedDataParallel"]
        lines += ["", f"# start it with: torchrun --nproc-per-node {trial.devices} train.py"]
        lines += ["torch.distributed.init_process_group()", 'rank = int(os.environ["LOCAL_RANK"])']
        lines += ['device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")']
    else:
        lines += ["", 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")']
    lines += [f"torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = {tf32}"]
    if trial.pipeline in ("threads", "processes") and trial.workers:
        lines.append(
            f"loader = torch.utils.data.DataLoader(data, batch_size={trial.batch_size // trial.devices}, "
            f"num_workers={trial.workers}, pin_memory=device.type == 'cuda', persistent_workers=True)"
        )
    elif trial.pipeline == "in_model":
        lines.append(
            "# augment on the device: batches come as they are, flips and shifts are made of `x` below"
        )
    lines += [f"model = make_model().to(device, memory_format={memory_format})"]
    if trial.compile:
        lines.append("model = torch.compile(model)")
    if trial.strategy == "ddp":
        lines.append("model = DistributedDataParallel(model)")
    if trial.strategy == "data_parallel":
        lines.append("model = torch.nn.DataParallel(model)")
    lines += ["optimizer = torch.optim.Adam(model.parameters())"]
    scaled = trial.precision == "fp16"
    if scaled:
        lines.append("scaler = torch.amp.GradScaler(device.type)")
    per_rank = " of this rank" if trial.strategy == "ddp" else ""
    lines += [f"for x, y in loader:  # batches of {trial.batch_size // _ranks(trial)}{per_rank}"]
    lines += [f"    x, y = x.to(device, memory_format={memory_format}), y.to(device)"]
    lines += ["    optimizer.zero_grad(set_to_none=True)"]
    loss = "loss = cross_entropy(model(x), y)"
    if trial.precision in TORCH_TYPES:
        lines += [f"    with torch.autocast(device.type, {TORCH_TYPES[trial.precision]}):", f"        {loss}"]
    else:
        lines.append(f"    {loss}")
    if scaled:
        return "\n".join(
            [*lines, "    scaler.scale(loss).backward()", "    scaler.step(optimizer)", "    scaler.update()"]
        )
    return "\n".join([*lines, "    loss.backward()", "    optimizer.step()"])


def _ranks(trial: Trial) -> int:
    return trial.devices if trial.strategy == "ddp" else 1
