"""What the amp notebook asks, by made-up runs with known answers."""

import itertools
from dataclasses import replace

import pytest

from amp_data import accuracies, speedups
from study_data import make_pair, make_run
from trainspeed.core.errors import UserError
from trainspeed.core.trial import FRAMEWORKS, PRECISIONS
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.judge.comparison import compare
from trainspeed.studies.amp.findings import ordered, precision_verdicts
from trainspeed.studies.amp.plan import amp_trials, part_trials

EQUAL = {"layout": "channels_last", "images_per_epoch": 64, "epochs": 3, "folds": 5, "pipeline": "resize"}
ZOO = {"model": "mobilenet", "image_size": 32, "layout": "channels_last"}


def trials(frameworks=("torch",), models=("mobilenet",), precisions=("fp32", "bf16"), **more):
    given = {"keras_models": models, "image_size": 32, "batch_size": 8, **EQUAL, **more}
    return amp_trials(frameworks, models, given.pop("keras_models"), precisions, **given)


# Which trials.


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
        ({"precisions": ["bf16"]}, r"^precisions \(=\['bf16'\]\) must hold 'fp32': all others"),
        ({"precisions": []}, r"^precisions \(=\[\]\) must hold 'fp32'"),
        ({"precisions": ["fp32", "fp8"]}, "unknown precision 'fp8'"),
        ({"image_size": -1}, r"^image_size \(=-1\) must be a whole number from 8 to 1024"),
        ({"batch_size": -8}, r"^batch_size \(=-8\) must be a whole number of at least 1\.$"),
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


def test_ceilings_are_measured_in_each_precision_and_the_copy_once():
    found = ceiling_trials(["fp32", "bf16"], dataset="digits", seed=3)

    assert [(t.part, t.precision) for t in found] == [
        ("matmul", "fp32"),
        ("conv", "fp32"),
        ("matmul", "bf16"),
        ("conv", "bf16"),
        ("copy", "fp32"),
    ]
    assert {(t.framework, t.dataset, t.seed, t.folds) for t in found} == {("torch", "digits", 3, None)}


# Order.


def test_runs_are_ordered_by_framework_model_precision_and_block():
    wanted = [
        make_run(framework=framework, precision=precision, block=block, **ZOO | {"model": model})
        for framework in FRAMEWORKS
        for model in ("vgg16", "mobilenet", "efficientnet_b0")
        for precision in PRECISIONS
        for block in range(2)
    ]
    ceiling = make_run(part="matmul")

    assert list(ordered([ceiling, *reversed(wanted)]))[: len(wanted) // 3] == wanted[: len(wanted) // 3]
    assert list(ordered(reversed(wanted))) == wanted
    of_torch = [run for run in ordered([ceiling, *wanted]) if run.trial.framework == "torch"]
    assert of_torch[-1] is ceiling, "what is no model of the study comes last"


# Verdicts.


def test_precisions_are_compared_with_fp32_in_training_and_ordered():
    def pair(precision, **more):
        return make_pair("precision", ("fp32", precision), [2.0] * 6, **{**ZOO, **more})

    runs = [
        *pair("bf16", model="resnet50"),
        *pair("fp16", model="vgg16"),
        *pair("fp16", framework="tensorflow"),
    ]
    runs += [*pair("bf16", model="vgg16", part="fit"), *pair("bf16", part="matmul")]
    found = [(v.candidate.framework, v.candidate.model, v.candidate.part) for v in precision_verdicts(runs)]

    assert found == [
        ("tensorflow", "mobilenet", "both"),
        ("torch", "vgg16", "both"),
        ("torch", "resnet50", "both"),
        ("torch", "vgg16", "fit"),
    ]


def test_a_comparison_is_labelled_by_its_precisions():
    """Two precisions of one model differ in nothing else."""
    found = [*speedups([2.0] * 6, "fp16"), *speedups([1.5], "bf16")]

    assert [verdict.label for verdict in found] == [
        f"{name} vs fp32, TensorFlow, vgg16, channels_first, batch 32" for name in ("fp16", "bf16")
    ]


def test_the_sentences_of_time_and_accuracy_name_precision_and_part():
    (time,) = precision_verdicts(make_pair("precision", ("fp32", "bf16"), [2.0] * 6, **ZOO, part="fit"))
    (accuracy,) = accuracies([0.2] * 5, "bf16")

    assert time.sentence == (
        "bf16 vs fp32: 2.00x (95 % interval 2.00 to 2.00): faster. Test CPU (1 core), PyTorch 2.15.0, mobilenet, "
        "channels_last, batch 32, 32 px, not compiled, with validation and checkpoint, 6 blocks."
    )
    assert accuracy.sentence.startswith(
        "bf16 vs fp32: +0.2 points in test accuracy, no interval: undecided, measure 6 blocks or more. Test CPU"
    )


def test_an_accuracy_a_little_lower_is_no_minus_zero():
    (verdict,) = accuracies([-0.04] * 6)
    assert "+0.0 points in test accuracy (95 % interval +0.0 to +0.0): the same" in verdict.sentence


def test_runs_are_compared_across_folds_block_by_block():
    runs = [
        replace(run, trial=replace(run.trial, folds=5, fold=run.block % 5))
        for run in make_pair("precision", ("fp32", "fp16"), [2.0] * 6, **ZOO)
    ]
    (verdict,) = compare(runs, "precision", "fp32", "fp16", question="")

    assert (verdict.blocks, verdict.speedup) == (6, 2.0)


def test_weights_that_do_not_exist_are_refused():
    with pytest.raises(UserError, match="cnn10"):
        trials(models=("mobilenet", "cnn10"), weights="imagenet")
    with pytest.raises(UserError, match="did you mean 'imagenet'"):
        trials(weights="imagnet")
