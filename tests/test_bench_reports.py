"""The benchmark's rows on reports, of records that are there: no report is made."""

import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from test_bench import BENCHMARKS, load
from trainspeed.core.ledger import SESSIONS_FILE

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


def test_of_a_report_beside_a_neighbour_its_verdicts_are_counted_too(reports, tmp_path):
    for name in ("runs.jsonl", SESSIONS_FILE):
        shutil.copy(MEASURED / "xeon-amx-2-cores" / name, tmp_path)
    outcomes = ["undecided", "faster", "undecided"]
    (tmp_path / "verdicts.json").write_text(json.dumps([{"outcome": outcome} for outcome in outcomes]))
    rows = reports.rows_beside_neighbour(tmp_path)

    assert (
        "| report beside a noisy neighbour on the other core: verdicts | 2 undecided, 1 faster | printed | |"
        in rows
    )
    assert any("half-width of the interval of " in row for row in rows)
