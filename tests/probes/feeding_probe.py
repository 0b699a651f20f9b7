"""In a framework's own environment: trainings with levers of feeding beside plain ones, and their batches.

The images are whole 255ths, so that as bytes they lose nothing but a last bit.
"""

from __future__ import annotations

import contextlib
import importlib
import json
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from trainspeed.core.phase import INPUT
from trainspeed.core.trial import WITH_WORKERS, Trial
from trainspeed.worker import backends
from trainspeed.worker.backends.base import Training
from trainspeed.worker.data.eight_bits import as_bytes
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.timing import in_a_row

COUNT, TEST, SIZE, BATCH, EPOCHS = 64, 24, 12, 16, 3
CORES = 19  # that a data set with threads of its own is told of
UINT8 = ("uint8", "on")
# Of each framework: name -> levers and other fields of the trial.
TRAININGS: dict[str, dict[str, tuple[tuple, dict[str, Any]]]] = {
    "torch": {
        "plain": ((), {}),
        "uint8": ((UINT8,), {}),
        "enlarged": (
            (UINT8,),
            {"pipeline": "resize", "layout": "channels_first", "part": "fit", "image_size": SIZE + 2},
        ),
        "workers": ((), {"pipeline": "processes"}),
        "uint8 from workers": ((UINT8,), {"pipeline": "processes"}),
        "started again": ((("loader_persistent", "off"),), {"pipeline": "processes"}),
        "spawned": ((("loader_context", "spawn"),), {"pipeline": "processes", "workers": 1}),
        "any order": ((("loader_order", "free"),), {"pipeline": "processes"}),
        "on the device": ((UINT8,), {"pipeline": "in_model"}),
    },
    "tensorflow": {
        "plain": ((), {}),
        "uint8": ((UINT8,), {}),
        "data set": (
            (UINT8, ("loader_order", "free"), ("private_threads", "on")),
            {"pipeline": "tf_data", "part": "input"},
        ),
        "on the device": ((UINT8, ("data_autotuning", "on")), {"pipeline": "in_model"}),
    },
    "jax": {  # which compiles each of them for many seconds
        "plain": ((), {"pipeline": "in_model"}),
        "uint8": ((UINT8,), {"pipeline": "in_model"}),
    },
}
# Which of these are trained with empty hooks, too: each lever once.
BY_EMPTY_HOOKS = {
    "torch": ("uint8", "started again", "spawned", "any order"),
    "tensorflow": ("data set", "on the device"),
    "jax": ("uint8",),
}
# Which one is inspected, by its pipeline and levers.
INSPECTED = {"torch": ("resize", (UINT8,)), "tensorflow": ("arrays", (UINT8,)), "jax": ("in_model", (UINT8,))}
LOOKED_AT = {"feed": {"watched": True}}
PIPELINES = ("arrays", "generator", "threads", "processes", "tf_data")


def images() -> Images:
    """Random images with 8 bits a colour, as floats."""
    random = np.random.default_rng(5)
    x = random.integers(0, 256, (COUNT + TEST, SIZE, SIZE, 3)).astype(np.float32) / np.float32(255)
    y = random.integers(0, 10, COUNT + TEST).astype(np.int32)
    return Images(train_x=x[:COUNT], train_y=y[:COUNT], test_x=x[COUNT:], test_y=y[COUNT:])


def trial(framework: str, *levers: tuple[str, str], **fields: Any) -> Trial:
    pipeline = fields.get("pipeline", "arrays")
    usual = {
        "layout": "channels_last",
        "image_size": SIZE,
        "workers": 2 if pipeline in WITH_WORKERS else 0,
        "augment": pipeline not in ("arrays", "resize"),
        "compile": framework == "jax",
    }
    return Trial(
        framework=framework,
        model="cnn_keras",
        batch_size=BATCH,
        images_per_epoch=COUNT,
        epochs=EPOCHS,
        queue=4,
        dataset="digits",
        seed=3,
        levers=levers,
        **usual | fields,
    )


