import json

import pytest

from study_data import control_runs, layout_pair, make_pair, make_run
from trainspeed.core.run import Role, Status
from trainspeed.judge.comparison import as_json, compare, controls, ratios
from trainspeed.judge.verdict import Outcome

FIRST, LAST = "channels_first", "channels_last"
SIX = (1.31, 1.34, 1.34, 1.34, 1.34, 1.37)
KEYS = [
    "session",
    "study",
    "question",
    "quantity",
    "baseline",
    "candidate",
    "factor",
    "speedup",
    "low",
    "high",
    "confidence",
    "blocks",
    "outcome",
    "sentence",
]


def by_layout(runs, **more):
    return compare(runs, "layout", FIRST, LAST, question="Does it?", **more)


def one(verdicts):
    (verdict,) = verdicts
    return verdict


# Which runs are compared.


def on_nodes(nodes, seconds, layout):
    return [
        make_run(s, block=block, layout=layout, node=node)
        for block, (node, s) in enumerate(zip(nodes, seconds, strict=True))
    ]


def test_what_two_nodes_have_measured_is_never_paired():
    """The second node takes twice as long: paired across nodes, blocks 1 and 2 would be 3x and 0.75x."""
    first = on_nodes(("a-1", "a-2", "a-1", "a-2"), (1.5, 3.0, 1.5, 3.0), FIRST)
    last = on_nodes(("a-1", "a-1", "a-2", "a-2"), (1.0, 1.0, 2.0, 2.0), LAST)

    assert [(row["block"], row["ratio"]) for row in ratios([*first, *last], "layout", FIRST, LAST)] == [
        (0, 1.5),
        (3, 1.5),
    ]


def test_a_block_that_was_begun_on_a_node_that_was_lost_counts_as_it_was_measured_last():
    first = on_nodes(("a-1",), (9.0,), FIRST) + on_nodes(("a-2",), (1.5,), FIRST)
    last = on_nodes(("a-1",), (3.0,), LAST) + on_nodes(("a-2",), (1.0,), LAST)

    assert [row["ratio"] for row in ratios([*first, *last], "layout", FIRST, LAST)] == [1.5]
    assert [row["ratio"] for row in ratios([*first, last[0]], "layout", FIRST, LAST)] == [3.0]


def test_nodes_are_a_factor():
    runs = make_pair("nodes", (1, 2), SIX, strategy="ddp", devices=2)
    verdict = one(compare(runs, "nodes", 1, 2, question="Does it?"))

    assert verdict.sentence.startswith("2 nodes x 1 device vs 1 node x 2 devices: 1.34x (95 % interval")
    assert (
        verdict.label == "2 nodes x 1 device vs 1 node x 2 devices, PyTorch, cnn10, channels_first, batch 32"
    )


def test_speedup_is_that_of_the_candidate():
    verdict = one(by_layout(layout_pair(SIX)))
    assert (verdict.baseline.layout, verdict.candidate.layout) == (FIRST, LAST)
    assert (verdict.speedup, verdict.low, verdict.high) == pytest.approx((1.34, 1.31, 1.37))
    assert (verdict.outcome, verdict.blocks, verdict.factor) == (Outcome.FASTER, 6, "layout")


def test_runs_are_paired_by_block_whatever_their_order():
    """Each block is ten times slower than the one before; paired in another order nothing would fit."""
    runs = [
        make_run(seconds * 10**block, block=block, layout=layout)
        for block in range(6)
        for layout, seconds in ((FIRST, 1.5), (LAST, 1.0))
    ]
    shuffled = sorted(
        runs, key=lambda run: (run.trial.layout, -run.block if run.trial.layout == FIRST else run.block)
    )
    verdict = one(by_layout(shuffled))
    assert (verdict.low, verdict.high) == pytest.approx((1.5, 1.5))


def test_a_block_counts_only_where_both_arms_ended_well():
    runs = layout_pair(SIX)
    runs[0] = make_run(block=0, layout=FIRST, status=Status.TIMEOUT)
    runs[3] = make_run(block=1, layout=LAST, status=Status.CRASHED)
    verdict = one(by_layout(runs))
    assert (verdict.blocks, verdict.outcome, verdict.low) == (4, Outcome.UNDECIDED, None)


def test_epochs_of_a_run_that_did_not_end_well_do_not_count():
    """It may have been timed before it failed."""
    runs = layout_pair(SIX)
    runs[0] = make_run(
        block=0, layout=FIRST, status=Status.INVALID, epoch_s=(9.0, 9.0, 9.0), images_per_epoch=128
    )
    assert one(by_layout(runs)).blocks == 5


