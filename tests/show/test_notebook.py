"""What every notebook shows besides its question, where a part of the folder is missing or damaged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conv2d_data import GPU_MACHINE
from front_data import runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.files import VERDICTS
from trainspeed.core.result import GpuMemory
from trainspeed.core.run import Role
from trainspeed.core.runs import Measured
from trainspeed.show.monitor import plot_monitor
from trainspeed.show.notebook import monitor_data, read_elements, record_verdicts, seized_sentences


def of(folder, *runs, study="layout"):
    return Measured(tuple(runs), study, "s", out=folder, folder=folder)


def test_a_ledger_that_was_copied_without_its_monitors_files_is_shown(tmp_path):
    run = make_run(monitor="monitor/s.csv", started_at="2026-11-20T10:00:00+00:00", stages_s={"start": 1.0})

    samples, spans, doubts = monitor_data(of(tmp_path, run))

    assert samples.empty and len(spans) == 1 and not doubts
    (ax,) = plot_monitor(samples, spans).axes
    assert "recorded no sample" in " ".join(text.get_text() for text in ax.texts).replace("\n", " ")


@pytest.mark.parametrize(
    ("memory", "sentence"),
    [
        (
            GpuMemory(before_bytes=8 * 10**9, taken_bytes=60 * 10**9, total_bytes=80 * 10**9),
            "PyTorch by default takes 60.00 GB, 75 % of the GPU; needed: 2.00 GB.",
        ),
        (None, "How much PyTorch takes by default is not known here; needed: 2.00 GB."),
    ],
)
def test_what_a_framework_takes_by_default_is_what_its_run_counted(tmp_path, memory, sentence):
    """In older lines it is not known: the monitor's last sample before a run is of the run before."""
    run = make_run(label=Role.ALLOCATION, machine=GPU_MACHINE, peak_memory_bytes=2 * 10**9, gpu_memory=memory)
    assert seized_sentences(of(tmp_path, run)) == [sentence]


def test_a_studys_verdicts_take_the_place_of_its_older_ones_and_no_others(tmp_path):
    layout, amp = verdicts_of(runs_of("layout")), verdicts_of(runs_of("amp"))
    record_verdicts(of(tmp_path, study="amp"), amp)
    record_verdicts(of(tmp_path), layout)
    record_verdicts(of(tmp_path), [replace(layout[0], question="again")])

    elements = read_elements(tmp_path / VERDICTS)
    assert [element["study"] for element in elements] == ["amp"] * len(amp) + ["layout"]
    assert elements[-1]["question"] == "again"


@pytest.mark.parametrize("text", ["{", "[1, 2", "\x00"])
def test_damaged_verdicts_are_kept_under_another_name(tmp_path, text):
    (tmp_path / VERDICTS).write_text(text)
    record_verdicts(of(tmp_path), verdicts_of(runs_of("layout")))

    assert len(json.loads((tmp_path / VERDICTS).read_text())) == 2
    assert (tmp_path / "verdicts.damaged.json").read_text() == text


@pytest.mark.parametrize("text", ["null", "{}", "3"])
def test_other_json_holds_no_verdict(tmp_path, text):
    path = Path(tmp_path / VERDICTS)
    path.write_text(text)
    assert read_elements(path) == [] and path.exists()
