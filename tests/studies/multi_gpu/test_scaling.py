from dataclasses import replace

import pytest

from scaling_data import halved, measured, trials
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import SINGLE
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.multi_gpu.scaling import (
    STRONG,
    WEAK,
    device_counts,
    devices_sentences,
    left_out_sentences,
    scaling_frame,
    scaling_of,
    scaling_sentences,
    scaling_verdicts,
    unanswered_sentences,
)


@pytest.mark.parametrize(
    ("asked", "most", "available", "found"),
    [
        ([], 2, 8, [1, 2]),
        ([], 0, 8, [1, 2, 4, 8]),
        ([], 0, 6, [1, 2, 4]),
        ([], 0, 1, [1]),
        ([], 4, 2, [1, 2]),
        ([4, 2], 2, 8, [1, 2, 4]),
        ([3], 0, 4, [1, 3]),
    ],
)
def test_device_counts(asked, most, available, found):
    assert device_counts(asked, most, available) == found


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, 9])
def test_a_wrong_count_is_named(wrong):
    with pytest.raises(UserError, match="devices"):
        device_counts([wrong], 0, 8)


def test_a_wrong_count_is_named_by_the_parameter_it_stands_in():
    with pytest.raises(UserError, match=r"^pipeline_devices \(=9\) is more .* Lower pipeline_devices\.$"):
        device_counts([9], 0, 8, name="pipeline_devices")
    with pytest.raises(UserError, match=r"^pipeline_devices \(=0\) must be a whole number"):
        device_counts([0], 0, 8, name="pipeline_devices")


def test_one_device_and_both_kinds_of_scaling_are_measured():
    found = {(t.framework, t.strategy, t.devices, t.batch_size) for t in trials()}

    assert found == {
        *((framework, SINGLE, 1, 8) for framework in ("tensorflow", "torch", "jax")),
        *((framework, "mirrored", 2, batch) for framework in ("tensorflow",) for batch in (8, 16)),
        *(("torch", strategy, 2, batch) for strategy in ("ddp", "data_parallel") for batch in (8, 16)),
        *(("jax", "data_parallel", 2, batch) for batch in (8, 16)),
    }


def test_a_strategy_that_no_framework_has_is_one_clear_line():
    with pytest.raises(UserError, match="unknown strategy 'mirored': did you mean 'mirrored'"):
        trials(strategies=("mirored",))
    with pytest.raises(UserError, match="unknown kind of scaling 'wek'"):
        trials(kinds=("wek",))


@pytest.mark.parametrize("strategies", [(), ("mirrored",)])
def test_several_devices_without_a_strategy_for_them_are_one_clear_line(strategies):
    with pytest.raises(
        UserError, match=r"^strategies \(=.*\) has none for torch: name one or more of data_parallel, ddp, or"
    ):
        trials(frameworks=("torch",), strategies=strategies)
    assert {t.devices for t in trials(frameworks=("torch",), strategies=strategies, counts=(1,))} == {1}


def test_no_kind_of_scaling_is_one_clear_line():
    with pytest.raises(UserError, match=r"^compared is an empty list: name strong, weak or both\.$"):
        trials(kinds=())


def test_a_weak_batch_beyond_the_epoch_is_left_out_and_said():
    """Batch 8 on each of 16 devices is 128 images, and an epoch has 64; the strong ones stay."""
    found = trials(counts=(1, 8, 16), frameworks=("torch",), strategies=("ddp",), asked=(8,))

    assert [(t.devices, t.batch_size) for t in found] == [(1, 8), (8, 8), (8, 64)]
    assert left_out_sentences(found, (1, 8, 16)) == [
        "Left out: batch 8 cannot be shared evenly by 16 devices.",
        "Left out: batch 128 on 16 devices is more than an epoch of 64 images.",
    ]
    assert left_out_sentences(found, (1, 8)) == []


def test_what_is_left_out_is_said_once_whatever_the_frameworks_and_models():
    assert len(left_out_sentences([*trials(), *trials()], (1, 16))) == 2


