"""What MODEL does to a report: which notebooks run, and which of their parameters become the user's own model.

Goes by the names of the parameters, so a new notebook that has `models` needs nothing here. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainspeed.core import user_model
from trainspeed.core.errors import UserError
from trainspeed.core.trial import FRAMEWORKS, USER_DATA
from trainspeed.report import parameters

MODELS = "models"  # the parameter that a notebook on training has
SURVEY = "survey_models"  # further models, of which none is left


def notebooks_of_models(names: Sequence[str], folder: Path, *, asked: bool) -> tuple[str, ...]:
    """Return the notebooks that train a model.

    Args:
        asked: Whether the user named them: then one that trains no model is an error, else it is left out.
    Raises:
        UserError: A named notebook trains no model, or none is left.
    """
    training = [
        name
        for name in parameters.notebook_names(folder)
        if MODELS in parameters.read_notebook(folder / f"{name}.ipynb")
    ]
    others = [name for name in names if name not in training]
    if len(others) == len(names) or (asked and others):
        raise UserError(
            f"{others[0] if others else folder.name} trains no model, so MODEL cannot be measured there: use "
            f'NOTEBOOKS="{" ".join(training)}" or fewer.'
        )
    return tuple(name for name in names if name in training)


def with_model(values: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return a notebook's parameters with the user's model in place of all others.

    Lists of frameworks are cut to those that the model is for; a list that this would empty gets the model's
    first framework. The model brings its own weights, and its own data where its file has some.
    """
    frameworks = user_model.frameworks_of(model)
    changed = dict(values)
    for name, value in values.items():
        if name == SURVEY:
            changed[name] = []
        elif name == MODELS or name.endswith(f"_{MODELS}"):
            changed[name] = [model]
        elif isinstance(value, list) and value and set(value) <= set(FRAMEWORKS):
            changed[name] = [item for item in value if item in frameworks] or list(frameworks[:1])
        elif name == "weights":
            changed[name] = None
        elif name == "dataset" and value == "auto" and user_model.has_data(model):
            changed[name] = USER_DATA
    return changed
