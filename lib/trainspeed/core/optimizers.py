"""The optimizer that each model is trained with: written down once, the same in every framework and in pasted code."""

from __future__ import annotations

from dataclasses import dataclass

from trainspeed.core.library_model import is_library_model
from trainspeed.core.trial import WIDE_RESNET, ZOO
from trainspeed.core.user_model import is_user_model

# Equal everywhere. Keras and torch have other defaults (1e-7, 1e-8); both add it outside the root.
ADAM_EPSILON = 1e-7
RMSPROP_RHO = 0.9  # torch calls it alpha and has 0.99


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Optimiser of a model. The loss is softmax cross-entropy on logits; weights are He normal, biases 0.

    Attributes:
        optimizer: "adam", "rmsprop" or "sgd".
        momentum: Only SGD has one.
    """

    optimizer: str
    learning_rate: float
    momentum: float = 0.0


def recipe(model: str) -> Recipe:
    """Return the recipe of a model. Those of `ZOO` and of libraries have initialisations of their own.

    Source: the articles' CNN uses Adam's defaults; cnn_keras is Keras's example cifar10_cnn.py as in
    article 002, its decay of 1e-6 per step left out; Zagoruyko and Komodakis, Wide Residual Networks,
    https://arxiv.org/abs/1605.07146, section 3, for SGD with momentum 0.9 and learning rate 0.1; article
    003 for the models of `ZOO`, and so for those of their libraries. Users' models are trained as the articles' CNN.

    Raises:
        NotImplementedError: The model has a name, and no recipe.
    """
    if WIDE_RESNET.fullmatch(model):
        return Recipe(optimizer="sgd", learning_rate=0.1, momentum=0.9)
    if model in ZOO or is_library_model(model):
        return Recipe(optimizer="adam", learning_rate=1e-4)
    if model == "cnn_keras":
        return Recipe(optimizer="rmsprop", learning_rate=1e-4)
    if model == "cnn10" or is_user_model(model):
        return Recipe(optimizer="adam", learning_rate=1e-3)
    raise NotImplementedError(f"no recipe for the model {model!r} in core/optimizers.py")
