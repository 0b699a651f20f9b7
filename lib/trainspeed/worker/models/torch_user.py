"""A user's torch model: call its function, and check that the model can be trained."""

from __future__ import annotations

import torch
from torch import nn

from trainspeed.core import user_model
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid

TRIED_IMAGES = 2  # images of the batch that the model is tried with


def build_user_torch(model: str, *, layout: str, image_size: int, classes: int, seed: int) -> nn.Module:
    """Return the module that the user's function returns for (3, height, width), the classes and the layout.

    The function need not heed the layout: the memory format is changed afterwards.

    Raises:
        Unsupported, Invalid: As raised by `user_code.call`, or Invalid for what is no module from
            (batch, 3, height, width) images to (batch, classes) logits, or has nothing to train.
    """
    shape = (3, image_size, image_size)
    made = user_code.call(model, shape, classes, layout, framework="torch", seed=seed)
    if not isinstance(made, nn.Module):
        raise Invalid(f"{model} must return a torch.nn.Module, not {user_code.type_name(made)}")
    first = next(made.parameters(), None)
    images = torch.zeros(TRIED_IMAGES, *shape, device=None if first is None else first.device)
    try:
        with torch.no_grad():
            logits = made.eval()(images)  # draws lazy weights, too
    except Exception as problem:
        text = user_code.exception_text(problem, user_model.find_model(model))
        raise Invalid(f"{model}: its model raised {text}, on images of {tuple(images.shape)}") from problem
    if not isinstance(logits, torch.Tensor):
        raise Invalid(
            f"{model}: its model must return one tensor of logits, not {user_code.type_name(logits)}"
        )
    if logits.shape != (TRIED_IMAGES, classes):
        raise Invalid(
            f"{model}: its model returns {tuple(logits.shape)} for images of {tuple(images.shape)}: it must be "
            f"{(TRIED_IMAGES, classes)}, a logit for each class"
        )
    if not any(p.requires_grad for p in made.parameters()):
        raise Invalid(f"{model}: its model has no trainable weights")
    made.train()
    return made
