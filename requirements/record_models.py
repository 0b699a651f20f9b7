"""Write the list of the models that timm or keras.applications has, as it is installed here: after `lock.sh`.

Run it in the environment of the framework, from the project's root:
    .venvs/torch/bin/python requirements/record_models.py timm
    .venvs/jax/bin/python requirements/record_models.py keras

A line a model: its name, the image size that it was made for, the least that it takes (the same for a model that takes
no other), whether it has channels_first, and the FLOPs of a forward pass at its own size. FLOPs are empty where they
cannot be counted, and sizes where a model does not classify square images of three channels. timm's models are built
without memory for their weights, Keras's without being run.
"""

from __future__ import annotations

import csv
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "lib/trainspeed/core/library_models"
PASSES = 3  # forward, gradients of the input, gradients of the weights
MOBILENET_V3_PX = 224, 32
SIZES_PX = (32, 48, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512)  # tried from below
Row = tuple[str, int | None, int | None, bool, int | None]


def timm_models() -> Iterator[Row]:
    """Yield a row for each model of timm."""
    import timm
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def fits(model: torch.nn.Module, px: int) -> int | None:
        """Return the FLOPs at a size; None where the model does not take it."""
        try:
            with torch.no_grad(), FlopCounterMode(display=False) as counter:
                logits = model(torch.zeros(2, 3, px, px, device="meta"))
        except Exception:
            return None
        return counter.get_total_flops() // 2 if tuple(logits.shape) == (2, 10) else None

    for name in timm.list_models():
        cfg = timm.get_pretrained_cfg(name)
        channels, height, width = cfg.input_size if cfg else (3, 224, 224)
        with torch.device("meta"):
            try:
                # Torch's counter cannot take weights with gradients that a module is given, such as class tokens.
                model = timm.create_model(name, num_classes=10).eval().requires_grad_(False)
            except Exception as problem:
                print(f"{name}: {problem}", file=sys.stderr)
                height = 0
        flops = fits(model, height) if (channels, height) == (3, width) else None
        if flops is None:
            yield name, None, None, True, None
            continue
        smaller = (px for px in SIZES_PX if px < height and fits(model, px) is not None)
        least = height if cfg and cfg.fixed_input_size else next(smaller, height)
        yield name, height, least, True, flops or None


def keras_models() -> Iterator[Row]:
    """Yield a row for each model of keras.applications."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    from trainspeed.worker.models.keras_inspect import flops_per_image

    def built(make: Callable[..., keras.Model], layout: str, px: int) -> keras.Model | None:
        """Return a model; None where it does not have that layout."""
        keras.config.set_image_data_format(layout)
        keras.backend.clear_session()
        try:
            return make(
                weights=None,
                classes=10,
                input_shape=(3, px, px) if layout == "channels_first" else (px, px, 3),
            )
        except ValueError as problem:
            print(f"{make.__name__}, {layout}: {problem}", file=sys.stderr)
            return None

    for name, make in sorted(vars(keras.applications).items()):
        if inspect.isfunction(make):
            keras.config.set_image_data_format("channels_last")
            px, least = sizes_of(make)
            flops = flops_per_image(built(make, "channels_last", px))
            first = built(make, "channels_first", px) is not None
            yield name, px, least, first, flops and round(flops / PASSES)


def sizes_of(make: Callable[..., Any]) -> tuple[int, int]:
    """Return the size that a model of Keras was made for, and the least, as it passes them on to be checked."""
    from keras.src.applications import imagenet_utils

    class Told(Exception):
        """Ends the making of the model."""

    def tell(_shape: object, default_size: int, min_size: int, **_: object) -> None:
        raise Told(default_size, min_size)

    theirs, imagenet_utils.obtain_input_shape = imagenet_utils.obtain_input_shape, tell
    try:
        make(weights=None)
    except Told as told:
        return told.args
    finally:
        imagenet_utils.obtain_input_shape = theirs
    return MOBILENET_V3_PX  # which checks them itself


def main(library: str) -> None:
    """Write the file of a library."""
    warnings.simplefilter("ignore")
    rows = {"timm": timm_models, "keras": keras_models}[library]
    with (FOLDER / f"{library}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "px", "least_px", "channels_first", "forward_flops"))
        for name, px, least, first, flops in rows():
            writer.writerow((name, px, least, int(first), flops))
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