def test_a_batch_that_the_devices_cannot_share_is_an_error_only_where_they_were_named():
    weak = trials(counts=(1, 3), frameworks=("torch",), strategies=("ddp",))
    assert [(t.devices, t.batch_size) for t in weak] == [(1, 8), (3, 24)]

    with pytest.raises(UserError, match=r"batch_size \(=8\) must be divisible by devices \(=3\)"):
        trials(counts=(1, 3), frameworks=("torch",), strategies=("ddp",), asked=(3,))


def test_strategies_that_only_other_frameworks_have_are_left_out():
    assert {t.strategy for t in trials(frameworks=("torch",))} == {SINGLE, "ddp", "data_parallel"}


def test_on_one_device_nothing_is_compared_and_the_report_says_so():
    runs = measured(halved, counts=(1,))

    assert scaling_verdicts(runs) == []
    assert "More than one device: not measured here." in devices_sentences(runs, {"device": "cpu"})
    assert unanswered_sentences(runs, {"device": "gpu"}) == [
        "Whether a second device pays was not measured here: every training ran on one GPU."
    ]
    assert unanswered_sentences([], {}) == unanswered_sentences(measured(halved), {"device": "gpu"}) == []


def test_strong_and_weak_are_told_apart_and_compared_with_the_right_batch():
    verdicts = scaling_verdicts(measured(halved))

    assert [scaling_of(v) for v in verdicts] == [STRONG] * 4 + [WEAK] * 4
    for verdict in verdicts:
        assert (verdict.baseline.devices, verdict.baseline.strategy, verdict.baseline.batch_size) == (
            1,
            SINGLE,
            8,
        )
        assert verdict.candidate.batch_size == (8 if scaling_of(verdict) == STRONG else 16)
        assert verdict.factor == "devices"
        assert verdict.outcome == Outcome.FASTER
        assert verdict.speedup == pytest.approx(2)


def test_a_sentence_names_devices_batch_and_efficiency():
    sentences = scaling_sentences(
        scaling_verdicts(measured(halved, frameworks=("torch",), strategies=("ddp",)))
    )

    assert len(sentences) == 2
    assert sentences[0].startswith("Strong scaling: 2 devices (ddp) vs 1 device: 2.00x")
    assert "batch 8," in sentences[0]
    assert "batch 8 on each device" in sentences[1]
    assert "Efficiency 100 % (100 % to 100 %) of 2 times: near ideal." in sentences[0]


def test_what_several_devices_learn_is_compared_with_what_one_does():
    runs = [
        make_run(trial=t, test_accuracy=0.8 - 0.1 * (t.devices > 1))
        for t in trials(frameworks=("torch",), strategies=("ddp",))
    ]
    verdicts = scaling_verdicts(runs, "accuracy")

    assert {v.quantity for v in verdicts} == {"accuracy"} and all(v.low is None for v in verdicts)
    assert [round(v.speedup, 1) for v in verdicts] == [-10.0] * len(verdicts)


@pytest.mark.parametrize(("speedup", "words"), [(1.2, "far from ideal"), (0.5, "far from ideal")])
def test_a_poor_efficiency_is_called_poor(speedup, words):
    runs = measured(lambda t: 4.0 / (speedup if t.devices > 1 else 1))
    assert all(words in sentence for sentence in scaling_sentences(scaling_verdicts(runs)))


def test_without_runs_there_is_an_empty_frame_with_its_columns():
    frame = scaling_frame([])
    assert {"framework", "model", "strategy", "scaling", "devices", "speedup"} <= set(frame.columns)
    assert frame.empty


def test_runs_are_found_by_their_trial_whatever_its_seed_and_data_set():
    first, *others = trials()
    runs = [make_run(trial=replace(t, seed=5, dataset="digits")) for t in (first, *others)]

    assert [run.trial.framework for run in RunSet(tuple(runs)).of([first])] == [first.framework]
    assert len(RunSet(tuple(runs)).of([first, *others])) == len(runs)
    assert not RunSet(tuple(runs)).of([])
