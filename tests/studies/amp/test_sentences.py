"""What the amp notebook says and advises, by made-up runs with known answers."""

import itertools
import re
from dataclasses import replace

import pytest

from amp_data import speedups
from study_data import make_run, make_trial
from trainspeed.core.format import NAMES
from trainspeed.core.frame import to_frame
from trainspeed.core.phase import CEILINGS
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.verdict import Outcome
from trainspeed.show import tables
from trainspeed.studies.amp.findings import (
    hardware_sentences,
    input_sentences,
    one_variant,
    precision_settings,
    skip_sentences,
    unsupported_sentences,
    untrained_models,
    without_untrained,
)

ZOO = {"model": "mobilenet", "image_size": 32, "layout": "channels_last"}
T4 = {"device": "gpu", "gpus": [{"name": "Tesla T4", "compute_capability": "7.5"}]}


def unsupported(reason="this CPU has no bf16 arithmetic", **more):
    return make_run(status=Status.UNSUPPORTED, reason=reason, **{**ZOO, **more})


# What is missing.


def test_a_reason_is_told_once_with_all_that_lack_it():
    runs = [
        unsupported(precision="bf16", framework=name, block=b) for b in range(2) for name in ("torch", "jax")
    ]
    runs += [unsupported("TF32 is a mode of NVIDIA GPUs", precision="tf32"), make_run(**ZOO)]
    runs += [unsupported("fp16 needs compute capability 7.0", precision="fp16")]

    assert unsupported_sentences(runs) == [
        "Not measured here: PyTorch tf32. TF32 is a mode of NVIDIA GPUs.",
        "Not measured here: PyTorch fp16. fp16 needs compute capability 7.0.",
        "Not measured here: PyTorch bf16, JAX bf16. This CPU has no bf16 arithmetic.",
    ]


def test_what_no_training_lacks_is_not_told():
    """A ceiling is no training, and a framework that is not there is told as such."""
    runs = [
        unsupported(precision="bf16", part="conv"),
        unsupported("torch: it is not installed", versions={}),
    ]

    assert unsupported_sentences(runs) == []


def test_the_articles_table_says_why_a_gpu_lacks_a_precision():
    runs = [unsupported(precision=name, machine=T4) for name in ("bf16", "bf16", "tf32")]

    assert hardware_sentences(runs) == [
        f"Turing (as the Tesla T4) has no {name} in its matrix units (article 003)."
        for name in ("bf16", "tf32")
    ]
    assert hardware_sentences([unsupported(precision="bf16")]) == [], "a CPU has no matrix units of the table"
    assert hardware_sentences([make_run(precision="fp16", machine=T4)]) == []


# What ran.


def test_skipped_steps_are_the_median_over_the_runs():
    runs = [make_run(block=b, skipped_steps=n, precision="fp16", **ZOO) for b, n in enumerate((1, 2, 9))]
    runs += [make_run(skipped_steps=0, precision="fp16", framework="tensorflow", **ZOO), make_run(**ZOO)]

    assert skip_sentences(runs) == [
        "TensorFlow, mobilenet, fp16: the loss scaler left out none of 16 steps (1 run).",
        "PyTorch, mobilenet, fp16: the loss scaler left out 2 of 16 steps, whose gradients overflowed "
        "(median of 3 runs).",
    ]
    turned = make_run(skipped_steps=10, precision="fp16", epoch_s=(3.0, *[1.0] * 52), **ZOO)
    assert "left out 10 of 212 steps" in skip_sentences([turned])[0], (
        "it trained 53 epochs, though asked for 4"
    )


@pytest.mark.parametrize(
    ("input_s", "words"),
    [((0.5, 2.0, 9.0), "is the bottleneck (200 %)"), ((0.1, 0.5, 0.5), "is not the bottleneck (50 %)")],
)
def test_the_input_is_compared_with_the_rest_by_medians(input_s, words):
    runs = [make_run(seconds, block=block, part="input", **ZOO) for block, seconds in enumerate(input_s)]
    runs += [make_run(1.0, part="compute", **ZOO), make_run(3.0, **ZOO)]
    (sentence,) = input_sentences(runs)

    assert sentence.startswith("PyTorch, mobilenet, default precision: reading and enlarging the images of ")
    assert sentence.endswith(f"the rest 1 s: the input {words}.")
    assert input_sentences(runs[:3]) == [], "nothing to compare with"


# Settings.


def code_of(text):
    (code,) = re.findall(r"```python\n(.*?)\n```", text, flags=re.DOTALL)
    return code


@pytest.mark.parametrize(
    ("framework", "precision"), [*itertools.product(FRAMEWORKS, ("tf32", "fp16", "bf16"))]
)
def test_settings_are_python(framework, precision):
    (text,) = precision_settings(speedups([2.0] * 6, precision, framework=framework))

    assert text.startswith(f"**{NAMES[framework]}**, {precision} (vgg16: 2.00x)")
    compile(code_of(text), "settings", "exec")


def test_fp16_scales_the_loss_and_bf16_does_not():
    lines = {
        p: code_of(precision_settings(speedups([2.0] * 6, p, framework="torch"))[0]) for p in ("fp16", "bf16")
    }

    assert "GradScaler" in lines["fp16"] and "torch.float16" in lines["fp16"]
    assert "scaler" not in lines["bf16"] and "torch.bfloat16" in lines["bf16"]


