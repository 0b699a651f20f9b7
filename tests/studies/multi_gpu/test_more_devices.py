"""What more devices would give: forecasts from made-up runs, with answers worked out by hand."""

from dataclasses import replace

import pytest

from multi_gpu_data import ALPHA_S, BYTES_PER_S, link_run, runs_of, trials
from trainspeed.judge.interconnect import LinkClass
from trainspeed.studies.multi_gpu.links import Links, exchange_of, link_trials, links_of, overlap_trials
from trainspeed.studies.multi_gpu.more_devices import NO_FORECAST, forecasts
from trainspeed.studies.multi_gpu.scaling import scaling_verdicts

GIVEN = links_of([], alpha_s=ALPHA_S, bytes_per_s=BYTES_PER_S)
STRONG = tuple(t for t in trials() if t.batch_size == 8)
SINGLE, STEP = STRONG


def test_it_starts_from_one_device_and_is_checked_against_those_measured():
    # 60 ms of compute on one device; on two 30 ms and 6 ms of sums, none of it hidden.
    runs = runs_of(STRONG, lambda t: 0.060 if t.devices == 1 else 0.036, blocks=6)

    rows, (sentence,) = forecasts(runs, scaling_verdicts(runs), [2, 4], GIVEN, overlap=0.0)

    assert list(rows["devices"]) == [2, 4]
    assert rows["speedup"].iloc[0] == pytest.approx(0.060 / 0.036)
    assert rows["speedup"].iloc[1] == pytest.approx(0.060 / (0.015 + 6e-3 + 1.5 * 4e6 / 1e9))
    assert sentence.startswith("PyTorch, cnn10, ddp: Forecast, not measured: 4 devices give")
    assert (
        "Checked against 2 devices: off by 0 % on average. Nothing was measured beyond 2 devices." in sentence
    )


def test_the_overlap_is_the_measured_one_and_then_its_own_step_is_no_check():
    """On two devices 30 ms of computing and 6 ms of sums make 33 ms: half of the sums hides."""
    given = [*STRONG, *overlap_trials(STRONG)]

    def step_s(trial):
        if trial.part == "exchange":
            return 0.006
        return {(1, 8): 0.060, (2, 8): 0.033, (1, 4): 0.030}[trial.devices, trial.batch_size]

    runs, whole = runs_of(given, step_s, blocks=6), runs_of(STRONG, step_s, blocks=6)
    rows, (sentence,) = forecasts(runs, scaling_verdicts(whole), [2, 4], GIVEN, overlap=None)

    assert rows["speedup"].tolist() == pytest.approx([0.060 / 0.033, 0.060 / (0.015 + 0.012 / 2)])
    assert "that 50 % (measured on 2 devices, 50 % to 50 %) of that hides" in sentence
    assert "Not checked: the step on 2 devices gave the overlap." in sentence


def test_without_a_measured_overlap_nothing_is_taken_to_hide_and_that_is_said():
    runs = runs_of(STRONG, lambda t: 0.060 / t.devices, blocks=6)
    rows, (sentence,) = forecasts(runs, scaling_verdicts(runs), [2], GIVEN, overlap=None)

    assert rows["speedup"].tolist() == pytest.approx([0.060 / 0.036])
    assert "none of that hides behind the backward pass, since the overlap was not measured" in sentence


def test_a_batch_cannot_be_shared_by_more_devices_than_it_has_images():
    """Weak scaling has no such limit."""
    runs = runs_of(trials(), lambda t: 0.06, blocks=6)
    rows, sentences = forecasts(runs, scaling_verdicts(runs), [8, 64, 1024], GIVEN, overlap=0.0)

    assert rows.groupby("scaling")["devices"].max().to_dict() == {"strong": 8, "weak": 1024}
    (strong,) = (sentence for sentence in sentences if "strong scaling" in sentence)
    assert strong.endswith("A batch of 8 images has none for each of 64 and 1024 devices.")


def test_devices_on_two_nodes_are_forecast_over_the_link_between_them():
    two_nodes = replace(STEP, nodes=2)
    sums = link_trials([STEP, two_nodes], shared_memory=False)
    links = links_of(
        [link_run(sums[0]), link_run(sums[1], bytes_per_s=BYTES_PER_S / 10)], alpha_s=None, bytes_per_s=None
    )
    runs = runs_of([SINGLE, STEP, two_nodes], lambda t: 0.060, blocks=6)
    rows, sentences = forecasts(runs, scaling_verdicts(runs), [4], links, overlap=0.0)

    inside, across = 0.015 + 6e-3 + 6e-3, 0.015 + 6e-3 + 60e-3
    assert sorted(rows["speedup"], reverse=True) == pytest.approx([0.060 / inside, 0.060 / across])
    assert ["within a node" in sentence for sentence in sentences].count(True) == 1
    assert ["between nodes" in sentence for sentence in sentences].count(True) == 1


def test_a_forecast_across_nodes_says_how_many_devices_each_has_and_rules_out_no_other_placement():
    """Four devices on two nodes are measured, too: "nothing beyond 2 devices" was false beside them."""
    spread = [replace(STEP, nodes=2), replace(STEP, devices=4, nodes=2)]
    runs = runs_of([SINGLE, *spread], lambda t: 0.060, blocks=6)
    _, (sentence,) = forecasts(runs, scaling_verdicts(runs), [8], GIVEN, overlap=0.0)

    assert "not measured: 8 devices, 1 on each node, give" in sentence
    assert sentence.endswith("Nothing was measured beyond 2 devices placed so.")


def test_without_a_link_nothing_is_forecast():
    runs = runs_of(trials(), lambda t: 0.1, blocks=6)

    rows, sentences = forecasts(runs, scaling_verdicts(runs), [2, 4], Links(), overlap=None)
    assert rows.empty and sentences == []
    rows, sentences = forecasts(runs, scaling_verdicts(runs), [], GIVEN, overlap=None)
    assert rows.empty and sentences == [], "and without a number of devices"
    assert "No forecast" in NO_FORECAST


def test_a_link_whose_times_fit_no_ring_is_told():
    runs = runs_of(trials(), lambda t: 0.1, blocks=6)
    rows, (sentence,) = forecasts(
        runs, scaling_verdicts(runs), [2], Links(unfit=(LinkClass.WITHIN,)), overlap=None
    )
    assert rows.empty
    assert sentence.startswith(
        "No forecast over the links within a node: the times of their sums are those of no ring"
    )


def test_data_parallel_gathers_on_one_device_and_has_no_ring():
    gathered = replace(STEP, strategy="data_parallel")
    runs = runs_of([*STRONG, gathered, exchange_of(STEP)], lambda t: 0.06, blocks=6)
    rows, _ = forecasts(runs, scaling_verdicts(runs), [2, 4], GIVEN, overlap=0.0)
    assert set(rows["strategy"]) == {"ddp"}
