"""Which trials the amp notebook measures."""

import itertools
from dataclasses import replace

import pytest

from trainspeed.core.errors import UserError
from trainspeed.core.trial import FRAMEWORKS, PRECISIONS
from trainspeed.studies.amp.plan import amp_trials, part_trials

EQUAL = {"layout": "channels_last", "images_per_epoch": 64, "epochs": 3, "folds": 5, "pipeline": "resize"}


def trials(frameworks=("torch",), models=("mobilenet",), precisions=("fp32", "bf16"), **more):
    given = {"keras_models": models, "image_size": 32, "batch_size": 8, **EQUAL, **more}
    return amp_trials(frameworks, models, given.pop("keras_models"), precisions, **given)


def test_torch_has_its_models_and_keras_has_its_own():
    found = {
        (t.framework, t.model) for t in trials(FRAMEWORKS, ["mobilenet", "vgg16"], keras_models=["resnet50"])
    }

    assert found == {
        ("torch", "mobilenet"),
        ("torch", "vgg16"),
        ("tensorflow", "resnet50"),
        ("jax", "resnet50"),
    }


def test_every_model_runs_in_every_precision():
    found = trials(models=["mobilenet", "vgg16"], precisions=PRECISIONS)

    assert [(t.model, t.precision) for t in found] == list(
        itertools.product(["mobilenet", "vgg16"], PRECISIONS)
    )


def test_0_is_the_shape_of_the_article():
    """It prints batch and pixels of the first four; the others have those of B0."""
    models = ["vgg16", "mobilenet", "resnet50", "efficientnet_b0", "efficientnet_b5"]
    found = trials(models=models, precisions=["fp32"], image_size=0, batch_size=0)

    assert [(t.batch_size, t.image_size) for t in found] == [(8, 224), (16, 160), *[(16, 224)] * 3]
    (half,) = trials(models=["vgg16"], precisions=["fp32"], image_size=64, batch_size=0)
    assert (half.batch_size, half.image_size) == (8, 64)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"precisions": ["bf16"]}, r"^precisions \(=\['bf16'\]\) must hold 'default' or 'fp32': all others"),
        ({"precisions": []}, r"^precisions \(=\[\]\) must hold 'default' or 'fp32'"),
        ({"precisions": ["fp32", "fp8"]}, "unknown precision 'fp8'"),
        (
            {"image_size": -1},
            r"^image_size \(=-1\) must be a whole number of at least 0: 0 is the article's own",
        ),
        (
            {"batch_size": -1},
            r"^batch_size \(=-1\) must be a whole number of at least 0: 0 is the article's own",
        ),
        ({"image_size": 16}, r"^image_size \(=16\) is too small for mobilenet: 32 px or more\.$"),
        ({"models": ["vgg17"]}, "unknown model 'vgg17': did you mean 'vgg16'"),
        ({"frameworks": ["pytorch"]}, "unknown framework 'pytorch': did you mean 'torch'"),
        ({"frameworks": []}, "^nothing to measure: frameworks, models or keras_models is empty"),
        ({"models": []}, "^nothing to measure"),
        ({"layout": []}, "^layout is an empty list"),
        ({"weights": "imagnet"}, "unknown weights 'imagnet': did you mean 'imagenet'"),
        ({"folds": 1}, r"^folds \(=1\) must be a whole number of at least 2"),
        ({"folds": 2000}, r"^folds \(=2000\) is more than the 1,000 images that are split into them: lower"),
    ],
)
def test_bad_input_is_one_clear_line(wrong, words):
    with pytest.raises(UserError, match=words) as caught:
        trials(**wrong)
    assert "\n" not in str(caught.value)


def test_a_fold_may_be_one_image():
    assert {t.folds for t in trials(folds=1000)} == {1000}


def test_parts_are_those_of_some_frameworks():
    core = trials(["torch", "tensorflow"])
    found = part_trials(core, ("input", "compute"), ["torch"])

    assert [(t.framework, t.precision, t.part) for t in found] == [
        ("torch", precision, part) for precision in ("fp32", "bf16") for part in ("input", "compute")
    ]
    assert {replace(t, part="both") for t in found} <= set(core)
    assert part_trials(core, ("fit",), []) == ()
    with pytest.raises(UserError, match="unknown framework 'tensorflw': did you mean 'tensorflow'"):
        part_trials(core, ("fit",), ["tensorflw"])


def test_weights_that_do_not_exist_are_refused():
    with pytest.raises(UserError, match="cnn10"):
        trials(models=("mobilenet", "cnn10"), weights="imagenet")
    with pytest.raises(UserError, match="did you mean 'imagenet'"):
        trials(weights="imagnet")
