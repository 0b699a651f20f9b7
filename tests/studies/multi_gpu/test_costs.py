from dataclasses import replace

import pytest

from study_data import MACHINE, make_run
from trainspeed.core.errors import UserError
from trainspeed.core.trial import LATENCY_BYTES
from trainspeed.judge.forecast import ring_allreduce_s
from trainspeed.studies.multi_gpu.costs import (
    NO_FORECAST,
    SUMS_PER_EPOCH,
    check_forecast,
    cost_sentences,
    exchange_trials,
    forecasts,
    interconnect_of,
    share_trials,
    step_costs,
)
from trainspeed.studies.multi_gpu.scaling import scaling_trials, scaling_verdicts

COUNT = 1_000_000  # parameters: 4 MB of gradients
ALPHA_S, BYTES_PER_S = 1e-3, 1e9
GPU = {**MACHINE, "device": "gpu"}


def trials(counts=(1, 2), frameworks=("torch",)):
    equal = {"model": "cnn10", "layout": "channels_last", "images_per_epoch": 64, "epochs": 3}
    return scaling_trials(frameworks, ("mirrored", "ddp"), counts, batch_size=[8], **equal)


def epochs(step_s, trial):
    return 9.0, *[step_s * trial.steps_per_epoch] * 3


def sums_of(trial, alpha_s=ALPHA_S, bytes_per_s=BYTES_PER_S):
    size = LATENCY_BYTES if trial.part == "latency" else 4 * COUNT
    return ring_allreduce_s(size, trial.devices, alpha_s, 1 / bytes_per_s)


def runs_of(given, step_s, machine=MACHINE, blocks=1, **more):
    return [
        make_run(
            trial=trial,
            block=block,
            epoch_s=epochs(step_s(trial), trial),
            images_per_epoch=trial.images_per_epoch,
            parameters=COUNT if trial.part == "both" else None,
            machine=machine,
            **more,
        )
        for trial in given
        for block in range(blocks)
    ]


def test_one_device_is_measured_with_its_share_of_each_batch():
    found = share_trials(trials())

    assert [(t.devices, t.strategy, t.batch_size) for t in found] == [
        (1, "single", 4),  # strong scaling: half of 8 images
        (1, "single", 8),  # weak scaling: the batch of one device
    ]


def test_the_exchange_is_measured_once_a_model_and_number_of_devices_with_two_sizes():
    found = exchange_trials(trials(counts=(1, 2, 4), frameworks=("tensorflow", "torch")))

    assert [(t.part, t.devices) for t in found] == [
        ("exchange", 2),
        ("latency", 2),
        ("exchange", 4),
        ("latency", 4),
    ]
    assert {t.steps_per_epoch for t in found} == {SUMS_PER_EPOCH}


def test_a_step_is_taken_apart_into_share_exchange_and_rest():
    given = [t for t in trials() if t.batch_size == 8]
    given += [*share_trials(given), *exchange_trials(given)]

    def step_s(trial):
        if trial.part != "both":
            return sums_of(trial)
        return 0.100 if trial.devices == 2 else 0.020 * trial.batch_size

    costs = step_costs(runs_of(given, step_s))
    (cost,) = costs.itertuples()

    assert (cost.framework, cost.what, cost.devices) == ("torch", "cnn10, batch 8", "2 devices (ddp)")
    assert cost.step_s == pytest.approx(0.100)
    assert cost.compute_s == pytest.approx(0.080)  # 4 of the 8 images
    assert cost.exchange_s == pytest.approx(2e-3 + 4e6 / 1e9)
    assert cost.exchange_bytes == 4 * COUNT
    assert cost.rest_s == pytest.approx(0.014)
    (sentence,) = cost_sentences(costs)
    assert "a step takes 100 ms. One device alone takes 80 ms for its share of 4 images; summing" in sentence
    assert "of 4 MB takes 6 ms with nothing beside it. The other 14 ms (14 %) are launching" in sentence


def test_parts_that_ran_side_by_side_are_told_as_such():
    given = [t for t in trials() if t.batch_size == 8 and t.devices == 2]
    seconds = {"both": 0.09, "exchange": 0.02, "latency": 0.001}
    runs = runs_of(
        [*given, *share_trials(given), *exchange_trials(given)],
        lambda trial: 0.1 if trial in given else seconds[trial.part],
    )

    (sentence,) = cost_sentences(step_costs(runs))
    assert sentence.endswith("Together that is 10 ms more than the step: so much ran side by side.")


def test_a_framework_without_an_exchange_of_its_own_has_it_in_the_rest():
    given = [t for t in trials(frameworks=("tensorflow",)) if t.devices == 2 and t.batch_size == 8]
    runs = runs_of([*given, *share_trials(given)], lambda trial: 0.1 if trial in given else 0.04)

    (sentence,) = cost_sentences(step_costs(runs))
    assert "The other 60 ms (60 %) are the exchange, launching" in sentence
    assert cost_sentences(step_costs(runs[:1])) == cost_sentences(step_costs([])) == []


