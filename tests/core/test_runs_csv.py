import pandas as pd

import conv2d_data
from study_data import make_run
from trainspeed.core.frame import to_frame
from trainspeed.core.run import Status
from trainspeed.core.runs_csv import append_csv, is_current, write_csv


def read(path):
    return pd.read_csv(path, keep_default_na=False)


def test_the_csv_holds_the_rows_of_the_frame(tmp_path):
    runs = [make_run(block=block) for block in range(3)]
    write_csv(runs, tmp_path / "runs.csv")
    table, frame = read(tmp_path / "runs.csv"), to_frame(runs)
    assert set(frame) <= set(table)
    assert table["block"].tolist() == [0, 1, 2]
    assert table["median_epoch_s"].tolist() == frame["median_epoch_s"].tolist()


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
