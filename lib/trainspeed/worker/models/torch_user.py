"""A torch model of the user's own: call its function, and check that what comes can be trained."""

from __future__ import annotations

import torch
from torch import nn

from trainspeed.core import user_model
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid

TRIED_IMAGES = 2  # images of the batch that the model is tried with


def build(model: str, *, image_size: int, classes: int, layout: str, seed: int = 0) -> nn.Module:
    """Return what the user's function returns for (3, height, width), the number of classes and the layout.

    The layout is told to the function, but it need not heed it: the memory format is changed afterwards.

    Raises:
        Unsupported, Invalid: As `user_code.call`; or it is no module from (batch, 3, height, width) images to
            (batch, classes) logits, or has nothing to train.
    """
    shape = (3, image_size, image_size)
    made = user_code.call(model, shape, classes, layout, framework="torch", seed=seed)
    if not isinstance(made, nn.Module):
        raise Invalid(f"{model} must return a torch.nn.Module, not {user_code.kind(made)}")
    try:
        out = _tried(made, shape)
    except Exception as problem:
        said = user_code.exception_text(problem, user_model.find_model(model))
        raise Invalid(f"{model}: its model raised {said}, on images of {(TRIED_IMAGES, *shape)}") from problem
    if not isinstance(out, torch.Tensor):
        raise Invalid(f"{model}: its model must return one tensor of logits, not {user_code.kind(out)}")
    if out.shape != (TRIED_IMAGES, classes):
        raise Invalid(
            f"{model}: its model returns {tuple(out.shape)} for images of {(TRIED_IMAGES, *shape)}: it must be "
            f"{(TRIED_IMAGES, classes)}, a logit for each class"
        )
    if not any(p.requires_grad for p in made.parameters()):
        raise Invalid(f"{model}: its model has no trainable weights")
    return made


@torch.no_grad()
def _tried(module: nn.Module, shape: tuple[int, ...]) -> object:
    """Return what a module makes of black images; lazy weights are drawn by it."""
    first = next(module.parameters(), None)
    images = torch.zeros(TRIED_IMAGES, *shape, device=None if first is None else first.device)
    try:
        return module.eval()(images)
    finally:
        module.train()
