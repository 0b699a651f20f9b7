"""The optimizer in a program to paste: the one that was measured, with its numbers."""

from __future__ import annotations

from trainspeed.core.optimizers import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.core.trial import Trial

CLASSES = {"adam": "Adam", "rmsprop": "RMSprop", "sgd": "SGD"}


def optimizer_of(trial: Trial, keywords: str = "") -> str:
    """Return the optimizer that a trial was measured with, as its framework's class is called.

    Args:
        keywords: Further arguments, to stand behind the others: ", fused=True".
    """
    own, torch = recipe(trial.model), trial.framework == "torch"
    names = ("model.parameters(), lr", "alpha", "eps") if torch else ("learning_rate", "rho", "epsilon")
    rate, rho, epsilon = names
    numbers = {
        "adam": f"{epsilon}={ADAM_EPSILON}",
        "rmsprop": f"{rho}={RMSPROP_RHO}, {epsilon}={ADAM_EPSILON}",
        "sgd": f"momentum={own.momentum}",
    }[own.optimizer]
    module = "torch.optim" if torch else "keras.optimizers"
    return f"{module}.{CLASSES[own.optimizer]}({rate}={own.learning_rate}, {numbers}{keywords})"
