"""Models of timm and keras.applications by their own names: what is known of them before anything runs."""

import pytest

from study_data import make_trial
from trainspeed.conduct.estimates import run_s
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.errors import UserError
from trainspeed.core.format import model_of
from trainspeed.core.library_model import find_library_model, is_library_model, models_of
from trainspeed.core.trial import Trial

VIT = "timm/vit_small_patch16_224"


def planned(model, **fields):
    return TrialSet(trials=(make_trial(model=model, **fields),), blocks=6)


@pytest.mark.parametrize("model", ["timm/resnet18", "keras/EfficientNetV2B0"])
def test_a_model_that_its_library_has_can_be_planned(model):
    assert planned(model, image_size=32).trials[0].model == model


WRONG = {
    "timm/vit_smal_patch16_224": "did you mean 'timm/vit_small_patch16_224'",
    "keras/efficientnetv2b0": "did you mean 'keras/EfficientNetV2B0'",
    "timm/resnet50.a1_in1k": "leave the tag 'a1_in1k' of its weights out, they are drawn at random: timm/resnet50.",
    "keras/ResNet-50": "did you mean 'keras/ResNet50'",
    "timm/": "models, none of such a name",
    "keras/Zzzzzzzz": "keras.applications has 40 models, none of such a name.",
}


@pytest.mark.parametrize("model", WRONG)
def test_an_unknown_name_is_found_as_it_is_planned_with_a_suggestion(model):
    with pytest.raises(UserError, match="unknown model") as raised:
        planned(model, image_size=224)

    assert WRONG[model] in str(raised.value)
    assert len(str(raised.value)) < 300, "no list of all models"


@pytest.mark.parametrize(
    ("model", "meant"),
    [("resnet18", "timm/resnet18"), ("tim/resnet18", "timm/resnet18"), ("Xception", "keras/Xception")],
)
def test_a_name_without_its_library_is_told_with_it(model, meant):
    with pytest.raises(UserError, match=f"did you mean .*{meant}"):
        make_trial(model=model)


def test_a_transformer_of_a_fixed_size_takes_no_other():
    assert planned(VIT, image_size=224)
    with pytest.raises(UserError, match=r"image_size \(=32\) is not what .*: 224 px and no other"):
        planned(VIT, image_size=32)


def test_the_least_size_is_that_of_the_library():
    assert planned("keras/Xception", image_size=71)
    with pytest.raises(UserError, match="too small for keras/Xception: 71 px or more"):
        planned("keras/Xception", image_size=64)


def test_weights_are_refused_and_not_forgotten():
    with pytest.raises(UserError, match=r"weights .* cannot be loaded into timm/resnet18"):
        make_trial(model="timm/resnet18", weights="imagenet")


def test_a_ledger_of_another_version_is_read_whatever_the_list_has():
    trial = make_trial(model="timm/of_another_version")

    assert Trial.from_dict(trial.as_dict()) == trial


def test_a_file_in_a_folder_of_that_name_is_a_users_model():
    assert not is_library_model("timm/my.py:build") and not is_library_model("timm/a b")
    assert make_trial(model="keras/my.py:build").model == "keras/my.py:build"


def test_the_library_stays_in_the_name():
    """Trainspeed's resnet50 has another head than timm's."""
    assert model_of("timm/resnet50") == "timm/resnet50" and model_of("nets/my.py:build") == "my.py:build"


@pytest.mark.parametrize("library", ["timm", "keras"])
def test_the_lists_are_whole(library):
    models = [model for model in models_of(library).values() if model.px]

    assert len(models) > {"timm": 1000, "keras": 35}[library]
    assert all(8 <= model.least_px <= model.px <= 1024 for model in models)
    counted = [model.forward_flops for model in models if model.forward_flops]
    assert len(counted) > 0.9 * len(models) and min(counted) > 1e6


def test_known_models_have_their_published_flops():
    """In multiply-adds: 1.8 and 4.1 billion of ResNet-18 and 50, 4.6 of ViT-S/16, 0.39 of EfficientNet B0."""
    published = {"timm/resnet18": 1.8e9, "timm/resnet50": 4.1e9, VIT: 4.6e9, "keras/EfficientNetB0": 0.39e9}
    for name, multiply_adds in published.items():
        found = find_library_model(name)
        assert found.px == 224 and found.forward_flops / 2 == pytest.approx(multiply_adds, rel=0.06), name


def test_a_larger_model_is_expected_to_take_longer():
    small, large = (make_trial(model=f"timm/{name}", image_size=224) for name in ("resnet18", "resnet152"))

    assert run_s(large, "cpu") > 1.5 * run_s(small, "cpu")