def test_precisions_are_told_apart_where_there_are_several():
    (trial,) = [t for t in trials() if t.devices == 2 and t.batch_size == 8]
    costs = step_costs(
        runs_of([replace(trial, precision=name) for name in ("fp32", "bf16")], lambda trial: 0.1)
    )

    assert list(costs["what"]) == ["cnn10, fp32, batch 8", "cnn10, bf16, batch 8"]


def test_the_interconnect_is_found_from_sums_between_gpus():
    given = [*trials(), *exchange_trials(trials())]
    runs = runs_of(given, lambda t: 0.1 if t.part == "both" else sums_of(t), machine=GPU)

    found = interconnect_of(runs, alpha_s=None, bytes_per_s=None)

    assert found.alpha_s == pytest.approx(ALPHA_S)
    assert 1 / found.beta_s_per_byte == pytest.approx(BYTES_PER_S)
    assert found.source == "measured on 2 devices"


def test_cpu_cores_have_no_interconnect_but_one_can_be_given():
    given = [*trials(), *exchange_trials(trials())]
    runs = runs_of(given, lambda t: 0.1)

    assert interconnect_of(runs, alpha_s=None, bytes_per_s=None) is None
    assert interconnect_of(runs, alpha_s=2e-6, bytes_per_s=1e10).source == "given"


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        ({"alpha_s": 1e-6, "bytes_per_s": None}, "link_alpha_s"),
        ({"alpha_s": None, "bytes_per_s": 1e9}, "go together"),
        ({"alpha_s": 1e-6, "bytes_per_s": 0.0}, "must be positive"),
        ({"alpha_s": -1.0, "bytes_per_s": 1e9}, "alpha_s"),
    ],
)
def test_constants_that_make_no_sense_are_refused(constants, said):
    with pytest.raises(UserError, match=said):
        interconnect_of([], **constants)


def test_a_forecast_starts_from_one_device_and_is_checked_against_those_measured():
    given = [t for t in trials() if t.batch_size == 8]
    # 60 ms of compute on one device; on two 30 ms and 6 ms of sums, none of it hidden.
    runs = runs_of(given, lambda t: 0.060 if t.devices == 1 else 0.036, blocks=6)
    link = interconnect_of(runs, alpha_s=ALPHA_S, bytes_per_s=BYTES_PER_S)

    rows, (sentence,) = forecasts(runs, scaling_verdicts(runs), [2, 4], link, overlap=0.0)

    assert list(rows["devices"]) == [2, 4]
    assert rows["speedup"].iloc[0] == pytest.approx(0.060 / 0.036)
    assert rows["speedup"].iloc[1] == pytest.approx(0.060 / (0.015 + 6e-3 + 1.5 * 4e6 / 1e9))
    assert sentence.startswith("PyTorch, cnn10, ddp: Forecast, not measured: 4 devices give")
    assert "checked against 2 devices: off by 0 % on average" in sentence


def test_without_an_interconnect_nothing_is_forecast():
    runs = runs_of(trials(), lambda t: 0.1, blocks=6)

    rows, sentences = forecasts(runs, scaling_verdicts(runs), [2, 4], None, overlap=1.0)

    assert rows.empty and sentences == []
    link = interconnect_of(runs, alpha_s=ALPHA_S, bytes_per_s=BYTES_PER_S)
    rows, sentences = forecasts(runs, scaling_verdicts(runs), [], link, overlap=1.0)
    assert rows.empty and sentences == [], "and without a number of devices"
    assert "No forecast" in NO_FORECAST


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((None, None, [0], 1.0), "devices"),
        ((None, None, [2], 7.0), "overlap"),
        ((1e-6, None, [2], 1.0), "go together"),
    ],
)
def test_a_forecast_that_cannot_be_made_is_refused_before_anything_is_measured(arguments, said):
    with pytest.raises(UserError, match=said):
        check_forecast(*arguments)
    check_forecast(None, None, [], 1.0)
    check_forecast(1e-6, 1e9, [2, 4], 0.5)


def test_without_the_small_message_the_interconnect_is_not_known():
    given = [*trials(), *(t for t in exchange_trials(trials()) if t.part == "exchange")]
    runs = runs_of(given, lambda t: 0.1, machine=GPU)

    assert interconnect_of(runs, alpha_s=None, bytes_per_s=None) is None


def test_data_parallel_gathers_on_one_device_and_has_no_ring():
    ddp = [t for t in trials() if t.batch_size == 8]
    gathered = [replace(t, strategy="data_parallel") for t in ddp if t.devices == 2]
    runs = runs_of([*ddp, *gathered, *exchange_trials(ddp)], lambda t: 0.06, blocks=6)
    link = interconnect_of(runs, alpha_s=ALPHA_S, bytes_per_s=BYTES_PER_S)

    exchanges = step_costs(runs).set_index("devices")["exchange_s"].notna()
    rows, _ = forecasts(runs, scaling_verdicts(runs), [2, 4], link, overlap=0.0)

    assert exchanges["2 devices (ddp)"] and not exchanges["2 devices (data_parallel)"]
    assert set(rows["strategy"]) == {"ddp"}
