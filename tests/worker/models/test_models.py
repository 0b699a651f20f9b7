"""The models are the same in every framework and layout: weights, outputs and first gradients."""

from __future__ import annotations

import numpy as np
import pytest

from probes.model_probe import FULL_SIZE, MODELS, UNBUILT
from trainspeed.core.trial import FRAMEWORKS, LAYOUTS, ZOO

ARMS = [(framework, layout) for framework in FRAMEWORKS for layout in LAYOUTS]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outputs(shared_worker, tmp_path_factory):
    """What every installed framework puts out, each from its own environment."""
    folder = tmp_path_factory.mktemp("probe")
    files = shared_worker.probed("probes.model_probe", folder, ".npz")
    return {framework: np.load(file) for framework, file in files.items()}


def of(outputs, framework: str):
    if framework not in outputs:
        pytest.skip(f"{framework} is not installed here")
    return outputs[framework]


@pytest.mark.parametrize(("framework", "layout"), ARMS)
@pytest.mark.parametrize("model", MODELS)
def test_has_the_weights_of_its_layers(outputs, framework, layout, model):
    assert of(outputs, framework)[f"{model}/{layout}/parameters"] == MODELS[model]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_has_the_published_number_of_weights_at_full_size(outputs, framework):
    numbers = of(outputs, framework)
    counts = {name: numbers.get(f"{name}/parameters") for name in FULL_SIZE}

    assert counts == FULL_SIZE | ({"wrn28_10": None} if framework == "jax" else {})


@pytest.mark.parametrize(("framework", "layout"), ARMS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("what", ["logits", "loss", "first_gradient", "dense_gradient"])
def test_same_weights_give_the_same_numbers(outputs, framework, layout, model, what):
    """Against torch with channels_first, by the relative error of the whole array.

    The gradient of the first layer has a wider tolerance in the deep model: a ReLU whose input is 0
    to within rounding may open in one framework and not in another, seen as 2 % there. A wrong
    padding or order changes it by its own size.
    """
    reference = of(outputs, "torch")[f"{model}/channels_first/{what}"]
    numbers = of(outputs, framework)[f"{model}/{layout}/{what}"]
    tolerance = 0.05 if (model, what) == ("wrn28_2", "first_gradient") else 1e-4

    assert numbers.shape == reference.shape
    assert np.linalg.norm(numbers - reference) <= tolerance * np.linalg.norm(reference)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_model_of_others_is_built_and_a_name_without_a_model_is_refused(outputs, framework):
    """Else it would train another model under that name. `test_names.py` holds our own to being built here."""
    numbers = of(outputs, framework)

    assert set(numbers["others"]) == set(ZOO)
    assert str(numbers["refusal"]).startswith(f"no model '{UNBUILT}' in worker/models/")


def test_the_weights_matter(outputs):
    """The comparison above can fail: the two models do not agree with each other."""
    numbers = of(outputs, "torch")

    assert (
        np.abs(numbers["cnn10/channels_first/logits"] - numbers["wrn28_2/channels_first/logits"]).max() > 0.1
    )
