"""The benchmark's rows on reports, of records that are there: no report is made."""

import json
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from front_data import runs_of, verdicts_of
from study_data import control_runs, make_pair
from test_bench import BENCHMARKS, load
from trainspeed.core.ledger import SESSIONS_FILE, Ledger
from trainspeed.judge.comparison import as_json, controls

MEASURED = BENCHMARKS.parent / "data" / "measured"


@pytest.fixture
def reports(monkeypatch):
    """reports.py, which imports others of its folder; none of them stays imported."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield load("reports")
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


def test_a_report_is_made_while_a_neighbour_has_the_other_core(reports, monkeypatch):
    order = []

    @contextmanager
    def neighbour(core, seed):
        order.append(core)
        yield
        order.append("ended")

    def run(command, **_):
        order.append(command[3])
        return CompletedProcess(command, 0)

    monkeypatch.setattr(reports, "neighbour", neighbour)
    monkeypatch.setattr(reports, "core_for", lambda where: where)
    monkeypatch.setattr(reports.subprocess, "run", run)
    monkeypatch.setattr(reports, "rows_beside_neighbour", lambda folder: ["a row"])

    assert reports.parts(MEASURED, None)["beside a neighbour"]() == ["a row"]
    assert order == ["other", "report", "ended"]
    monkeypatch.setattr(reports, "core_for", lambda where: 0)
    assert reports.beside_neighbour()[0].endswith("| not measured: there is no other core | | |")


@pytest.mark.parametrize(
    ("code", "problem", "words"),
    [(1, None, "the report ended with exit code 1"), (0, SystemExit("it has ended"), "it has ended")],
)
def test_a_report_or_a_neighbour_that_fails_costs_the_other_parts_nothing(
    reports, monkeypatch, code, problem, words
):
    @contextmanager
    def neighbour(core, seed):
        yield
        if problem:
            raise problem

    monkeypatch.setattr(reports, "neighbour", neighbour)
    monkeypatch.setattr(reports, "core_for", lambda where: where)
    monkeypatch.setattr(reports.subprocess, "run", lambda command, **_: CompletedProcess(command, code))

    assert reports.beside_neighbour() == [
        f"| report beside a noisy neighbour on the other core | not measured: {words} | | |"
    ]


def test_of_a_report_beside_a_neighbour_its_decided_comparisons_are_counted_too(reports, tmp_path):
    """Neither controls, whose arms are the same, nor looks of a few blocks, which decide nothing by design."""
    for name in ("runs.jsonl", SESSIONS_FILE):
        shutil.copy(MEASURED / "xeon-amx-2-cores" / name, tmp_path)
    undecided = make_pair("layout", ("channels_first", "channels_last"), [0.9, 1.1] * 3)
    pairs = [runs_of("layout", 1.5), runs_of("amp", 0.5), undecided, runs_of("amp", 1.5, blocks=2)]
    verdicts = [verdict for runs in pairs for verdict in verdicts_of(runs) if verdict.quantity == "time"]
    verdicts += [*controls(control_runs([1.0] * 6)), *verdicts_of(runs_of("layout"))[1:]]
    (tmp_path / "verdicts.json").write_text(json.dumps(as_json(verdicts)))
    rows = reports.rows_beside_neighbour(tmp_path)

    assert (
        "| report beside a noisy neighbour on the other core: comparisons of times in 6 blocks or more | 1 faster, "
        "1 slower, 1 undecided; and 2 controls and accuracies, 1 looks in fewer blocks | printed | |"
    ) in rows
    (row,) = [row for row in rows if "half-width of the interval of " in row]
    assert row.endswith(
        "of 4 A/A control(s) | 1.0% to 3.4% (the widest: multi_gpu, control, PyTorch, cnn10, channels_last, batch 16) "
        "| at most 4% | yes |"
    )


def test_controls_without_an_interval_are_named_by_their_study(reports):
    (row,) = reports._controls("it", control_runs([1.0, 1.0]))

    assert row.endswith("of 1 A/A control(s) | 1 without an interval (layout) | at most 4% | NO |")


def test_what_its_waiting_arms_use_is_a_row_of_each_framework(reports, monkeypatch, tmp_path):
    runs = make_pair("layout", ("channels_first", "channels_last"), [1.0] * 6)
    waited = {"waiting_cores": 0.001, "stages_s": {"wait": 9.0}, "started_at": "2026-11-20T10:00:00+00:00"}
    Ledger(tmp_path).append(*(replace(run, **waited) for run in runs))
    monkeypatch.setattr(reports, "_rendering", lambda folder, notebooks: [])
    (row,) = [row for row in reports.rows(tmp_path, 60.0) if "an arm that waits" in row]

    assert row.startswith("| last report, torch: CPU use of an arm that waits | 0.100% (")