def test_an_arm_that_never_ended_well_gives_no_verdict():
    runs = [run for run in layout_pair(SIX) if run.trial.layout == FIRST]
    runs += [make_run(block=block, layout=LAST, status=Status.OOM) for block in range(6)]
    assert by_layout(runs) == []


def test_only_trials_that_differ_in_nothing_else_are_compared():
    """Batch 32 in one layout and batch 64 in the other are no pair."""
    runs = [make_run(block=block, layout=FIRST, batch_size=32) for block in range(6)]
    runs += [make_run(block=block, layout=LAST, batch_size=64) for block in range(6)]
    assert by_layout(runs) == []


def test_every_pair_gets_a_verdict_of_its_own():
    runs = layout_pair(SIX, batch_size=32) + layout_pair([1.0] * 6, batch_size=64)
    found = {v.baseline.batch_size: v.outcome for v in by_layout(runs)}
    assert found == {32: Outcome.FASTER, 64: Outcome.SAME}


@pytest.mark.parametrize(
    ("factor", "values"),
    [
        ("layout", (FIRST, LAST)),
        ("precision", ("fp32", "bf16")),
        ("compile", (False, True)),
        ("framework", ("torch", "tensorflow")),
        ("batch_size", (32, 128)),
        ("devices", (1, 8)),
        ("images_per_epoch", (128, 64)),
    ],
)
def test_any_factor_can_be_compared_beside_trials_that_it_does_not_fit(factor, values):
    """A batch of 12 cannot be split over 8 devices: no pair, and no error."""
    spread = {"strategy": "ddp"} if factor == "devices" else {}
    runs = make_pair(factor, values, SIX, **spread) + [
        make_run(batch_size=12, block=block) for block in range(6)
    ]
    verdict = one(compare(runs, factor, *values, question=""))
    assert getattr(verdict.baseline, factor) == values[0]
    assert getattr(verdict.candidate, factor) == values[1]


def test_frameworks_are_compared_at_the_same_setting_of_compile():
    runs = [
        run
        for compiled in (False, True)
        for run in make_pair("framework", ("torch", "tensorflow"), SIX, compile=compiled)
    ]
    verdicts = compare(runs, "framework", "torch", "tensorflow", question="")
    assert [(v.baseline.compile, v.candidate.compile) for v in verdicts] == [(False, False), (True, True)]


def test_jax_which_always_compiles_is_compared_with_both():
    runs = [make_run(1.2, block=b, compile=compiled) for b in range(6) for compiled in (False, True)]
    runs += [make_run(1.0, block=block, framework="jax") for block in range(6)]
    verdicts = compare(runs, "framework", "torch", "jax", question="")
    assert [(v.baseline.compile, v.candidate.compile) for v in verdicts] == [(False, True), (True, True)]
    assert len(compare(runs, "framework", "jax", "torch", question="")) == 2


def test_compile_is_not_ignored_between_layouts():
    runs = [make_run(block=block, layout=FIRST, compile=False) for block in range(6)]
    runs += [make_run(block=block, layout=LAST, compile=True) for block in range(6)]
    assert by_layout(runs) == []


def test_the_controls_first_half_is_data_and_its_second_is_not():
    runs = layout_pair(SIX)
    labelled = [
        make_run(run.epoch_s[1], block=run.block, label=Role.CONTROL, trial=run.trial) for run in runs
    ]
    twins = [make_run(99.0, block=block, label=Role.CONTROL_AGAIN, layout=LAST) for block in range(6)]
    memory = [make_run(99.0, block=0, label=Role.ALLOCATION, layout=LAST)]
    assert one(by_layout([*labelled, *twins, *memory])).judgement == one(by_layout(runs)).judgement


# The control.


def test_a_control_compares_a_trial_with_itself():
    verdict = one(controls([*control_runs([1.0, 1.01, 0.99, 1.0, 1.0, 1.0]), *layout_pair(SIX)]))
    assert (verdict.factor, verdict.outcome) == ("control", Outcome.SAME)
    assert verdict.baseline == verdict.candidate
    assert (verdict.low, verdict.high) == pytest.approx((0.99, 1.01))
    assert verdict.label == "control, PyTorch, cnn10, channels_first, batch 32"
    assert verdict.sentence.startswith(
        "control, channels_first vs itself: 1.00x (95 % interval 0.99 to 1.01)"
    )


