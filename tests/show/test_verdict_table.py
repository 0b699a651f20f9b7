"""The table of verdicts."""

from dataclasses import replace

import pytest

from scaling_data import make_verdict
from showing_data import cells, failed_run, make_frame, make_run, make_verdicts, rows
from trainspeed.core.frame import to_frame
from trainspeed.core.layer_table import row
from trainspeed.show import layer_tables, tables


@pytest.fixture(scope="module")
def frame():
    return make_frame()


class TestVerdicts:
    def test_speed_up_interval_and_outcome_are_text(self):
        row = cells(tables.verdict_table(make_verdicts()), outcome="faster")
        assert (row["speed-up"], row["95 % interval"], row["blocks"]) == ("1.34x", "1.31 to 1.37", "6")

    def test_no_interval_is_invented(self):
        """One block has a dot but no interval; no pair has neither."""
        hollow, none = [
            row for row in rows(tables.verdict_table(make_verdicts())) if row["95 % interval"] == "—"
        ]
        assert (hollow["speed-up"], hollow["blocks"], hollow["outcome"]) == ("1.21x", "1", "first look")
        assert (none["speed-up"], none["blocks"], none["outcome"]) == ("—", "0", "undecided")

    def test_blocks_of_which_one_side_gave_no_result_are_said(self):
        table = tables.verdict_table([replace(make_verdict(), without_result=2)])
        assert rows(table)[0]["outcome"] == "faster, 2 blocks without a result"

    def test_the_outcome_is_in_view_on_a_phone(self):
        assert [*tables.verdict_table(make_verdicts()).data][:3] == ["comparison", "speed-up", "outcome"]

    def test_no_verdict_is_an_empty_table(self):
        assert next(iter(tables.verdict_table([]).data)) == "comparison"


def test_a_layer_that_forgot_the_layout_is_marked_in_words():
    """The mark is text, not a colour."""
    conv = {
        "layer": "conv1",
        "type": "Conv2D",
        "output_shape": [16, 32, 32],
        "data_format": "channels_first",
        "bn_axis": None,
        "forgot": False,
    }
    norm = conv | {
        "layer": "bn1",
        "output_shape": [16, None, 32],
        "data_format": None,
        "bn_axis": 3,
        "forgot": True,
    }
    good, bad = rows(layer_tables.layer_table("Keras, cnn10", {"channels_first": [conv, norm]}))
    assert good["channels_first: shape"] == "16 × 32 × 32"
    assert good["channels_first: given"] == "channels_first"
    assert bad["channels_first: given"] == "axis 3 ◀ forgot it"


def test_a_layer_that_only_one_layout_has_leaves_the_other_empty():
    """A user's own model may permute in one layout; PyTorch then names the layers behind it otherwise."""
    permute = row(
        layer="0", type="Permute", output_shape=(3, 8, 8), data_format=None, bn_axis=None, layout=""
    )
    conv = {**permute, "type": "Conv2d"}
    arms = {"channels_first": [permute, {**conv, "layer": "1"}], "channels_last": [conv]}

    more, both = rows(layer_tables.layer_table("PyTorch, mine", arms))

    assert (more["layer"], more["type"], more["channels_first: shape"]) == ("0", "Permute", "3 × 8 × 8")
    assert (more["channels_last: shape"], more["channels_last: given"]) == ("", "")
    assert (both["layer"], both["type"]) == ("1 / 0", "Conv2d")
    assert both["channels_first: shape"] == both["channels_last: shape"] == "3 × 8 × 8"


def test_the_largest_batch_stands_next_to_the_smallest_that_did_not_fit(frame):
    """A framework whose sizes all fitted has none; where all did, the caption says so in place of the column."""
    table = tables.largest_batch_table(frame)
    row = cells(table, framework="TensorFlow", model="wrn28_2", layout="channels_first")
    assert (row["largest batch that ran"], row["smallest batch that did not fit"]) == ("32", "64")
    row = cells(table, framework="JAX", model="cnn10", layout="channels_last")
    assert (row["largest batch that ran"], row["smallest batch that did not fit"]) == ("64", "none")
    table = tables.largest_batch_table(to_frame([make_run(), failed_run("timeout", "x", batch_size=64)]))
    assert table.caption == "Largest batch size by memory: no batch ran out of memory"
    assert list(rows(table)[0]) == ["framework", "model", "layout", "largest batch that ran"]


