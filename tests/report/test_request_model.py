"""What MODEL does to a report's notebooks and parameters."""

import pytest

import trainspeed.report.run
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.report.request import new_session, with_model

NOTEBOOKS = ROOT / "notebooks"
PRESETS = ("smoke", "quick", "standard", "article")
TORCH = "import torch\ndef build(input_shape, classes, layout): ..."
KERAS = "import keras\ndef build(input_shape, classes, layout): ..."


def session(model, *, preset="quick", notebooks=(), params=None):
    given = {"preset": preset, "notebooks": notebooks, "params": params, "model": model}
    return new_session(**given, has_gpu=False, folder=NOTEBOOKS)


def lists_of_frameworks(values):
    known = {"tensorflow", "torch", "jax"}
    return {name: v for name, v in values.items() if isinstance(v, list) and v and set(v) <= known}


def test_the_notebooks_that_train_a_model_run_with_the_front_page_last(own):
    names = session(own(TORCH)).notebooks

    assert {"layout", "amp", "multi_gpu"} <= set(names)
    assert not {"conv2d", "compare"} & set(names)
    assert names[-1] == "summary"


def test_a_notebook_that_trains_none_is_refused_where_it_is_named(own):
    with pytest.raises(UserError, match=r'conv2d trains no model.*NOTEBOOKS=".*layout.*" or fewer'):
        session(own(TORCH), notebooks=("layout", "conv2d"))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("source", "fits"), [(TORCH, {"torch"}), (KERAS, {"tensorflow", "jax"})])
def test_every_preset_trains_that_model_alone_in_the_frameworks_it_is_for(own, preset, source, fits):
    model = own(source)

    asked = dict(session(model, preset=preset).parameters)
    assert asked.pop("check")["frameworks"]  # the instrument is checked, with a model of ours
    assert "summary" in asked and "models" not in asked.pop("summary")  # which trains nothing by itself
    for values in asked.values():
        models = {
            name: v for name, v in values.items() if name.endswith("models") and name != "survey_models"
        }
        assert models and all(v == [model] for v in models.values())
        assert values.get("survey_models", []) == []
        listed = lists_of_frameworks(values)
        assert listed["frameworks"] and all(v and set(v) <= fits for v in listed.values())
        assert values.get("weights") is None


def test_a_list_that_is_empty_stays_so_and_one_that_would_be_is_the_models_first_framework(own):
    values = {"frameworks": ["tensorflow", "torch"], "controls": [], "fit_frameworks": ["torch"], "blocks": 3}

    changed = with_model(values, own(KERAS))

    assert changed["frameworks"] == ["tensorflow"]
    assert changed["controls"] == [] and changed["fit_frameworks"] == ["tensorflow"]
    assert changed["blocks"] == 3


def test_data_of_ones_own_take_the_place_of_auto_and_of_nothing_that_was_named(own):
    model = own(TORCH + "\ndef data(image_size): ...")

    assert with_model({"dataset": "auto"}, model) == {"dataset": "own"}
    assert with_model({"dataset": "digits"}, model) == {"dataset": "digits"}
    assert with_model({"dataset": "auto"}, own(TORCH)) == {"dataset": "auto"}


@pytest.mark.parametrize(
    ("model", "px", "fits"),
    [("timm/vit_small_patch16_224", 224, {"torch"}), ("keras/Xception", 71, {"tensorflow", "jax"})],
)
def test_a_model_of_a_library_gets_images_of_a_size_that_it_takes(model, px, fits):
    asked = dict(session(model).parameters)

    assert asked.pop("check")["image_size"] < 32, "which trains a model of ours"
    del asked["summary"]
    for values in asked.values():
        assert values["models"] == [model] and values["image_size"] == px
        assert all(set(names) <= fits for names in lists_of_frameworks(values).values())
    assert with_model({"models": [], "image_size": 320}, "keras/Xception")["image_size"] == 320


def test_a_model_that_its_library_lacks_is_found_before_anything_runs():
    with pytest.raises(UserError, match="did you mean 'timm/resnet18'"):
        session("timm/resnt18")


def test_what_a_parameter_file_says_comes_before_the_model(own, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("layout: {survey_models: [cnn10], blocks: 7}")

    values = session(own(TORCH), params=file, notebooks=("layout",)).parameters["layout"]

    assert (values["survey_models"], values["blocks"], values["models"]) == (["cnn10"], 7, ["my.py:build"])


@pytest.mark.parametrize(
    ("source", "message"),
    [("def other(): ...", "has no function 'build'. Known: other"), ("def build(", "line 1 is not Python")],
)
def test_a_wrong_file_is_found_before_anything_runs(own, tmp_path, source, message):
    out = tmp_path / "out"

    for command in (trainspeed.report.run.report, trainspeed.report.run.plan):
        with pytest.raises(UserError, match=message):
            command(preset="smoke", out=out, model=own(source))

    assert not out.exists()


def test_a_session_that_names_a_model_has_no_folder_of_this_machine_in_it(own, tmp_path):
    assert str(tmp_path) not in str(session(own(TORCH)))
