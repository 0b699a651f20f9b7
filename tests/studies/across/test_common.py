"""Which trials several sides have, how they are named, and what is said of those that only one has."""

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from sides_data import blocks, common_of
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.studies.across import common
from trainspeed.studies.across.common import failed, median_of, timed

OLD, NEW = "20250101T000000Z-aaaa", "20260101T000000Z-bbbb"


def only(found):
    (trial,) = found.trials
    return trial


def test_a_trial_counts_that_two_of_several_sides_have():
    found = common_of(
        a=blocks(1.0), b=blocks(1.0, batch_size=64), c=[*blocks(1.0), *blocks(1.0, batch_size=16)]
    )

    assert list(only(found).runs) == ["a", "c"]
    assert found.sides == ["a", "c"] and found.first == "a"
    assert [trial.batch_size for _, trial in found.alone["c"]] == [16]
    assert common.unmatched_side_sentences(found) == [
        "b has no trial that another side has, so it is compared with none: it has layout (1 trial)."
    ]


def test_the_first_side_that_has_anything_in_common_is_the_first():
    assert common_of(a=blocks(1.0, batch_size=64), b=blocks(1.0), c=blocks(1.0)).first == "b"


def test_checks_of_the_instrument_are_not_compared():
    probe = Run(session=OLD, study="check", trial=Probe(framework="torch", name="epoch"), block=0)
    assert len(common_of(a=[probe, *blocks(3.0)], b=[probe, *blocks(1.5)]).trials) == 1


@pytest.mark.parametrize("part", ["matmul", "copy", "exchange", "link"])
def test_what_repeats_its_work_until_it_takes_long_enough_is_not_compared_by_its_length(part):
    a, b = ([*blocks(s), *blocks(1.0, part=part)] for s in (3.0, 1.5))
    assert only(common_of(a=a, b=b)).trial.part == "both"


def test_another_base_seed_is_still_the_same_trial():
    shifted = [make_run(1.0, block=block, seed=100 + block, dataset="digits") for block in range(6)]
    assert list(only(common_of(a=blocks(2.0), b=shifted)).runs) == ["a", "b"]


@pytest.mark.parametrize("label", ["recipe", "confirmation", "A again", "default allocation"])
def test_runs_for_another_purpose_are_no_data(label):
    a = [*blocks(1.0, label="A"), *blocks(7.0, label=label)]
    assert len(only(common_of(a=a, b=blocks(1.0))).runs["a"]) == 6


def test_of_each_study_the_newest_session_counts():
    a = [*blocks(9.0, session=OLD), *blocks(1.0, session=NEW), *blocks(5.0, session=OLD, study="amp")]
    found = common_of(a=a, b=[*blocks(1.0), *blocks(5.0, study="amp")])
    medians = {trial.study: median_of(trial.runs["a"], "median_s") for trial in found.trials}
    assert medians == pytest.approx({"layout": 1.0, "amp": 5.0}, rel=0.01)


def test_the_same_trial_in_two_studies_is_two_trials():
    both = [*blocks(1.0), *blocks(1.0, study="amp")]
    assert list(common_of(a=both, b=both).studies) == ["amp", "layout"]


def test_a_run_that_was_measured_again_on_resuming_counts_once():
    crashed = make_run(block=0, status=Status.CRASHED, dataset="digits")
    own = only(common_of(a=[crashed, *blocks(1.0)], b=blocks(1.0))).runs["a"]
    assert (len(own), len(timed(own)), failed(own)) == (6, 6, [])


def test_a_failure_on_one_side_is_a_trial_without_a_time():
    oom = [make_run(block=0, status=Status.OOM, reason="too large", dataset="digits")]
    own = only(common_of(a=oom, b=blocks(1.0))).runs["a"]
    assert (median_of(own, "median_s"), timed(own), failed(own)) == (None, [], oom)


def test_memory_and_accuracy_are_medians_of_the_blocks_that_have_them():
    runs = blocks(1.0, count=2)
    runs.append(make_run(1.0, block=2, peak_memory_bytes=300, test_accuracy=0.5))
    runs.append(make_run(1.0, block=3, peak_memory_bytes=100, test_accuracy=None))
    assert (median_of(runs, "peak_memory_bytes"), median_of(runs, "test_accuracy")) == (200, 0.5)
    trial = make_convolution()
    assert median_of([make_call(trial, 0.5, block=0)], "test_accuracy") is None


# How trials are named.


def labels(runs):
    return [trial.label for trial in common_of(a=runs, b=runs).trials]


def test_a_label_is_what_tells_a_trial_from_the_others_of_its_study():
    runs = [*blocks(1.0, batch_size=128), *blocks(1.0, batch_size=64)]
    found = common_of(a=runs, b=runs)
    assert labels(runs) == ["batch 64", "batch 128"], "numbers in their order"
    assert common.common_setting_sentences("layout", found.trials) == [
        "All trials of layout: PyTorch, cnn10, channels_first, 16 px, default precision, not compiled."
    ]
    assert (
        ", ".join(found.trials[0].description)
        == "PyTorch, cnn10, channels_first, batch 64, 16 px, default precision, not compiled"
    )


def test_trials_that_are_described_alike_are_told_apart_by_their_fields():
    assert labels([*blocks(1.0, epochs=4), *blocks(1.0, epochs=5)]) == ["epochs 4", "epochs 5"]


def test_a_single_trial_is_named_in_full():
    found = common_of(a=blocks(1.0), b=blocks(1.0))
    assert only(found).label == ", ".join(only(found).description)
    assert common.common_setting_sentences("layout", found.trials) == []


# What is said of the others.


def test_trials_that_one_side_lacks_are_counted_with_what_keeps_them_apart():
    a = [*blocks(1.0), *blocks(1.0, images_per_epoch=256), *blocks(1.0, study="amp")]
    b = [*blocks(1.0), *blocks(1.0, images_per_epoch=512), *blocks(1.0, images_per_epoch=512, batch_size=64)]
    assert common.unmatched_sentences(common_of(a=a, b=b, c=a)) == [
        "layout: 1 trial of a not in b, 2 trials of b not in a; images_per_epoch 256 in a, 512 in b.",
        "amp: 1 trial of a not in b.",
    ]
    assert common.unmatched_sentences(common_of(a=a, b=a)) == []


@pytest.mark.parametrize(
    ("b", "message"),
    [
        (
            blocks(1.0, images_per_epoch=2048, batch_size=64),
            "a and b have no common trials: a has layout (1 trial), b has layout (1 trial); batch_size 32 in a, "
            "64 in b; images_per_epoch 128 in a, 2048 in b. Measure one with the parameters of the other.",
        ),
        (
            blocks(1.0, study="amp"),
            "a and b have no common trials: a has layout (1 trial), b has amp (1 trial). Measure one with the "
            "parameters of the other.",
        ),
        (
            blocks(1.0, label="recipe"),
            "a and b have no common trials: a has layout (1 trial), b has none at all. Measure one with the "
            "parameters of the other.",
        ),
    ],
)
def test_without_common_trials_the_message_says_what_each_side_has(b, message):
    with pytest.raises(UserError) as problem:
        common_of(a=blocks(1.0), b=b)
    assert str(problem.value) == message