def test_what_was_not_faster_is_not_advised():
    slower, undecided = speedups([0.5] * 6), speedups([2.0] * 3, framework="torch")

    assert precision_settings([*undecided, *slower]) == [
        "**TensorFlow**: not faster: fp16 for vgg16 (0.50x); stay with fp32 there.",
        "**PyTorch**: undecided: fp16 for vgg16 (2.00x): measure 6 blocks or more.",
    ]
    other = speedups([1.1], model="resnet50")
    assert precision_settings([*slower, *other]) == [
        "**TensorFlow**: not faster: fp16 for vgg16 (0.50x); stay with fp32 there. Undecided: fp16 for resnet50 "
        "(1.10x): measure 6 blocks or more."
    ], "one model does not speak for another"
    assert precision_settings([]) == precision_settings(speedups([2.0] * 6, part="fit")) == []


def test_beside_what_was_faster_stands_where_it_was_not_and_what_costs_accuracy_is_not_advised():
    fast, slow = (
        speedups([2.0] * 6, framework="torch"),
        speedups([0.5] * 6, framework="torch", model="mobilenet"),
    )
    (text,) = precision_settings([*fast, *slow])
    assert text.partition("\n")[0].endswith("(vgg16: 2.00x); slower: mobilenet (0.50x)")

    worse = [
        replace(v, quantity="accuracy", judgement=replace(v.judgement, outcome=Outcome.WORSE)) for v in fast
    ]
    assert precision_settings(fast, worse) == [
        "**PyTorch**: faster, but less accurate: fp16 for vgg16 (2.00x); stay with fp32 there."
    ]
    other = speedups([1.5] * 6, framework="torch", model="resnet50")
    (text,) = precision_settings([*fast, *other], worse)
    assert "(resnet50: 1.50x); less accurate: vgg16" in text


# In words.


def test_a_ceiling_is_described_without_a_model():
    words = {c.name: make_trial(part=c.name, precision="bf16").describe() for c in CEILINGS}

    assert words == {
        "matmul": ["PyTorch", "bf16", "matrix products only"],
        "conv": ["PyTorch", "bf16", "convolutions only"],
        "copy": ["PyTorch", "bf16", "copies only"],
    }
    assert make_trial(part="latency").describe()[-1] == "small messages only"
    assert make_trial(part="input").describe()[-1] == "input only"


def test_failures_are_a_row_per_arm_whatever_the_fold_and_a_ceiling_names_no_model():
    runs = [unsupported(precision="bf16", folds=5, fold=block, block=block) for block in range(3)]
    runs += [unsupported(precision="bf16", folds=5, fold=0, part="fit"), make_run(folds=5, fold=0, **ZOO)]
    runs += [unsupported(precision="bf16", part="conv", images_per_epoch=40, epochs=9)]
    table = tables.failures_table(to_frame(runs)).data

    assert list(zip(table["what"], table["count"], strict=True)) == [
        ("PyTorch mobilenet, channels_last, batch 32, bf16, whole steps", 3),
        ("PyTorch mobilenet, channels_last, batch 32, bf16, with validation and checkpoint", 1),
        ("PyTorch, convolutions only, bf16", 1),
    ]


def test_folds_are_repeats_of_one_row_of_the_results():
    runs = [make_run(folds=5, fold=block, block=block, **ZOO) for block in range(3)]

    assert list(tables.results_table(to_frame(runs)).data["blocks"]) == [3]


# Of whom it is told.


def test_models_that_guess_are_not_compared_in_accuracy():
    guess = [make_run(**ZOO, precision=name, test_accuracy=0.1) for name in ("fp32", "bf16")]
    learned = [
        make_run(framework="jax", **ZOO, precision=name, test_accuracy=0.7) for name in ("fp32", "bf16")
    ]

    kept, told = without_untrained([*guess, *learned])

    assert kept == learned
    assert untrained_models([*guess, *learned]) == ["mobilenet in PyTorch"] and untrained_models(kept) == []
    assert told == [
        "PyTorch, mobilenet: 10 % in fp32 is near chance (10 %): it has not learned yet, so accuracy is not "
        "compared. Train more epochs."
    ]


@pytest.mark.parametrize(
    ("classes", "accuracy", "chance"), [(2, 0.55, "50 %"), (3, 0.4, "33.3 %"), (100, 0.1, "1 %")]
)
def test_what_is_near_chance_depends_on_the_number_of_classes(classes, accuracy, chance):
    """Of the way from guessing to knowing a ninth counts as learned: 20 % with ten classes."""
    runs = [make_run(**ZOO, classes=classes, test_accuracy=accuracy)]
    better = [make_run(**ZOO, classes=classes, test_accuracy=accuracy + 0.05)]

    assert without_untrained(runs)[0] == []
    assert f"near chance ({chance})" in without_untrained(runs)[1][0]
    folded = [make_run(**ZOO, classes=classes, test_accuracy=accuracy, folds=5)]
    where = "near" if classes == 100 else "at"  # 10 % of 200 images is more than one in a hundred by luck
    assert (
        f"is {where} chance (guessing gets {chance} of 200 images right, " in without_untrained(folded)[1][0]
    )
    assert without_untrained(better) == (better, [])


def test_one_variant_mixes_no_layouts_and_compilers():
    """The control's second run may be the one whose model was looked at."""
    plain = make_run(**ZOO)
    jax = make_run(framework="jax", **ZOO)
    others = [make_run(**ZOO, compile=True), make_run(**{**ZOO, "layout": "channels_first"})]
    again = make_run(**ZOO, label="A again")

    runs = RunSet((plain, jax, *others, again))
    assert list(one_variant(runs, "channels_last", False)) == [plain, jax, again]
