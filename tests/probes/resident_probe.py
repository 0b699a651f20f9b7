"""In a framework's environment: trainings whose images stay on the device beside those that upload batches.

The device is a CPU, so both must learn the same; only what decides is planted.
"""

from __future__ import annotations

import contextlib
import importlib
import json
from typing import Any

from trainspeed.core.phase import COMPUTE, FIT, INPUT, WHOLE, Phase
from trainspeed.core.trial import WITH_WORKERS, Trial
from trainspeed.worker import backends
from trainspeed.worker.backends.base import Training
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.timing import in_a_row

EPOCHS, STEPS, BATCH = 3, 4, 16
# What is trained: how its batches come, in which layout, which phase, on how many devices.
# A training of Keras's takes seconds to trace: each arm is trained where it is the hardest.
OF = {"tensorflow": ("fit",), "jax": ("devices",), "torch": ("arrays", "compute", "fit")}
ARMS: dict[str, tuple[str, str, Phase, int]] = {
    "arrays": ("arrays", "channels_first", WHOLE, 1),
    "compute": ("arrays", "channels_last", COMPUTE, 1),
    "fit": ("resize", "channels_last", FIT, 1),
    "devices": ("arrays", "channels_last", WHOLE, 2),
}


def trial(framework: str, pipeline: str, layout: str, phase: Phase, devices: int = 1) -> Trial:
    return Trial(
        framework=framework,
        model="cnn_keras",
        layout=layout,
        batch_size=BATCH,
        images_per_epoch=STEPS * BATCH,
        epochs=EPOCHS,
        pipeline=pipeline,
        workers=1 if pipeline in WITH_WORKERS else 0,
        part=phase.name,
        compile=framework == "jax",
        dataset="digits",
        image_size=12,
        seed=3,
    )


class Made:
    """Makes trainings of one framework on CPU devices, with what stays on a device decided here."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self._backend = importlib.import_module(backends.MODULES[framework])
        module = "torch_training" if framework == "torch" else "keras_training"
        self._decides = importlib.import_module(f"trainspeed.worker.backends.{module}")
        self._mirrored = None
        if framework == "tensorflow":
            self._backend._set_up("cpu", 2)
            self._mirrored = self._backend._mirrored(2, [])
        elif framework == "jax":
            self._backend.set_up("cpu", 2)

    def __call__(self, a_trial: Trial, *, resident: bool, devices: int = 1) -> Training:
        self._decides.is_resident = lambda *_: (resident, ())
        images = images_of(a_trial)
        if self.framework == "torch":
            import torch

            torch.manual_seed(a_trial.seed)
            return self._backend.TorchTraining(a_trial, images, torch.device("cpu"))
        if self.framework == "tensorflow":
            scope = self._mirrored.scope() if devices > 1 else contextlib.nullcontext()
            return self._backend.TensorFlowTraining(a_trial, images, "cpu", scope)
        import keras

        both = keras.distribution.DataParallel(devices=keras.distribution.list_devices()[:devices])
        keras.distribution.set_distribution(both if devices > 1 else None)
        return self._backend.JaxTraining(a_trial, images, "cpu")


def learned(make: Made, arm: str, *, resident: bool) -> dict[str, Any]:
    """The loss in the end and the accuracy, and on one device what is found in which layout."""
    pipeline, layout, phase, devices = ARMS[arm]
    training = make(trial(make.framework, pipeline, layout, phase), resident=resident, devices=devices)
    training.train(in_a_row(EPOCHS))
    facts = {"numbers": [training.final_loss, training.test_accuracy()], "layouts": []}
    if devices == 1 and phase.trains:
        inspection = training.inspect()
        facts["numbers"].append(inspection.parameters)
        facts["layouts"] = sorted(inspection.effective_layout)
    return facts


def taken(make: Made, pipeline: str, *, resident: bool) -> int:
    """How many batches of an input alone are put on the device in all."""
    training = make(trial(make.framework, pipeline, "channels_last", INPUT), resident=resident)
    training.on_gpu, put = True, []

    def counted(put_there: Any) -> Any:
        return lambda x: put.append(x) or put_there(x)

    if resident:
        training.resident = counted(training.resident)
    else:
        training.on_device = counted(lambda x: x)
    training.train(in_a_row(EPOCHS))
    return len(put)


def places(make: Made) -> list[str]:
    """Where torch's numbers of the images of an epoch and of a look afterwards lie, where the images stay on "meta"."""
    import torch

    training = make(trial("torch", "arrays", "channels_last", WHOLE), resident=True)
    stay, found = training.resident, []

    def on_meta(chosen: torch.Tensor) -> Any:
        found.append(chosen.device.type)
        return stay(torch.zeros(len(chosen), dtype=torch.long))

    training.device, training.resident = torch.device("meta"), on_meta
    list(training._gathered())
    training._first_batch()
    return sorted(set(found))


def strides() -> dict[str, bool]:
    """Whether torch's gathered images lie in memory as the trial's layout says, at once and right."""
    import torch

    from trainspeed.worker.pipelines.torch_pipelines import ResidentImages

    found = {}
    for name, memory_format in (("first", torch.contiguous_format), ("last", torch.channels_last)):
        x, y = torch.randn(6, 3, 4, 5).contiguous(memory_format=memory_format), torch.arange(6)
        chosen = torch.tensor([4, 1, 5])
        images, labels = ResidentImages(x, y, torch.device("cpu"))(chosen)
        same = torch.equal(images, x[chosen]) and torch.equal(labels, chosen)
        found[name] = same and images.is_contiguous(memory_format=memory_format)
    return found


def pinned() -> dict[str, list[bool | None]]:
    """Of each batch of torch's loaders for a GPU: whether the training thread pinned it; None where nobody did."""
    import threading

    import torch

    from trainspeed.worker.pipelines import torch_pipelines

    in_thread: dict[int, bool] = {}  # address of a batch's images -> whether they were pinned in this thread

    def pin_memory(tensor: torch.Tensor) -> torch.Tensor:
        in_thread[tensor.data_ptr()] = threading.current_thread() is threading.main_thread()
        return tensor

    torch.Tensor.pin_memory = pin_memory
    found = {}
    for pipeline in ("generator", "threads"):
        a_trial = trial("torch", pipeline, "channels_last", WHOLE)
        images = images_of(a_trial)
        loader = torch_pipelines.loader(a_trial, images.train_x[:64], images.train_y[:64], pin=True)
        batches = list(loader)
        found[pipeline] = [in_thread.get(x.data_ptr()) for x, _ in batches]
        loader.close()
    a_trial = trial("torch", "processes", "channels_last", WHOLE)
    loader = torch_pipelines.loader(a_trial, images.train_x[:64], images.train_y[:64], pin=True)
    found["processes"] = [not loader.loader.pin_memory]  # torch pins in a thread of its own
    loader.close()
    return found


def main(framework: str, out: str) -> None:
    make = Made(framework)
    found: dict[str, Any] = {
        arm: [learned(make, arm, resident=resident) for resident in (False, True)] for arm in OF[framework]
    }
    if framework == "torch":
        found["strides"], found["pinned"], found["places"] = strides(), pinned(), places(make)
    else:
        found["taken"] = [
            taken(make, "arrays", resident=True),
            taken(make, "generator", resident=False),
        ]
    with open(out, "w") as file:
        json.dump(found, file)
