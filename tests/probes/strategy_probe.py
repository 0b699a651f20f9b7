"""In a framework's own environment: train on one device and on two, and save the weights of each.

One process per arm. The model is cnn_keras without its dropout: no
normalisation over a batch, so that two halves of a batch must give what the whole gives; and with SGD,
since RMSprop makes a whole step of a gradient that is 0 but for rounding. A step takes
all images: the order in which TensorFlow shuffles them differs under a strategy.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from trainspeed.core import optimizers
from trainspeed.core.trial import STRATEGIES, Trial
from trainspeed.worker import backends, hyperparameters
from trainspeed.worker.data import sets
from trainspeed.worker.measure import pin
from trainspeed.worker.timing import in_a_row

SIZE = 12


def trial(framework: str, strategy: str, devices: int, model: str = "cnn_keras") -> Trial:
    return Trial(
        framework=framework,
        model=model,
        layout="channels_last",
        batch_size=64,  # the whole epoch: so the order of the images does not matter
        images_per_epoch=64,
        epochs=8,
        strategy=strategy,
        devices=devices,
        compile=framework == "jax",
        dataset="digits",
        image_size=SIZE,
        seed=3,
    )


def weights(training) -> list[np.ndarray]:
    if hasattr(training.model, "get_weights"):
        return training.model.get_weights()
    return [value.detach().numpy().copy() for value in training.model.state_dict().values()]


def watch_ranks() -> None:
    """Have torch's ranks say after training how far apart their weights are."""
    import torch

    from trainspeed.worker.backends import torch_backend

    class Watched(torch_backend.TorchTraining):
        apart = 0.0

        def train(self, another):
            epoch_s = super().train(another)
            if self.ranks > 1:
                most = torch.cat([p.detach().flatten() for p in self.model.parameters()])
                least = most.clone()
                torch.distributed.all_reduce(most, torch.distributed.ReduceOp.MAX)
                torch.distributed.all_reduce(least, torch.distributed.ReduceOp.MIN)
                self.apart = (most - least).max().item()
            return epoch_s

    torch_backend.TorchTraining = Watched


def apart(framework: str, training) -> float:
    """Return the largest difference of a weight between two replicas."""
    if framework == "torch":
        return training.apart
    copies = []
    for variable in training.model.trainable_variables:
        value = variable.value if framework == "jax" else variable._value
        if framework == "jax":
            copies.append([np.asarray(shard.data) for shard in value.addressable_shards])
        else:
            copies.append([each.numpy() for each in getattr(value, "values", [value])])
    assert {len(replicas) for replicas in copies} == {training.trial.devices}
    return max(float(np.abs(one - replicas[0]).max()) for replicas in copies for one in replicas)


def arm(framework: str, strategy: str, devices: int, out: Path) -> None:
    """Train one arm; save the weights before and after, and the test accuracy."""
    hyperparameters.CNN_KERAS_DROPOUT = (0.0, 0.0, 0.0)
    pin(devices)
    backend = backends.load_backend(backends.MODULES[framework])
    for name in ("torch_parts", "keras_training"):
        if module := sys.modules.get(f"trainspeed.worker.backends.{name}"):
            module.recipe = lambda model: optimizers.Recipe(optimizer="sgd", learning_rate=0.05, momentum=0.9)
    if framework == "torch":
        watch_ranks()
    images = sets.load_data_set("digits", SIZE)
    training = backend.start(
        trial(framework, strategy, devices), images, device="cpu", default_allocation=False
    )
    here = training.training if strategy == "ddp" else training  # rank 0's share
    before = weights(here)
    training.train(in_a_row(trial(framework, strategy, devices).epochs))
    replicas_apart = apart(framework, here)
    saved = {f"before{i}": array for i, array in enumerate(before)}
    saved |= {f"after{i}": array for i, array in enumerate(weights(here))}
    accuracy = training.test_accuracy()
    np.savez(out / f"{strategy}{devices}.npz", accuracy=accuracy, apart=replicas_apart, **saved)
    save(here.model, out / f"{strategy}{devices}")
    (out / f"{strategy}{devices}.accuracy").write_text(repr(training.test_accuracy()))


def save(model, path: Path) -> None:
    if hasattr(model, "get_weights"):
        model.save(path.with_suffix(".keras"))
    else:
        import torch

        torch.save(model.state_dict(), path.with_suffix(".pt"))


def loaded_accuracy(framework: str, path: Path, out: Path) -> None:
    """Load what two devices saved, on one device, and evaluate it."""
    pin(1)
    backend = backends.load_backend(backends.MODULES[framework])
    images = sets.load_data_set("digits", SIZE)
    training = backend.start(trial(framework, "single", 1), images, device="cpu", default_allocation=False)
    if framework == "torch":
        import torch

        training.model.load_state_dict(torch.load(path.with_suffix(".pt")))
    else:
        import keras

        training.of_images = keras.models.load_model(path.with_suffix(".keras"))
    (out / "loaded.accuracy").write_text(repr(training.test_accuracy()))


def in_a_child(do, *arguments) -> None:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            do(*arguments)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit(f"{arguments} failed")


def main(name: str, folder: str) -> None:
    out, strategy = Path(folder), STRATEGIES[name][1]
    in_a_child(arm, name, "single", 1, out)
    in_a_child(arm, name, strategy, 2, out)
    in_a_child(loaded_accuracy, name, out / f"{strategy}2", out)
