"""In a framework's own environment: build the models of others, and save what they are and do.

A small training comes first: its backend configures the framework, which only a fresh one allows.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import nullcontext
from typing import Any

import numpy as np

from trainspeed.core.layer_table import training_flops
from trainspeed.core.trial import LAYOUTS, Trial
from trainspeed.worker import backends
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.data.sets import resize
from trainspeed.worker.timing import in_a_row

BATCH, SIZE = 2, 32
DIGITS, FITTED = 8, 12  # pixels
EPOCHS = 4


def images() -> np.ndarray:
    return np.random.default_rng(3).random((BATCH, SIZE, SIZE, 3), dtype=np.float32)


def error(computed: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, as a share of the largest number expected: untrained models may put out 1e-27."""
    assert computed.shape == expected.shape, (computed.shape, expected.shape)
    return float(np.abs(computed - expected).max() / np.abs(expected).max())


# The part "fit".


def fit(framework: str) -> dict[str, Any]:
    """Train with validation and checkpoints, and note each of them."""
    trial = Trial(
        framework=framework,
        model="cnn_keras",
        layout="channels_last",
        batch_size=16,
        images_per_epoch=64,
        epochs=EPOCHS,
        image_size=FITTED,
        dataset="digits",
        part="fit",
        folds=5,
        compile=framework == "jax",
    ).in_block(0)
    backend = backends.load_backend(backends.MODULES[framework])
    training = backend.start(trial, images_of(trial), device="cpu", default_allocation=False)
    return (torch_fit if framework == "torch" else keras_fit)(training)


def torch_fit(training: Any) -> dict[str, Any]:
    import torch

    scores: list[float] = []
    saved: list[int] = []
    held_out, save = training._held_out, torch.save

    def validate(batch_size: int) -> tuple[float, float]:
        measured = held_out(batch_size)
        scores.append(measured[0])
        return measured

    def keep(state: dict, file: Any) -> None:
        save(state, file)
        saved.append(file.tell())

    training._held_out, torch.save = validate, keep
    epoch_s = training.train(in_a_row(training.trial.epochs))
    torch.save = save
    return {"epoch_s": epoch_s, "scores": scores, "saved_bytes": saved, "best": training.best_accuracy}


def keras_fit(training: Any) -> dict[str, Any]:
    import keras

    saved: list[int] = []
    save = keras.Model.save_weights

    def keep(self: keras.Model, path: str, **options: Any) -> None:
        save(self, path, **options)
        saved.append(os.path.getsize(path))

    keras.Model.save_weights = keep
    epoch_s = training.train(in_a_row(training.trial.epochs))
    scores = training.history.history["val_accuracy"]
    return {"epoch_s": epoch_s, "scores": scores, "saved_bytes": saved, "best": max(scores)}


# Enlarging.


def enlarging_errors(framework: str) -> dict[str, float]:
    """How far the device's enlarged images are from the host's: digits, and the same with 3 channels."""
    errors = {}
    for channels in (1, 3):
        x = np.random.default_rng(5).random((3, DIGITS, DIGITS, channels), dtype=np.float32)
        for layout in LAYOUTS:
            enlarge = torch_enlarged if framework == "torch" else keras_enlarged
            errors[f"{channels} channels, {layout}"] = error(enlarge(x, layout), resize(x, SIZE))
    return errors


def torch_enlarged(x: np.ndarray, layout: str) -> np.ndarray:
    import torch

    from trainspeed.worker.backends.torch_training import MEMORY_FORMATS, _enlarged

    batch = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=MEMORY_FORMATS[layout])
    return _enlarged(batch, SIZE).permute(0, 2, 3, 1).numpy()


def keras_enlarged(x: np.ndarray, layout: str) -> np.ndarray:
    import keras

    from trainspeed.worker.models.keras_input import Enlarge

    last = layout == "channels_last"
    enlarged = Enlarge(SIZE, data_format=layout)(x if last else x.transpose(0, 3, 1, 2))
    images_out = keras.ops.convert_to_numpy(enlarged)
    return images_out if last else images_out.transpose(0, 2, 3, 1)


# The models.


def torch_models_found(names: list[str]) -> dict[str, Any]:
    import torch

    from trainspeed.worker.models import torch_models

    facts: dict[str, Any] = {name: torch_model(name) for name in names}
    with torch.device("meta"):  # shapes only
        large = seen_of(torch_models.build_torch("vgg16"), torch.empty(1, 3, 224, 224))
    facts["vgg16 at 224"] = {"forward_flops": large.forward_flops}
    facts["cnn10"] = counted_backwards("cnn10")
    return facts


def seen_of(model: Any, batch: Any) -> Any:
    from trainspeed.worker.models.torch_inspect import Seen

    return Seen(model, batch, nullcontext())


def torch_model(name: str) -> dict[str, Any]:
    import torch
    from torch import nn

    from trainspeed.worker.models import torch_models

    model = torch_models.build_torch(name).eval()
    x = torch.from_numpy(images()).permute(0, 3, 1, 2).contiguous()
    seen = seen_of(model, x)
    products = [
        (math.prod(out.shape[2:]), module.weight.numel())
        for module, _, out in seen.rows
        if isinstance(module, nn.Conv2d | nn.Linear)
    ]
    with torch.no_grad():
        pooled = model.backbone.forward_features(x).mean((2, 3))
        logits, by_hand = model(x), pooled @ model.head.weight.T + model.head.bias
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "logits": list(logits.shape),
        "dropout": model.dropout.p,
        "head_error": error(logits.numpy(), by_hand.numpy()),
        "forward_flops": seen.forward_flops / BATCH,
        "flops": seen.flops_per_image(),
        "analytic_flops": training_flops(products),
    }


def counted_backwards(name: str) -> dict[str, float]:
    """A training step's FLOPs by torch's own counter, of a model without depthwise convolutions."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from trainspeed.worker.models import torch_models

    model, x = torch_models.build_torch(name), torch.rand(BATCH, 3, SIZE, SIZE)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    return {
        "flops": seen_of(model, x).flops_per_image(),
        "counted_flops": counter.get_total_flops() / BATCH,
    }


def keras_models_found(names: list[str]) -> dict[str, Any]:
    return {name: keras_model(name) for name in names}


def keras_model(name: str) -> dict[str, Any]:
    import keras

    from trainspeed.worker.models import keras_inspect, keras_models

    keras.backend.clear_session()
    network = keras_models.build_keras(name, layout="channels_last", image_size=SIZE)
    pooling, dropout, dense = network.layers[-3:]
    both = keras.Model(network.input, [pooling.input, network.output])
    features, logits = map(keras.ops.convert_to_numpy, both(images(), training=False))  # traces nothing
    kernel, bias = (keras.ops.convert_to_numpy(weights) for weights in (dense.kernel, dense.bias))
    return {
        "parameters": keras_inspect.parameters(network),
        "logits": list(logits.shape),
        "dropout": dropout.rate,
        "head_error": error(logits, features.mean((1, 2)) @ kernel + bias),
        "flops": keras_inspect.flops_per_image(network),
    }


def main(framework: str, out: str, *names: str) -> None:
    facts = {"fit": fit(framework), "enlarging": enlarging_errors(framework)}
    facts["models"] = (torch_models_found if framework == "torch" else keras_models_found)(names)
    with open(out, "w") as file:
        json.dump(facts, file)
