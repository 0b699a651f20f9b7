"""What every notebook shows besides its question, where a part of the folder is missing or damaged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conv2d_data import GPU_MACHINE
from front_data import runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.files import VERDICTS
from trainspeed.core.run import Role
from trainspeed.core.runs import Measured
from trainspeed.show.monitor import plot_monitor
from trainspeed.show.notebook import monitor_data, read_elements, record_verdicts, seized_sentences


def of(folder, *runs, study="layout"):
    return Measured(tuple(runs), study, "s", out=folder, folder=folder)


def test_a_ledger_that_was_copied_without_its_monitors_files_is_shown(tmp_path):
    run = make_run(monitor="monitor/s.csv", started_at="2026-11-20T10:00:00+00:00", stages_s={"start": 1.0})

    samples, spans = monitor_data(of(tmp_path, run))

    assert samples.empty and len(spans) == 1
    (ax,) = plot_monitor(samples, spans).axes
    assert "recorded no sample" in " ".join(text.get_text() for text in ax.texts).replace("\n", " ")


def test_without_the_monitor_nobody_knows_what_was_seized(tmp_path):
    run = make_run(
        label=Role.ALLOCATION,
        machine=GPU_MACHINE,
        started_at="2026-11-20T10:00:00+00:00",
        stages_s={"start": 1.0},
        peak_memory_bytes=2 * 10**9,
    )
    assert seized_sentences(of(tmp_path, run)) == ["PyTorch by default takes not sampled; needed: 2.00 GB."]


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
