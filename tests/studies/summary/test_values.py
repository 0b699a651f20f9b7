"""`report.json`: what the front page says, as values."""

import json
from dataclasses import replace

import msgspec
import pytest

from front_data import NOTHING, report_of, runs_of
from share_data import a_verdict, values_with
from trainspeed.core.errors import UserError
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary import values
from trainspeed.studies.summary.collect import ReportNotebook
from trainspeed.studies.summary.headline import HeadlineOutcome
from trainspeed.studies.summary.tables import FrontTable
from trainspeed.studies.summary.values import (
    read_values,
    record_report,
    recorded_verdicts,
    report_values,
    verdict_of,
)

UNDECIDED = a_verdict(1.02, judgement=replace(a_verdict(1.02).judgement, outcome=Outcome.UNDECIDED))


@pytest.mark.parametrize(
    ("verdicts", "again", "finding"),
    [
        ([a_verdict(2.0), a_verdict(1.5, factor="recipe")], None, HeadlineOutcome.TOGETHER),
        ([a_verdict(2.0)], 1.9, HeadlineOutcome.CONFIRMED),
        ([a_verdict(2.0)], None, HeadlineOutcome.UNCONFIRMED),
        ([a_verdict(2.0), UNDECIDED], 0.9, HeadlineOutcome.UNDECIDED),
        ([a_verdict(0.5)], None, HeadlineOutcome.NOTHING),
        ([UNDECIDED], None, HeadlineOutcome.UNDECIDED),
        ([a_verdict(2.0, blocks=5)], None, HeadlineOutcome.UNDECIDED),
        ([], None, HeadlineOutcome.UNDECIDED),
    ],
)
def test_what_was_found_is_a_word(verdicts, again, finding):
    assert values_with(*verdicts, again=again).headline.finding is finding


def test_a_gain_has_the_size_that_the_headline_tells_and_its_lines():
    (gain,) = values_with(a_verdict(2.0), again=1.9).headline.gains

    assert verdict_of(gain.verdict).speedup == pytest.approx(1.9, rel=0.01)
    code = [line for line in gain.lines if line and not line.lstrip().startswith("#")]
    assert len(code) == 3 and all("channels_last" in line for line in code)
    assert set(code) <= set(gain.program.splitlines())


def test_what_no_program_has_is_none_and_not_empty():
    (gain,) = values_with(a_verdict(2.0)).headline.gains

    assert gain.lines is None and gain.program is None


def test_verdicts_are_those_of_the_file_with_name_table_and_fresh_blocks():
    first, few = a_verdict(2.0), a_verdict(1.2, blocks=2)
    one, other = values_with(first, few, again=1.9).verdicts

    assert {name: one[name] for name in first.as_dict()} == first.as_dict()
    assert (one["name"], one["table"], other["table"]) == (first.name, "switches", "few blocks")
    assert one["fresh_blocks"]["speedup"] == pytest.approx(1.9, rel=0.01) and other["fresh_blocks"] is None


def test_the_machine_is_named_without_what_tells_it_from_its_equals():
    gpu = {"name": "NVIDIA H200", "uuid": "0123abcd", "memory_bytes": 141_000_000_000}
    machine = {"device": "gpu", "cpu": "Test CPU", "gpus": [gpu], "secret": "x", "driver": "580.65"}
    runs = [replace(run, machine=machine) for run in runs_of("layout")]

    told = report_values(report_of(runs=runs), NOTHING).machine

    assert told["name"] == "NVIDIA H200" and told["driver"] == "580.65"
    assert "0123abcd" not in str(told) and "secret" not in told


def test_a_report_is_complete_where_every_notebook_ended_well():
    ended = [ReportNotebook(name="layout", title="", status=status) for status in ("ok", "failed")]

    assert report_values(report_of(notebooks=(ended[0],)), NOTHING).complete
    assert not report_values(report_of(notebooks=tuple(ended)), NOTHING).complete


def test_what_is_written_is_read_back(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINSPEED_REPORT", "1")
    report, measured = report_of(a_verdict(2.0), runs=runs_of("layout")), replace(NOTHING, out=tmp_path)
    record_report(report, measured, [])

    read = read_values(tmp_path / "report.json")
    assert msgspec.to_builtins(read) == json.loads((tmp_path / "report.json").read_text())
    (told,) = recorded_verdicts(read)
    assert (
        told.verdict.name == report.verdicts[0].name
        and told.table is FrontTable.SWITCHES
        and told.again is None
    )


def test_in_jupyterlab_nothing_is_written_as_no_page_is(tmp_path, monkeypatch):
    monkeypatch.delenv("TRAINSPEED_REPORT", raising=False)

    record_report(report_of(), replace(NOTHING, out=tmp_path), [])

    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"schema": 1}', None, "\ud800".encode("utf-8", "surrogatepass")]
)
def test_a_file_that_is_damaged_or_of_another_version_is_said_to_be_so(tmp_path, damage):
    path = tmp_path / "report.json"
    if damage is None:
        damage = msgspec.json.encode(msgspec.structs.replace(values_with(), schema=values.SCHEMA + 1))
    path.write_bytes(damage if isinstance(damage, bytes) else damage.encode())

    with pytest.raises(UserError, match=r"report\.json is damaged, or of another version: `make render`"):
        read_values(path)


def test_a_verdict_of_another_version_costs_no_other():
    known = values_with(a_verdict(2.0))
    strange = {**known.verdicts[0], "factor": 7}, {**known.verdicts[0], "table": "another"}

    more = msgspec.structs.replace(known, verdicts=[*strange, *known.verdicts])

    assert len(recorded_verdicts(more)) == 1


def test_what_may_well_be_a_gain_is_named_where_nothing_is_one():
    above = replace(UNDECIDED, judgement=replace(UNDECIDED.judgement, low=1.01, high=1.04))

    assert values_with(a_verdict(0.5), above).headline.nearest["name"] == above.name
    assert values_with(a_verdict(0.5)).headline.nearest is None
