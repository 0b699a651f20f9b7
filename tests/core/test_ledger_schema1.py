"""What schema 1 said in English is read as values; the recorded ledger has that schema."""

import json

import pytest

from study_data import make_run
from trainspeed.core import ledger_schema1
from trainspeed.core.ledger import Ledger
from trainspeed.core.ledger_line import read_run
from trainspeed.core.notes import CoresBusy, OtherNote
from trainspeed.core.paths import ROOT
from trainspeed.core.result import EffectivePrecision, Failure
from trainspeed.core.run import SCHEMA, Status


def old(**changed):
    """Return the run of a line of schema 1."""
    line = {**make_run().as_dict(), "schema": 1, **changed}
    del line["failure"]
    return read_run(json.dumps(line).encode(), {})


def test_a_line_of_schema_1_is_a_run_of_now():
    run = old(notes=[], effective_layout=None, effective_precision=None)
    assert run == make_run()
    assert run.schema == SCHEMA


def test_its_sentences_are_values():
    run = old(
        notes=["Other processes kept 2.5 CPU cores busy meanwhile: stop them.", "The GPU was throttled."],
        effective_layout="mixed: channels_first in 2, XLA's order f01b in 7 of 9 convolutions",
        effective_precision="bfloat16 and float32",
    )
    assert run.notes == (CoresBusy(cores=2.5), OtherNote(text="The GPU was throttled."))
    assert run.effective_layout == {"channels_first": 2, "f01b": 7}
    assert run.effective_precision == EffectivePrecision(dtypes={"bfloat16": None, "float32": None})


def test_a_single_layout_did_not_tell_the_number_of_convolutions():
    assert ledger_schema1.layouts("channels_last") == {"channels_last": None}
    assert ledger_schema1.dtypes("float16 (asked)") == EffectivePrecision(
        dtypes={"float16": None}, asked=True
    )


@pytest.mark.parametrize(
    ("status", "reason", "failure"),
    [
        ("oom", "OutOfMemoryError in stage 'train': 9 GB", Failure(stage="train", error="OutOfMemoryError")),
        ("oom", "ran out of memory in stage 'train' and aborted", Failure(stage="train")),
        (
            "timeout",
            "not finished after 9 s, in stage 'build': raise timeout_s",
            Failure(stage="build"),
        ),
        (
            "crashed",
            "the run was killed by SIGABRT in stage 'kernel': ox",
            Failure(stage="kernel", error="SIGABRT"),
        ),
        ("crashed", "the run was ended with exit code 3 in stage 'start'", Failure(stage="start")),
        ("invalid", "my.py:build raised KeyError: 'x'", Failure(in_user_file=True)),
        ("unsupported", "TF32 is a mode of NVIDIA GPUs; this is a CPU", Failure()),
    ],
)
def test_a_reason_tells_how_a_run_failed(status, reason, failure):
    assert ledger_schema1.failure(status, reason, "my.py:build") == failure


def test_a_fault_of_the_users_own_model_is_known_in_old_lines_too():
    trial = make_run().trial.as_dict() | {"model": "nets/my.py:build"}
    run = old(trial=trial, status="invalid", reason="nets/my.py:build is no function")
    assert (run.status, run.failure.in_user_file) == (Status.INVALID, True)


def test_the_recorded_ledger_is_read_without_a_doubt():
    folder = ROOT / "data/measured/xeon-amx-2-cores"
    assert b'"schema": 1,' in (folder / "runs.jsonl").read_bytes()
    runs, doubts = Ledger(folder).read()
    assert (len(runs), doubts) == (638, ())
    looked_at = [run for run in runs if run.effective_precision]
    dtypes = {dtype for run in looked_at for dtype in run.effective_precision.dtypes}
    assert dtypes == {"float32", "bfloat16", "float16"}
    assert Ledger(folder).read(Ledger(folder).newest()) == (runs, ())
