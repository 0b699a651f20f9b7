import pytest

from study_data import make_run
from trainspeed.core.frame import to_frame
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
    assert (row["first_epoch_s"], row["median_epoch_s"], row["timed_s"]) == (6.0, 2.0, 12.0)
    assert (row["images_per_s"], row["images_consumed"]) == (64.0, 128)
    assert (row["notes"], row["start_s"], row["status"]) == ("cores_busy cpu_time_stolen", 0.5, "ok")


def test_training_time_is_the_first_epoch_and_99_medians():
    assert to_frame([make_run(2.0)])["training_s"].item() == pytest.approx(6.0 + 99 * 2.0)


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