def test_a_largest_batch_that_is_the_same_for_all_is_still_in_the_table():
    runs = [
        make_run(framework=name, layout=layout)
        for name in ("torch", "jax")
        for layout in ("channels_first", "channels_last")
    ]

    assert [row["largest batch that ran"] for row in rows(tables.largest_batch_table(to_frame(runs)))] == [
        "32"
    ] * 4


def test_a_model_that_never_ran_has_no_largest_batch():
    row = rows(tables.largest_batch_table(to_frame([failed_run("oom", "x", batch_size=8)])))[0]
    assert (row["largest batch that ran"], row["smallest batch that did not fit"]) == ("none ran", "8")


def test_requested_and_effective_layout_stand_side_by_side(frame):
    """TensorFlow was asked for channels_first and ran channels_last; its OOM run counts nowhere."""
    row = cells(
        tables.layout_effect_table(frame), framework="TensorFlow", **{"requested layout": "channels_first"}
    )
    assert (row["compiled"], row["effective layout"], row["runs looked at"]) == (
        "no",
        "channels_last",
        "17 of 17",
    )


def test_a_layout_nobody_looked_at_is_not_guessed():
    row = rows(tables.layout_effect_table(to_frame([make_run(effective_layout=None)])))[0]
    assert (row["effective layout"], row["runs looked at"]) == ("not looked at", "0 of 1")


def test_failures_are_counted_with_their_reason():
    """The control's second half is listed too, under its label, and so is what cannot run here."""
    runs = [failed_run("oom", "0.4 GB free", block=b) for b in range(2)]
    runs += [failed_run("crashed", None, label="A again"), failed_run("unsupported", "no GPU"), make_run()]
    table = tables.failures_table(to_frame(runs))
    oom, crash, never = rows(table)
    assert table.caption == "Runs without a result" and never["status"] == "unsupported"
    assert oom == {
        "what": "PyTorch cnn10, channels_last, batch 32",
        "status": "OOM",
        "reason": "0.4 GB free",
        "count": "2",
    }
    assert crash["what"].endswith("batch 32, A again") and crash["reason"] == "—"


def test_a_trial_that_failed_beside_other_sizes_too_is_one_row():
    """Else the table has more rows than the front page has trials, and a word that only the ledger knows."""
    runs = [failed_run("unsupported", "no GPU", label=label) for label in ("", "anchor")]
    (row,) = rows(tables.failures_table(to_frame(runs)))

    assert (row["what"], row["count"]) == ("PyTorch cnn10, channels_last, batch 32", "2")


def test_what_fails_for_one_reason_at_every_batch_size_is_one_row():
    runs = [failed_run("unsupported", "no GPU", batch_size=size) for size in (8, 4, 4)]
    many, other = rows(
        tables.failures_table(to_frame([*runs, failed_run("oom", "0.4 GB free", batch_size=8)]))
    )

    assert (many["what"], many["count"]) == ("PyTorch cnn10, channels_last, batch 4 and 8", "3")
    assert (other["what"], other["count"]) == ("PyTorch cnn10, channels_last, batch 8", "1")


def test_no_failure_is_no_table():
    assert tables.failures_table(to_frame([make_run()])) is None


@pytest.mark.parametrize(
    ("table", "all_failed"),
    [
        (tables.results_table, "timeout: x"),
        (tables.largest_batch_table, "none ran"),
    ],
)
def test_a_study_in_which_every_run_failed_has_tables(table, all_failed):
    """A report on a machine that can do nothing is still a report."""
    frame = to_frame([failed_run("timeout", "x"), failed_run("timeout", "x", block=1)])
    assert all_failed in rows(table(frame))[0].values()


def test_no_run_that_worked_leaves_the_layouts_empty():
    assert tables.layout_effect_table(to_frame([failed_run("timeout", "x")])).data.empty
