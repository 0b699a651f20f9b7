"""What the amp notebook asks, by made-up runs with known answers."""

from dataclasses import replace

from amp_data import accuracies, speedups
from study_data import make_pair, make_run
from trainspeed.core.trial import FRAMEWORKS, PRECISIONS
from trainspeed.judge.comparison import compare
from trainspeed.studies.amp.findings import ordered, precision_settings, precision_verdicts

ZOO = {"model": "mobilenet", "image_size": 32, "layout": "channels_last"}


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


def test_all_precisions_are_compared_with_the_default_one_and_the_lower_ones_with_fp32_too():
    seconds = {"default": 1.0, "fp32": 2.0, "tf32": 1.0, "bf16": 0.5}
    runs = [
        make_run(s, block=block, precision=name, **ZOO) for block in range(6) for name, s in seconds.items()
    ]
    found = [(v.baseline.precision, v.candidate.precision, v.speedup) for v in precision_verdicts(runs)]

    assert found == [
        ("default", "fp32", 0.5),
        ("default", "tf32", 1.0),
        ("default", "bf16", 2.0),
        ("fp32", "tf32", 2.0),
        ("fp32", "bf16", 4.0),
    ]
    (advice,) = precision_settings(precision_verdicts(runs))
    assert "bf16 (mobilenet: 2.00x)" in advice, "what a script gains that says nothing of its precision"


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
