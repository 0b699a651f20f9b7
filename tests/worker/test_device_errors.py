"""What an error text means, for texts that people met: `device_errors.jsonl` has them with their sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainspeed.core.result import Failure
from trainspeed.core.run import FINAL, Status
from trainspeed.worker.device_errors import (
    FAULTS,
    Cause,
    classify,
    crowds,
    fails_for_all,
    fault_of,
    telling_line,
)

ROWS = [json.loads(line) for line in Path(__file__).with_name("device_errors.jsonl").read_text().splitlines()]
OF = {cause: next(row["text"] for row in ROWS if row["cause"] == cause) for cause in Cause}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['by']}: {row['text'][:60]}")
def test_a_text_that_somebody_met_is_known(row):
    assert classify(row["text"]) == (FAULTS[row["cause"]] if row["cause"] else None)


def test_every_text_has_a_source_and_every_cause_a_text():
    assert all(row["source"].startswith("https://github.com/") for row in ROWS)
    assert {row["cause"] for row in ROWS} == {*Cause, None}
    assert set(FAULTS) == set(Cause)


@pytest.mark.parametrize("text", ["KeyError: 'a bug'", "ValueError: shapes (3,) and (4,) differ", ""])
def test_a_mistake_in_a_program_is_none_of_them(text):
    assert classify(text) is None


def test_an_exception_is_known_by_its_class_too():
    class ResourceExhaustedError(Exception):
        """As TensorFlow's, whose text may begin with anything."""

    assert fault_of(MemoryError("no 9 bytes")).cause == Cause.OUT_OF_MEMORY
    assert fault_of(ResourceExhaustedError("Graph execution error:")).cause == Cause.OUT_OF_MEMORY
    assert fault_of(KeyError("x")) is None


def test_of_what_a_process_printed_last_the_first_line_that_tells_is_the_reason():
    """The rest are consequences, and frames of the stack."""
    printed = f"frame #0: c10::Error\n{OF['kernel_failed']}\n{OF['ecc']}\nframe #1: clone + 0x43\nAborted"

    assert telling_line(printed) == OF["kernel_failed"].splitlines()[0]
    assert telling_line("frame #0: c10::Error\nAborted (core dumped)") is None


def test_memory_that_ran_out_and_was_done_without_is_no_reason():
    """Source: https://github.com/tensorflow/tensorflow/issues/25046"""
    overcome = (
        "2019-01-19 23:32:25.086846: W tensorflow/core/common_runtime/bfc_allocator.cc:211] Allocator (GPU_0_bfc) ran "
        "out of memory trying to allocate 3.70GiB. The caller indicates that this is not a failure, but may mean that "
        "there could be performance gains if more memory were available."
    )
    ended = "E tensorflow/stream_executor/cuda/cuda_driver.cc:1078] failed to synchronize: CUDA_ERROR_LAUNCH_FAILED"

    assert telling_line(overcome) is None
    assert telling_line(f"{overcome}\n{ended}") == ended
    assert classify(ended).cause == Cause.KERNEL_FAILED


@pytest.mark.parametrize(
    ("cause", "final", "alone", "for_all"),
    [
        ("out_of_memory", True, True, False),
        ("no_algorithm", True, True, False),
        ("kernel_too_large", True, False, False),
        ("no_kernels", True, False, True),
        ("old_driver", True, False, True),
        ("device_busy", False, True, False),
        ("device_lost", False, False, True),
        ("kernel_failed", False, False, False),
        ("ecc", False, False, False),
    ],
)
def test_what_a_cause_means_for_later_runs(cause, final, alone, for_all):
    """Whether the trial is given up, is tried with fewer others alive, or its framework is given up."""
    status, failure = FAULTS[cause].status, Failure(cause=cause)

    assert (status in FINAL, crowds(status, failure), fails_for_all(failure)) == (final, alone, for_all)


def test_a_failure_of_an_older_line_has_no_cause():
    assert crowds(Status.OOM, Failure(stage="train"))
    assert not crowds(Status.CRASHED, Failure(stage="train"))
    assert not fails_for_all(None)
    assert not fails_for_all(Failure(cause="of a later version"))
