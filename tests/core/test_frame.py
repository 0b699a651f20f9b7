import pandas as pd
import pytest

import conv2d_data
from study_data import make_run
from trainspeed.core.frame import append_csv, is_current, to_frame, write_csv
from trainspeed.core.notes import CoresBusy, CpuTimeStolen
from trainspeed.core.run import Status


def test_a_run_is_a_row_with_the_trial_and_what_is_derived():
    (row,) = to_frame(
        [
            make_run(
                2.0, block=4, notes=(CoresBusy(cores=1.5), CpuTimeStolen(share=0.1)), stages_s={"start": 0.5}
            )
        ]
    ).to_dict("records")
    assert (row["framework"], row["batch_size"], row["block"], row["seed"]) == ("torch", 32, 4, 4)
    assert (row["first_epoch_s"], row["median_epoch_s"], row["timed_s"]) == (6.0, 2.0, 6.0), (
        "tracing is not timed"
    )
    assert (row["images_per_s"], row["images_consumed"]) == (64.0, 128)
    assert (row["notes"], row["start_s"], row["status"]) == ("cores_busy cpu_time_stolen", 0.5, "ok")


def test_training_time_is_the_first_epoch_and_99_medians():
    assert to_frame([make_run(2.0)])["training_s"].item() == pytest.approx(6.0 + 99 * 2.0)


def test_a_first_epoch_that_was_not_alone_is_that_of_the_runs_that_were():
    """Compiling beside another one takes longer."""
    alone, beside = make_run(2.0), make_run(3.0, block=1, built_beside=1)
    frame = to_frame([alone, beside])

    assert frame["first_epoch_s"].isna().tolist() == [False, True]
    assert frame["training_s"].tolist() == pytest.approx([6.0 + 99 * 2.0, 6.0 + 99 * 3.0])
    assert to_frame([beside])["training_s"].isna().all()


def test_the_images_asked_for_and_the_images_consumed_are_two_columns():
    trial = make_run().trial
    (row,) = to_frame([make_run(trial=trial, images_per_epoch=96)]).to_dict("records")
    assert (row["images_per_epoch"], row["images_consumed"]) == (128, 96)


def test_a_failed_run_is_a_row_without_numbers():
    frame = to_frame([make_run(), make_run(block=1, status=Status.OOM, reason="12 GB asked for")])
    failed = frame.iloc[1]
    assert (failed["status"], failed["reason"]) == ("oom", "12 GB asked for")
    numbers = ["first_epoch_s", "median_epoch_s", "training_s", "images_per_s", "test_accuracy"]
    assert failed[numbers].isna().all()


# The CSV.


def read(path):
    return pd.read_csv(path, keep_default_na=False)


def test_the_csv_holds_the_rows_of_the_frame(tmp_path):
    runs = [make_run(block=block) for block in range(3)]
    write_csv(runs, tmp_path / "runs.csv")
    table, frame = read(tmp_path / "runs.csv"), to_frame(runs)
    assert set(frame) <= set(table)
    assert table["block"].tolist() == [0, 1, 2]
    assert table["median_epoch_s"].tolist() == frame["median_epoch_s"].tolist()


def test_a_convolution_is_neither_compiled_nor_not(tmp_path):
    """A call of XLA's was said not to be compiled: a convolution has a mode."""
    write_csv([make_run(), conv2d_data.make_run(conv2d_data.make_trial())], tmp_path / "runs.csv")
    assert read(tmp_path / "runs.csv")["compile"].tolist() == ["False", ""]


def test_a_row_is_added_without_a_look_at_the_others(tmp_path):
    """Trainings and convolutions have the same columns, so any study may add to the table of another."""
    failed = make_run(block=1, status=Status.OOM, reason='no "room",\nat all')
    runs = [make_run(), conv2d_data.make_run(conv2d_data.make_trial()), failed]
    write_csv(runs, tmp_path / "whole.csv")
    write_csv([], tmp_path / "runs.csv")
    for run in runs:
        append_csv(run, tmp_path / "runs.csv")
    assert (tmp_path / "runs.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert read(tmp_path / "runs.csv")["reason"].tolist() == ["", "", failed.reason]


def test_after_a_cut_off_row_the_next_starts_on_a_fresh_line(tmp_path):
    path = tmp_path / "runs.csv"
    write_csv([make_run()], path)
    path.write_bytes(path.read_bytes()[:-20])
    append_csv(make_run(block=1), path)
    assert read(path)["block"].tolist() == [0, 1]


def test_a_table_of_other_columns_is_known(tmp_path):
    path = tmp_path / "runs.csv"
    assert not is_current(path)
    path.write_text("framework,model\n")
    assert not is_current(path)
    write_csv([], path)
    assert is_current(path)
