"""Names of comparisons that stand alone."""

from dataclasses import replace

import pytest

from conv2d_data import CORE
from conv2d_data import make_run as make_conv2d_run
from study_data import make_pair, make_run
from trainspeed.core.factors import RECIPE
from trainspeed.judge.answer import shared_words
from trainspeed.judge.comparison import verdict_between
from trainspeed.judge.text import interval_of, size_of, switched_in_short, switched_on
from trainspeed.judge.verdict import Judgement, Outcome
from trainspeed.studies.conv2d.findings import residency_verdicts


def named(factor, values, **more):
    baseline, candidate = make_pair(factor, values, [1.0], **more)
    return verdict_between([baseline], [candidate], factor, "?").name


@pytest.mark.parametrize(
    ("factor", "values", "name"),
    [
        (
            "layout",
            ("channels_first", "channels_last"),
            "channels_last vs channels_first, PyTorch, cnn10, batch 32",
        ),
        ("compile", (False, True), "compiled vs not compiled, PyTorch, cnn10, channels_first, batch 32"),
        ("batch_size", (32, 64), "batch 64 vs batch 32, PyTorch, cnn10, channels_first"),
        ("precision", ("fp32", "bf16"), "bf16 vs fp32, PyTorch, cnn10, channels_first, batch 32"),
        ("pipeline", ("arrays", "in_model"), "in_model vs arrays, PyTorch, cnn10, channels_first, batch 32"),
        (
            "framework",
            ("torch", "tensorflow"),
            "TensorFlow vs PyTorch, cnn10, channels_first, batch 32",
        ),
    ],
)
def test_a_name_says_what_is_compared_and_where(factor, values, name):
    assert named(factor, values) == name


def test_a_control_and_devices_keep_their_label():
    run = make_run()
    control = verdict_between([run], [run], "control", "?")
    assert control.name == control.label
    two = make_run(devices=2, strategy="ddp")
    assert verdict_between([run], [two], "devices", "?").name.startswith("2 devices (ddp), PyTorch")


def test_a_convolution_has_its_size_and_only_what_is_not_one():
    runs = [make_conv2d_run(trial) for trial in CORE[:2]]
    verdict = verdict_between([runs[0]], [runs[1]], "library", "?")
    assert verdict.name == "PyTorch vs TensorFlow (graph), 840 images of 100×100, 3×3"
    wide = replace(verdict, candidate=replace(verdict.candidate, channels=3, filters=8))
    assert wide.name.endswith("840 images of 100×100, 3 channels, 8 filters, 3×3")


def test_calls_whose_data_stay_are_named():
    (verdict, *_) = residency_verdicts([make_conv2d_run(CORE[0], block=b) for b in range(6)], CORE)
    assert verdict.name.startswith("data that stay on the device vs a round trip, TensorFlow (graph), 840")


def test_switches_are_counted_one_by_one_whatever_field_of_a_trial_holds_them():
    """Two levers are one factor in which trials differ, and two switches."""
    trial = make_run(framework="tensorflow", levers=(("threads", "all"),)).trial
    levers = (("steps_per_call", "epoch"), ("threads", "one"))
    best = replace(trial, precision="bf16", levers=levers)
    named = switched_on(replace(trial, precision="default"), best)
    assert named == ["bf16", "all steps of an epoch in one call", "one thread"]
    assert switched_in_short(replace(trial, precision="default"), best) == "3 switches"
    assert switched_in_short(best, replace(best, levers=(levers[1],))) == f"without {named[1]}"


def test_all_switches_together_name_what_both_sides_share():
    """The plain side's threads are none of a set that has one thread."""
    plain = make_run()
    one = replace(plain, trial=replace(plain.trial, levers=(("threads", "all"),)))
    other = replace(one, trial=replace(one.trial, precision="bf16", levers=(("threads", "one"),)))

    verdict = verdict_between([one], [other], RECIPE, "?")
    assert verdict.name == "all switches together, PyTorch, cnn10"
    assert "threads on all cores" not in verdict.sentence and "default precision" not in verdict.sentence
    assert "threads on all cores" not in shared_words([verdict])
    same = replace(other, trial=replace(other.trial, levers=one.trial.levers))
    assert "threads on all cores" in verdict_between([one], [same], RECIPE, "?").name


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.0164, 1.1049, "1.016 to 1.105"),
        (1.021, 1.1, "1.02 to 1.10"),
        (0.9, 0.983, "0.900 to 0.983"),
        (1, 1.0199, "1.00 to 1.02"),
    ],
)
def test_an_interval_that_ends_just_within_the_margin_does_not_look_as_if_it_were_beyond(low, high, said):
    """Readers took "1.02 to 1.10: undecided" for a mistake."""
    judgement = Judgement(
        speedup=1.0, low=low, high=high, confidence=0.95, blocks=6, outcome=Outcome.UNDECIDED
    )
    assert interval_of(judgement) == said


def test_a_size_has_the_decimals_of_its_interval():
    judgement = Judgement(
        speedup=0.974, low=0.9712, high=0.9838, confidence=0.95, blocks=6, outcome=Outcome.UNDECIDED
    )
    assert (size_of(judgement), interval_of(judgement)) == ("0.974x", "0.971 to 0.984")
