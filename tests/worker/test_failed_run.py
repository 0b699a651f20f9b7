"""What is said of a run that failed without anybody meaning it to."""

import os
import time
from dataclasses import replace

import pytest

from fake_backend import FakeBackend
from fake_runs import EventsSent
from study_data import make_trial, tiny_trial
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status
from trainspeed.worker import main, measure, user_code
from trainspeed.worker.channel import Channel
from trainspeed.worker.events import Exited, Failed, decode
from trainspeed.worker.failed_run import failed_by
from trainspeed.worker.request import Request

SOURCE = """
class Net:
    def forward(self, text):
        raise ValueError(text)

def build():
    return Net()
"""


def failed_with(problem, model="cnn10"):
    return failed_by(problem, make_trial(model=model), "train", RunResult())


def raised_by_forward(model, text):
    with pytest.raises(ValueError) as problem:
        user_code.call(model, framework="torch").forward(text)
    return problem.value


def test_what_came_through_the_users_file_names_its_function_and_line(own):
    model = own(SOURCE)

    failed = failed_with(raised_by_forward(model, "no\nsuch thing"), model)

    assert failed.reason == "my.py:forward raised ValueError in line 4: no, in stage 'train'"
    assert (failed.status, failed.failure.error) == (Status.CRASHED, "ValueError")
    assert failed.failure.in_user_file


def test_what_was_raised_elsewhere_or_is_of_the_device_names_no_file(own):
    model = own(SOURCE)

    for problem in (ValueError("no"), raised_by_forward(model, "CUDA out of memory")):
        failed = failed_with(problem, model)

        assert failed.reason == f"ValueError in stage 'train': {problem}"
        assert not failed.failure.in_user_file
    assert failed.status is Status.OOM
    assert failed_with(ValueError("no")).reason == "ValueError in stage 'train': no"


@pytest.mark.parametrize(
    ("code", "said"),
    [("3", "ended Python in line 3 with code 3"), ("'no GPU'", "raised SystemExit in line 3: no GPU")],
)
def test_a_model_that_ends_python_in_a_step_is_a_row_that_says_where(own, monkeypatch, code, said):
    monkeypatch.setattr(measure, "_take_device", lambda request: None)  # this is the process of the tests
    model = own(f"import sys\ndef forward():\n    sys.exit({code})\ndef build():\n    return forward")
    trial = replace(tiny_trial(), model=model)
    backend, channel = FakeBackend(), EventsSent()
    monkeypatch.setattr(backend, "start", lambda *_, **__: user_code.call(model, framework="torch")())

    request = Request(trial=trial, device="cpu", requested_at=0.0)
    ended_well = measure.measure_trial(request, backend, None, channel)

    assert not ended_well
    assert channel.events[-1].reason == f"my.py:forward {said}, in stage 'build'"
    assert channel.events[-1].failure.in_user_file


def test_a_folder_from_which_nothing_runs_is_said_in_place_of_the_path_of_a_program():
    text = "/scratch/" + "x" * 300 + ".main.so: failed to map segment from shared object"

    failed = failed_with(OSError(text))

    assert (failed.status, failed.failure.error) == (Status.UNSUPPORTED, "OSError")
    assert "mounted noexec: set TMPDIR" in failed.reason and "/scratch" not in failed.reason


def test_where_no_process_can_be_started_the_worker_says_so_and_goes_on(monkeypatch, tmp_path):
    """It ended, and its reaper with it: "the worker was killed by SIGKILL"."""

    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(main.os, "fork", refuse)
    ours, theirs = Channel.pair()
    server = main.Server(FakeBackend(), ours, str(tmp_path))

    server._begin(Request(trial=tiny_trial(), device="cpu", requested_at=0.0), theirs)
    failed, ended = (decode(ours.receive(time.monotonic() + 5)) for _ in range(2))

    assert isinstance(failed, Failed) and failed.status is Status.CRASHED
    assert failed.reason.startswith("no further process") and "--pids-limit" in failed.reason
    assert ended == Exited(code=0) and os.listdir(tmp_path) == []
