"""A model that has a name is one that is trained as itself: with a recipe, and in the probe that builds all of them."""

import pytest

from probes.model_probe import FULL_SIZE, MODELS, UNBUILT
from trainspeed.core.optimizers import recipe
from trainspeed.core.trial import MODEL_NAMES, ZOO


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_a_model_has_a_recipe(model):
    assert recipe(model).learning_rate > 0


def test_a_users_model_is_trained_as_the_articles_network():
    assert recipe("shapes.py:build") == recipe("cnn10")


def test_a_name_without_a_recipe_is_refused():
    with pytest.raises(NotImplementedError, match=f"no recipe for the model '{UNBUILT}'"):
        recipe(UNBUILT)


def test_every_model_of_our_own_is_compared_between_frameworks():
    missing = {*MODEL_NAMES} - {*ZOO} - {*MODELS, *FULL_SIZE}

    assert not missing, f"add to tests/probes/model_probe.py:MODELS: {missing}"
