import json
from dataclasses import replace

import msgspec
import pytest

from study_data import make_run, make_trial
from trainspeed.core.layer_table import row
from trainspeed.core.ledger_line import read_run
from trainspeed.core.notes import CoresBusy
from trainspeed.core.result import EffectivePrecision, Failure, RunResult, Turn
from trainspeed.core.run import FINAL, SCHEMA, Status

LAYER = row(
    layer="conv1",
    type="Conv2d",
    output_shape=(8, 8, 4),
    data_format=None,
    bn_axis=None,
    layout="channels_last",
)
# The fields of a line that other programs may rely on.
CONTRACT = {
    *(
        "schema",
        "session",
        "study",
        "label",
        "block",
        "trial",
        "status",
        "reason",
        "epoch_s",
        "images_per_epoch",
    ),
    *("test_accuracy", "peak_memory_bytes", "effective_layout", "effective_precision", "energy_j", "notes"),
    *("started_at", "machine", "versions", "monitor", "call_s", "stages_s"),
}


def read(line):
    return read_run(json.dumps(line, allow_nan=False).encode(), {})


def full_run():
    return make_run(
        2.0,
        block=3,
        label="A",
        stages_s={"start": 0.5, "build": 1.0},
        test_accuracy=0.75,
        peak_memory_bytes=10**9,
        effective_layout={"channels_first": 2, "channels_last": 7},
        effective_precision=EffectivePrecision(dtypes={"float32": 9}),
        energy_j=12.5,
        notes=(CoresBusy(cores=1.5),),
        started_at="2026-11-20T10:00:00.000+00:00",
        monitor="monitor/s.csv",
        layers=(LAYER,),
    )


def test_a_line_has_the_fields_of_the_contract_and_begins_with_what_a_reader_looks_for():
    line = full_run().as_dict()
    assert set(line) >= CONTRACT
    assert list(line)[:3] == ["schema", "session", "study"]
    assert line["schema"] == SCHEMA


def test_json_and_back_gives_the_same_run():
    assert read(full_run().as_dict()) == full_run()


def test_notes_layouts_and_precisions_are_values_in_a_line():
    line = json.loads(json.dumps(full_run().as_dict(), allow_nan=False))
    assert line["notes"] == [{"kind": "cores_busy", "cores": 1.5}]
    assert line["effective_layout"] == {"channels_first": 2, "channels_last": 7}
    assert line["effective_precision"] == {"dtypes": {"float32": 9}, "asked": False}


def test_a_failed_run_keeps_its_status_as_a_word_and_its_reason():
    failure = Failure(stage="train", error="MemoryError")
    run = make_run(status=Status.OOM, reason="12 GB asked for", failure=failure)
    line = json.loads(json.dumps(run.as_dict()))
    assert (line["status"], line["reason"], line["epoch_s"]) == ("oom", "12 GB asked for", [])
    assert (read(line).status, read(line).failure) == (Status.OOM, failure)


def test_a_field_of_a_later_trainspeed_is_ignored():
    assert read({**full_run().as_dict(), "carbon_g": 3}) == full_run()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "exploded"),
        ("epoch_s", ["fast"]),
        ("notes", [{"kind": "cores_busy", "core": 1}]),
        ("block", None),
    ],
)
def test_a_value_of_another_kind_is_refused(field, value):
    with pytest.raises(msgspec.ValidationError):
        read({**full_run().as_dict(), field: value})


def test_a_typo_in_what_a_worker_measured_is_an_error():
    with pytest.raises(TypeError, match="epochs_s"):
        RunResult(epochs_s=(1.0,))


def test_the_median_leaves_the_first_epoch_out():
    run = make_run(epoch_s=(100.0, 3.0, 1.0, 2.0))
    assert (run.first_epoch_s, run.median_epoch_s) == (100.0, 2.0)


def test_a_first_epoch_that_took_programs_of_another_run_is_none():
    run = make_run(epoch_s=(100.0, 3.0, 1.0), compiled_anew=False)
    assert (run.first_epoch_s, run.median_epoch_s) == (None, 2.0)


def test_the_median_is_scaled_to_the_images_asked_for():
    """100 images asked for, batches of 32: 96 are trained on in 3 s, so 100 take 3.125 s."""
    run = make_run(epoch_s=(9.0, 3.0, 3.0), trial=make_trial(images_per_epoch=100))
    assert replace(run, images_per_epoch=100).median_epoch_s == 3.0
    assert replace(run, images_per_epoch=96).median_epoch_s == pytest.approx(3.0 * 100 / 96)
    assert replace(run, images_per_epoch=96).images_per_s == pytest.approx(96 / 3.0)
    assert replace(run, images_per_epoch=96).first_epoch_s == pytest.approx(9.0 + 3.0 * 4 / 96)


@pytest.mark.parametrize("epoch_s", [(), (1.0,)])
def test_without_a_second_epoch_there_is_no_median(epoch_s):
    run = make_run(epoch_s=epoch_s)
    assert run.median_epoch_s is None
    assert run.images_per_s is None
    assert run.first_epoch_s == (epoch_s[0] if epoch_s else None)


def test_what_would_end_the_same_again_is_final_and_a_crash_is_not():
    assert set(FINAL) == set(Status) - {Status.OK, Status.CRASHED}


def test_the_same_trial_in_another_block_or_under_another_label_is_another_measurement():
    keys = {
        make_run().key,
        make_run(block=1).key,
        make_run(label="A").key,
        make_run(layout="channels_last").key,
    }
    assert len(keys) == 4
    assert make_run(5.0).key == make_run(1.0).key


def test_an_epochs_energy_is_the_power_of_what_was_metered_times_its_median():
    run = make_run(epoch_s=(30.0, 1.0, 1.0, 1.0), energy_j=900.0, metered_s=3.0)
    assert (run.power_w, run.epoch_energy_j) == (300.0, 300.0)


def test_of_a_run_that_took_turns_their_epochs_count_and_not_the_second():
    """That one tells the pace, at a moment of its own: a table said the reverse of what the paired turns did."""
    turns = tuple(
        Turn(round=n, place=0, start_s=40.0 + n, epoch_s=(seconds,)) for n, seconds in enumerate((2.0, 3.0))
    )
    run = make_run(epoch_s=(9.0, 8.0, 2.0, 3.0), turns=turns)
    assert (run.later_epoch_s, run.median_epoch_s) == ((2.0, 3.0), 2.5)
    assert replace(run, turns=()).median_epoch_s == 3.0


def test_of_older_lines_only_those_with_turns_tell_an_epochs_energy():
    """Without turns their counter ran through the first epoch, at 70 W for 30 s: 91 J would pass for 300 J."""
    turns = (Turn(round=0, place=0, start_s=40.0, epoch_s=(1.0, 1.0)),)
    alone = make_run(epoch_s=(30.0, 1.0, 1.0, 1.0), energy_j=3000.0)

    assert replace(alone, energy_j=600.0, turns=turns).epoch_energy_j == 300.0
    assert (alone.power_w, alone.epoch_energy_j) == (None, None)
    assert make_run(epoch_s=(30.0, 1.0, 1.0), turns=turns).epoch_energy_j is None


def test_a_step_that_repeats_its_work_is_told_by_the_time_of_one():
    """Such as 200 sums of gradients in each of 16 steps; older lines did each once."""
    trial = make_trial(part="exchange", batch_size=8, images_per_epoch=16 * 8)

    assert make_run(0.32, trial=trial, repeats=200).step_s == pytest.approx(1e-4)
    assert make_run(0.32, trial=trial).step_s == pytest.approx(0.02)
