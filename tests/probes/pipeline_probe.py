"""In a framework's own environment: take two epochs from every input pipeline, and save the batches.

Every image is the same, but for its number in one channel: what differs is augmentation.
"""

from __future__ import annotations

import numpy as np
import psutil

COUNT, BATCH, EPOCHS = 520, 64, 2  # eight images are left over in each epoch
HEIGHT, WIDTH = 16, 24
ROW, COLUMN = 8, 6  # of the bright pixel: further from border and middle than a shift goes
FRAMEWORK_FOLDERS = ("site-packages/tensorflow/", "site-packages/jaxlib/")
UNWRITTEN = "telepathy"
# Pipeline, workers, layout.
ARMS = [
    ("arrays", 0, "channels_last"),
    ("arrays", 0, "channels_first"),
    ("resize", 0, "channels_first"),
    ("generator", 0, "channels_last"),
    ("generator", 0, "channels_first"),
    ("threads", 1, "channels_last"),
    ("threads", 3, "channels_first"),
    ("processes", 1, "channels_first"),
    ("processes", 2, "channels_last"),
    ("in_model", 0, "channels_last"),
    ("in_model", 0, "channels_first"),
    ("tf_data", 0, "channels_last"),
    ("tf_data", 0, "channels_first"),
]


def images() -> tuple[np.ndarray, np.ndarray]:
    """Channels: one bright pixel, the number of the image everywhere, a texture up to the border."""
    numbers = np.arange(COUNT, dtype=np.int32)
    x = np.zeros((COUNT, HEIGHT, WIDTH, 3), dtype=np.float32)
    x[:, ROW, COLUMN, 0] = 1
    x[..., 1] = numbers[:, None, None]
    x[..., 2] = np.random.default_rng(2).random((HEIGHT, WIDTH))
    return x, numbers


def trial(framework: str, pipeline: str, workers: int, layout: str):
    from trainspeed.core.trial import PLAIN_PIPELINES, Trial

    return Trial(
        framework=framework,
        model="cnn10",
        layout=layout,
        batch_size=BATCH,
        images_per_epoch=COUNT,
        epochs=3,
        compile=framework == "jax",
        pipeline=pipeline,
        workers=workers,
        queue=4,
        augment=pipeline not in PLAIN_PIPELINES,
        seed=3,
    )


def torch_batches(a_trial) -> dict[str, np.ndarray]:
    import torch

    from trainspeed.worker.pipelines import torch_pipelines

    loader = torch_pipelines.loader(a_trial, *images())
    generator = torch.Generator().manual_seed(3)
    formats = {"channels_last": torch.channels_last, "channels_first": torch.contiguous_format}
    taken = Taken("channels_first")
    for _ in range(EPOCHS):
        for x, y in loader:
            if a_trial.pipeline == "in_model":
                x = torch_pipelines.augment_on_device(x, generator)
            assert x.is_contiguous(memory_format=formats[a_trial.layout])
            taken.add(x.contiguous().numpy(), y.numpy())
        taken.end_epoch()
    loader.close()
    return taken.arrays()


def keras_batches(a_trial) -> dict[str, np.ndarray]:
    import keras

    from trainspeed.worker.pipelines import keras_pipelines

    keras.utils.set_random_seed(a_trial.seed)
    fed = keras_pipelines.feed(a_trial, *images())
    layers = keras_pipelines.augmentation_layers(a_trial) if a_trial.pipeline == "in_model" else []
    taken = Taken(a_trial.layout)
    batches = keras_pipelines.InputOnly(fed)
    for _ in range(EPOCHS):
        for x, y in batches:
            for layer in layers:
                x = layer(x, training=True)
            taken.add(np.asarray(x), np.asarray(y))
        taken.end_epoch()
    found = taken.arrays()
    if a_trial.pipeline == "processes":
        found["libraries"] = np.array([framework_libraries(process) for process in workers()])
    if a_trial.layout == "channels_last":
        with keras_pipelines.left_open():
            found["fit"] = labels_in_fit(fed, layers)
        found["open"] = np.array([one._current_iterator is not None for one in keras_pipelines.OPEN])
        keras_pipelines.OPEN.clear()
    keras_pipelines.close(fed)
    return found


def labels_in_fit(fed, layers) -> np.ndarray:
    """Return the labels of the batches that `fit` really takes, of all epochs in a row."""
    import keras

    labels = []

    class Recorder(keras.Sequential):
        def train_step(self, *state_and_data):
            labels.append(np.asarray(state_and_data[-1][1]))
            return super().train_step(*state_and_data)

    model = Recorder([keras.Input((HEIGHT, WIDTH, 3)), *layers, *classifier()])
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    model.fit(**fed, epochs=EPOCHS, verbose=0)
    return np.concatenate(labels)


def classifier() -> list:
    import keras

    return [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(COUNT)]


class Taken:
    """Batches of some epochs, kept with channels last."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self.x: list[np.ndarray] = []
        self.y: list[np.ndarray] = []
        self.steps: list[int] = []

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x.append(x.transpose(0, 2, 3, 1) if self.layout == "channels_first" else x)
        self.y.append(y)

    def end_epoch(self) -> None:
        self.steps.append(len(self.x) - sum(self.steps))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"x": np.concatenate(self.x), "y": np.concatenate(self.y), "steps": np.array(self.steps)}


def workers() -> list[psutil.Process]:
    """Child processes but the one with which Python's multiprocessing cleans up."""
    children = psutil.Process().children()
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


def framework_libraries(process: psutil.Process) -> int:
    """Return how many of the framework's libraries a process has loaded."""
    files = {mapped.path for mapped in process.memory_maps()}
    return sum(any(folder in file for folder in FRAMEWORK_FOLDERS) for file in files)


def compiled_in_model() -> str:
    """What becomes of XLA when the augmentation is in the model."""
    import keras

    from trainspeed.worker.failures import Unsupported
    from trainspeed.worker.pipelines import keras_pipelines

    a_trial = trial("jax", "in_model", 0, "channels_last")  # compiled, on whatever Keras runs
    try:
        layers = keras_pipelines.augmentation_layers(a_trial)
    except Unsupported as problem:
        return f"unsupported: {problem}"
    model = keras.Sequential([keras.Input((HEIGHT, WIDTH, 3)), *layers, *classifier()])
    model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=True)
    model.fit(*(part[:BATCH] for part in images()), batch_size=BATCH, verbose=0)
    return f"compiled: {model.jit_compile}"


def refusal(take) -> str:
    """Return what taking batches of a pipeline that nobody has written says."""
    a_trial = trial("tensorflow", "generator", 0, "channels_last")
    object.__setattr__(a_trial, "pipeline", UNWRITTEN)  # as if it were one of the names
    try:
        take(a_trial)
    except NotImplementedError as problem:
        return str(problem)
    return ""


def main(framework: str, out: str) -> None:
    take = torch_batches if framework == "torch" else keras_batches
    found = {}
    for arm in ARMS:
        if arm[0] == "tf_data" and framework != "tensorflow":
            continue
        for name, value in take(trial(framework, *arm)).items():
            found["/".join(map(str, (*arm, name)))] = value
    found["refusal"] = np.array(refusal(take))
    found["left"] = np.array([" ".join(child.cmdline()) for child in workers()], dtype=str)
    if framework != "torch":
        found["own libraries"] = np.array(framework_libraries(psutil.Process()))
        found["compiled in_model"] = np.array(compiled_in_model())
    np.savez(out, **found)