def test_of_two_controls_of_a_trial_the_one_of_more_blocks_counts():
    """A search has one beside the parts of a step, and one in its fresh blocks."""
    fresh = [
        make_run(seconds, block=block, label=label)
        for block, ratio in enumerate(SIX)
        for seconds, label in ((1.1 * ratio, Role.RECIPE), (ratio, Role.PLAIN_AGAIN))
    ]
    assert one(controls([*control_runs([1.0]), *fresh])).judgement.speedup == pytest.approx(1.1)
    assert one(controls([*control_runs([1.0] * 7), *fresh])).judgement.speedup == 1.0


def test_without_its_second_half_a_control_is_none():
    assert controls([run for run in control_runs(SIX) if run.label == Role.CONTROL]) == []


# Accuracy.


def accuracy_runs(differences):
    runs = []
    for block, points in enumerate(differences):
        runs.append(make_run(block=block, layout=FIRST, test_accuracy=0.5))
        runs.append(make_run(block=block, layout=LAST, test_accuracy=0.5 + points / 100))
    return runs


def test_accuracy_is_compared_in_points():
    verdict = one(by_layout(accuracy_runs([2.0, 3.0, 3.0, 3.0, 3.0, 4.0]), quantity="accuracy"))
    assert verdict.outcome == Outcome.BETTER
    assert "+3.0 points in test accuracy (95 % interval +2.0 to +4.0): better." in verdict.sentence


def test_accuracy_of_few_blocks_is_undecided():
    sentence = one(by_layout(accuracy_runs([-2.0]), quantity="accuracy")).sentence
    assert "-2.0 points in test accuracy, no interval: undecided, measure 6 blocks or more." in sentence


def test_accuracy_is_compared_where_both_trained_as_many_epochs():
    """In turns a group takes as many epochs as fill them: one that trained longer learned more by that alone."""
    runs = accuracy_runs([2.0] * 6)
    longer = [make_run(block=6, layout=FIRST, test_accuracy=0.5)]
    longer += [make_run(block=6, layout=LAST, test_accuracy=0.9, epoch_s=(3.0, *[1.0] * 9))]
    assert one(by_layout(runs + longer, quantity="accuracy")).blocks == 6
    assert by_layout(longer, quantity="accuracy") == []


def test_blocks_without_an_accuracy_are_left_out():
    runs = accuracy_runs([1.0]) + [run for run in layout_pair(SIX) if run.block]
    assert one(by_layout(runs, quantity="accuracy")).blocks == 1
    assert by_layout(layout_pair(SIX), quantity="accuracy") == []


# verdicts.json


def test_an_element_of_the_json_has_the_keys_of_the_contract():
    (element,) = as_json(by_layout(layout_pair(SIX)))
    assert list(element) == KEYS
    assert (element["quantity"], element["question"], element["confidence"]) == ("time", "Does it?", 0.95)
    assert (element["baseline"]["layout"], element["candidate"]["layout"]) == (FIRST, LAST)
    assert "seed" not in element["baseline"]
    assert element["outcome"] == "faster"
    assert json.loads(json.dumps(element, allow_nan=False)) == element


def test_accuracy_has_a_difference_in_place_of_a_speedup():
    (element,) = as_json(by_layout(accuracy_runs([3.0] * 6), quantity="accuracy"))
    known = ("difference" if key == "speedup" else key for key in KEYS)
    assert list(element) == [*known, "equality", "baseline_range", "margin"]
    assert element["difference"] == pytest.approx(3.0)


def test_what_is_not_known_is_null():
    (element,) = as_json(by_layout(layout_pair([1.5])))
    assert (element["low"], element["high"], element["outcome"]) == (None, None, "undecided")


# Ratios, for charts.


def test_ratios_are_one_row_per_block_with_the_baselines_trial():
    rows = ratios(layout_pair([1.5, 2.0]), "layout", FIRST, LAST)
    assert [(row["block"], row["ratio"]) for row in rows] == [(0, 1.5), (1, 2.0)]
    assert {(row["baseline"], row["candidate"], row["layout"], row["batch_size"]) for row in rows} == {
        (FIRST, LAST, FIRST, 32)
    }


def test_ratios_leave_out_failed_runs_and_the_controls_second_half():
    runs = [*layout_pair([1.5, 2.0]), make_run(9.0, block=0, label=Role.CONTROL_AGAIN, layout=LAST)]
    runs[2] = make_run(block=1, layout=FIRST, status=Status.OOM)
    assert [row["ratio"] for row in ratios(runs, "layout", FIRST, LAST)] == [1.5]