class Probe:
    """One framework on the CPU, or on a GPU."""

    def __init__(self, framework: str, device: str = "cpu") -> None:
        self.framework, self._device = framework, device
        self._backend = importlib.import_module(backends.MODULES[framework]).BACKEND
        name = "torch" if framework == "torch" else "keras"
        self._table = importlib.import_module(f"trainspeed.worker.levers.{framework}_levers")
        self.hooks = importlib.import_module(f"trainspeed.worker.levers.{name}_feeding").HOOKS

    def made(self, a_trial: Trial) -> Training:
        return self._backend.start(a_trial, images(), device=self._device, default_allocation=False)

    def trained(self, a_trial: Trial) -> Training:
        training = self.made(a_trial)
        training.train(in_a_row(EPOCHS))
        return training

    def learned(self, a_trial: Trial) -> dict[str, Any]:
        """What a training learned, and what was seen of its levers."""
        training = self.trained(a_trial)
        numbers = [training.final_loss, training.test_accuracy() if a_trial.phase.trains else None]
        found = {"numbers": numbers, "in_effect": training.in_effect()}
        if INSPECTED[self.framework] == (a_trial.pipeline, a_trial.levers):
            found["notes"] = len(training.inspect().notes)
        return found

    def unnormalised(self) -> Any:
        """Return what is seen of images as bytes where nobody makes floats of them: 0 to 255 reach the model."""
        if self.framework == "torch":
            from trainspeed.worker.pipelines import torch_upload

            forgotten = mock.patch.object(torch_upload, "floats", lambda x: x.float())
        else:
            from trainspeed.worker.models import keras_input

            forgotten = mock.patch.object(keras_input, "BRIGHTEST", 1)
        with forgotten:
            return self.trained(trial(self.framework, UINT8, part="input")).in_effect()["uint8"]

    def by_empty_hooks(self, a_trial: Trial) -> dict[str, Any]:
        """Return what is seen of a trial's levers where their hooks do nothing but let the batches be looked at."""
        empty = {
            name: replace(hook, images=None, options=lambda _value: LOOKED_AT)
            for name, hook in self.hooks.items()
        }
        with mock.patch.dict(self._table.HOOKS, empty):
            return self.trained(a_trial.only(INPUT)).in_effect()

    def made_otherwise(self) -> Any:
        """Return what is seen of a pipeline that is not made as it was asked for."""
        pipeline = "processes"
        if self.framework == "torch":
            from trainspeed.worker.pipelines import torch_pipelines

            of_workers = ("num_workers", "prefetch_factor", "persistent_workers")
            loader = torch_pipelines.DataLoader

            def alone(*args: Any, **options: Any) -> Any:
                return loader(*args, **{name: of for name, of in options.items() if name not in of_workers})

            planted = mock.patch.object(torch_pipelines, "DataLoader", alone)
        elif self.framework == "tensorflow":
            from trainspeed.worker.pipelines import tensorflow_data

            pipeline = "tf_data"
            planted = mock.patch.object(tensorflow_data, "mapped", tensorflow_data.plain_batches)
        else:
            from trainspeed.worker.pipelines import keras_pipelines

            planted = mock.patch.dict(keras_pipelines.WORKER_FEEDS, processes=_in_the_loop)
        with planted:
            return self.trained(trial(self.framework, pipeline=pipeline, part="input")).in_effect()

    def refused(self) -> list[str]:
        """Return why levers that do nothing here, or cannot be had, are refused."""
        wrong = [trial(self.framework, ("resident", "off"))]
        if self.framework == "torch":
            wrong.append(trial("torch", ("resident", "off"), ("transfer", "side_stream")))
        if self.framework == "tensorflow":
            wrong.append(trial("tensorflow", ("loader_order", "free"), pipeline="processes"))
        reasons = []
        for a_trial in wrong:
            with contextlib.suppress(Unsupported):
                self.trained(a_trial)
                reasons.append("trained")
                continue
            reasons.append("refused")
        return reasons


def _in_the_loop(_trial: Trial, of: Any) -> Any:
    from trainspeed.worker.pipelines import keras_pipelines

    return keras_pipelines._Adapter(of, keras_pipelines.Here(of), workers=0)


def batches(framework: str, pipeline: str, of: Images) -> dict[str, np.ndarray]:
    """Return the batches of two epochs of a pipeline, images with channels last, as they are fed."""
    a_trial = trial(framework, pipeline=pipeline)
    x, y = of.train_x, of.train_y
    if framework == "torch":
        from trainspeed.worker.pipelines import torch_pipelines

        fed: Any = torch_pipelines.loader(a_trial, x, y)
        close = fed.close
    else:
        import keras

        from trainspeed.worker.pipelines import keras_pipelines

        keras.utils.set_random_seed(3)
        data = keras_pipelines.feed(a_trial, x, y)
        fed = keras_pipelines.InputOnly(data)
        close = lambda: keras_pipelines.close(data)  # noqa: E731
    taken = [(np.asarray(x), np.asarray(y)) for _ in range(2) for x, y in fed]
    close()
    x, y = (np.concatenate(part) for part in zip(*taken, strict=True))
    return {"x": x.transpose(0, 2, 3, 1) if framework == "torch" else x, "y": y}


def main(framework: str, out: str) -> None:
    probe = Probe(framework)
    module = {"torch": "torch_feeding_probe", "tensorflow": "tensorflow_feeding_probe"}.get(framework)
    found: dict[str, Any] = importlib.import_module(f"probes.{module}").more() if module else {}
    found |= {
        name: probe.learned(trial(framework, *levers, **fields))
        for name, (levers, fields) in TRAININGS[framework].items()
    }
    found["by empty hooks"] = [
        probe.by_empty_hooks(
            trial(framework, *TRAININGS[framework][name][0], **TRAININGS[framework][name][1])
        )
        for name in BY_EMPTY_HOOKS[framework]
    ]
    found["made otherwise"] = probe.made_otherwise()
    found["by pipeline"] = {
        pipeline: probe.trained(trial(framework, pipeline=pipeline, part="input")).in_effect()
        for pipeline in ("generator", "threads", "processes")
        if framework == "jax"
        or pipeline != "processes"  # which torch has above, and TensorFlow by the same code
    }
    found["unnormalised"], found["refused"] = probe.unnormalised(), probe.refused()
    arrays = {}
    for pipeline in PIPELINES:
        if pipeline != "tf_data" or framework == "tensorflow":
            for name, of in (("floats", images()), ("bytes", as_bytes(images(), exact=True))):
                for part, array in batches(framework, pipeline, of).items():
                    arrays[f"{pipeline}/{name}/{part}"] = array
    np.savez(out, found=json.dumps(found), **arrays)
