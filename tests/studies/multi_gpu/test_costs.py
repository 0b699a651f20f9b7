from dataclasses import replace

import pytest

from multi_gpu_data import COUNT, runs_of, sums_s, trials
from trainspeed.studies.multi_gpu.costs import cost_sentences, share_trials, step_costs
from trainspeed.studies.multi_gpu.links import one_device_share, overlap_trials


def test_one_device_is_measured_with_its_share_of_each_batch():
    found = share_trials(trials())

    assert [(t.devices, t.strategy, t.batch_size) for t in found] == [
        (1, "single", 4),  # strong scaling: half of 8 images
        (1, "single", 8),  # weak scaling: the batch of one device
    ]


def test_a_step_is_taken_apart_into_share_exchange_and_rest():
    given = [t for t in trials() if t.batch_size == 8]
    given += overlap_trials(given)

    def step_s(trial):
        if trial.part != "both":
            return sums_s(trial)
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
    assert sentence.endswith("hides behind computing is not measured: it is under 10 % of the step.")


def test_a_step_of_seconds_is_told_without_an_exponent():
    """A ResNet50 on a core took "1.5e+03 ms" a step."""
    given = [t for t in trials() if t.batch_size == 8 and t.devices == 2]
    given += [one_device_share(trial) for trial in given]

    (sentence,) = cost_sentences(step_costs(runs_of(given, lambda trial: 0.75 * trial.devices)))

    assert "a step takes 1,500 ms. One device alone takes 750 ms" in sentence


def test_a_step_and_its_share_are_of_the_blocks_that_have_both():
    """The share has more blocks, in which the machine was faster."""
    (trial,) = [t for t in trials() if t.devices == 2 and t.batch_size == 8]
    share = one_device_share(trial)
    quick = [replace(run, block=block) for block in (1, 2) for run in runs_of([share], lambda _: 0.04)]
    runs = [*runs_of([trial, share], lambda each: 0.1 if each == trial else 0.08), *quick]

    (cost,) = step_costs(runs).itertuples()
    assert (cost.step_s, cost.compute_s) == (pytest.approx(0.1), pytest.approx(0.08))
    (apart,) = step_costs([run for run in runs if run.block or run.trial.devices == 2]).itertuples()
    assert apart.compute_s == pytest.approx(0.04), "no block has both"


def test_parts_that_ran_side_by_side_are_told_as_such():
    given = [t for t in trials() if t.batch_size == 8 and t.devices == 2]
    seconds = {"both": 0.09, "exchange": 0.02}
    runs = runs_of(
        [*given, *overlap_trials(given)],
        lambda trial: 0.1 if trial in given else seconds[trial.part],
    )

    (sentence,) = cost_sentences(step_costs(runs))
    assert "Together that is 10 ms more than the step: so much ran side by side." in sentence
    assert sentence.endswith(" Of the exchange, 50 % (measured on 2 devices) hides behind computing.")


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


def test_only_ddp_has_an_exchange_that_is_measured_alone():
    ddp = [t for t in trials() if t.batch_size == 8]
    gathered = [replace(t, strategy="data_parallel") for t in ddp if t.devices == 2]
    runs = runs_of([*ddp, *gathered, *overlap_trials(ddp)], lambda t: 0.06)

    exchanges = step_costs(runs).set_index("devices")["exchange_s"].notna()
    assert exchanges["2 devices (ddp)"] and not exchanges["2 devices (data_parallel)"]
