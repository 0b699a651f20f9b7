"""What the front page says, as values: `report.json`, for a dashboard and for `make share`. Makes no sentence.

The front page's notebook writes it beside its page, from the same objects. docs/share.md has its fields.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trainspeed.conduct.context import current
from trainspeed.core.errors import UserError
from trainspeed.core.files import VALUES, write_atomically
from trainspeed.core.machine_text import device_is_core, machine_name
from trainspeed.core.markdown import plain_text
from trainspeed.core.quantities import MOST_TEXT_LETTERS, Count, Elapsed, MachineFacts, Name, Text
from trainspeed.core.runs import Measured
from trainspeed.judge.check_list import faults
from trainspeed.judge.checks import CheckOutcome
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome
from trainspeed.snippets.code import changed_lines, program_of
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.doubts import all_doubts
from trainspeed.studies.summary.headline import (
    HeadlineOutcome,
    confirmed_levers,
    finding_of,
    headline_gains,
    nearest_gain,
    to_paste,
)
from trainspeed.studies.summary.plain_script import beaten
from trainspeed.studies.summary.tables import FrontTable, verdicts_by_table
from trainspeed.studies.summary.text import checks_here, not_measured
from trainspeed.studies.summary.undecided import undecided_sentences

SCHEMA = 1  # of `report.json`: goes up when a field changes its meaning
MOST = 100_000  # elements of a list
MOST_CODE_LETTERS = 100_000
# Of a machine; what tells it from its equals, such as the identifiers of its GPUs, is left out.
MACHINE_FIELDS = (
    *("device", "cpu", "cpu_flags", "cores", "memory_bytes", "huge_pages"),
    *("interconnect", "driver", "cuda", "os", "container", "python"),
)
GPU_FIELDS = ("name", "memory_bytes", "power_limit_w", "compute_capability")
Texts = Annotated[list[Text], Meta(max_length=MOST)]
Code = Annotated[str, Meta(max_length=MOST_CODE_LETTERS)]


class NotebookValues(msgspec.Struct, kw_only=True):
    """How a notebook ended: see `studies.summary.collect.ReportNotebook`."""

    name: Name
    title: Text
    status: Name
    error: Text | None
    seconds: Elapsed | None
    session: Name | None
    page: Name | None


class CheckValues(msgspec.Struct, kw_only=True):
    """What `make check` found on this system: outcome -> number of checks, and what is not ok in a sentence each."""

    outcomes: Annotated[dict[CheckOutcome, Count], Meta(max_length=10)]
    faults: Texts


class GainValues(msgspec.Struct, kw_only=True):
    """A gain of the headline.

    Attributes:
        verdict: An element of `verdicts.json`, of fresh blocks where these confirm it.
        lines: What a plain program has not: see `snippets.changes`; None where there is no program to paste.
    """

    name: Text
    finding: HeadlineOutcome
    verdict: dict[str, Any]
    lines: Annotated[list[Code], Meta(max_length=MOST)] | None
    program: Code | None


class HeadlineValues(msgspec.Struct, kw_only=True):
    """What a report found: in a word, in how many comparisons, and the gains that the headline tells.

    Attributes:
        nearest: The verdict on the undecided switch that may well be a gain; None for none.
    """

    finding: HeadlineOutcome
    compared: Count
    undecided: Count
    gains: Annotated[list[GainValues], Meta(max_length=100)]
    nearest: dict[str, Any] | None


class ReportValues(msgspec.Struct, kw_only=True):
    """The values of a report, as `report.json` holds them.

    Attributes:
        trainspeed: Its version.
        complete: Whether every notebook ended well and lacks nothing.
        check: None where the instrument was not checked on this system.
        machine: Fields of a ledger's `machine`, and its name.
        versions: Framework -> package -> version.
        verdicts: Elements of `verdicts.json` with `name`, `table`, `fresh_blocks` and `no_gain`, table by table.
    """

    schema: int
    trainspeed: Name
    session: Name
    preset: Name | None
    complete: bool
    headline: HeadlineValues
    check: CheckValues | None
    machine: dict[str, Any]
    versions: Annotated[dict[Name, dict[Name, Name]], Meta(max_length=100)]
    verdicts: Annotated[list[dict[str, Any]], Meta(max_length=MOST)]
    next_steps: Texts
    doubts: Texts
    not_measured: Texts
    notebooks: Annotated[list[NotebookValues], Meta(max_length=1000)]


@dataclass(frozen=True)
class RecordedVerdict:
    """A verdict of the report, its table, and what became of it in fresh blocks; None where there were none.

    Attributes:
        no_gain: Why what is faster is no gain after all; "" where it is one.
    """

    verdict: Verdict
    table: FrontTable
    again: Confirmed | None
    no_gain: str = ""


def record_report(report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed]) -> None:
    """Write `report.json` beside the front page; nothing in JupyterLab, where no page is made."""
    if current().in_report:
        values = msgspec.to_builtins(report_values(report, measured, confirmed))
        text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(measured.out / VALUES, text + "\n")


def report_values(
    report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed] = ()
) -> ReportValues:
    """Return the values of a report.

    Args:
        measured: What the front page measured itself.
        confirmed: What became of some of the gains in fresh blocks.
    """
    judged = report.headlines
    newest = [notebook for notebook in report.notebooks if notebook.session == report.session]
    return ReportValues(
        schema=SCHEMA,
        trainspeed=version("trainspeed"),
        session=report.session,
        preset=next((notebook.preset for notebook in newest if notebook.preset), None),
        complete=report.complete,
        headline=HeadlineValues(
            finding=finding_of(report, confirmed),
            compared=len(judged),
            undecided=sum(verdict.outcome is Outcome.UNDECIDED for verdict in judged),
            gains=_gains(report, confirmed),
            nearest=_named(nearest_gain(report)),
        ),
        check=_check(report),
        machine=_machine(report.machine or measured.machine),
        versions={
            name: dict(packages) for name, packages in (report.runs.versions | measured.versions).items()
        },
        verdicts=_verdicts(report, confirmed),
        next_steps=_texts(undecided_sentences(report)),
        doubts=_texts(all_doubts(report, measured, confirmed)),
        not_measured=_texts(not_measured(report, measured)),
        notebooks=[
            NotebookValues(**{name: getattr(ran, name) for name in NotebookValues.__struct_fields__})
            for ran in report.notebooks
        ],
    )


def read_values(path: Path) -> ReportValues:
    """Return the values in a file, with those of its verdicts that this version knows.

    Raises:
        FileNotFoundError: There is no such file.
        UserError: It is damaged, or of another version.
    """
    try:
        values = msgspec.json.decode(path.read_bytes(), type=ReportValues)
        msgspec.convert(values.machine, MachineFacts)
        known = values.schema == SCHEMA
    except (ValueError, RecursionError):  # no JSON, or not what the fields may hold
        known = False
    if not known:
        raise UserError(f"{VALUES} is damaged, or of another version: `make render` writes it anew.")
    return values


def recorded_verdicts(values: ReportValues) -> list[RecordedVerdict]:
    """Return the verdicts of a report; what another version wrote is left out."""
    return [known for known in map(_recorded, values.verdicts) if known]


def verdict_of(element: Mapping[str, Any] | None) -> Verdict | None:
    """Return the verdict of an element of `verdicts.json`; None where it is none that this version knows."""
    try:
        verdict = Verdict.from_dict(element) if element is not None else None
        return verdict if verdict and verdict.name else None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        return None


def _recorded(element: Mapping[str, Any]) -> RecordedVerdict | None:
    verdict, again = verdict_of(element), verdict_of(element.get("fresh_blocks"))
    if verdict is None or element.get("table") not in {*FrontTable}:
        return None
    fresh = Confirmed(first=verdict, again=again) if again else None
    return RecordedVerdict(verdict, FrontTable(element["table"]), fresh, str(element.get("no_gain") or ""))


def _gains(report: ReportSummary, confirmed: Sequence[Confirmed]) -> list[GainValues]:
    pasted = {(plain.spec, trial.spec): (plain, trial) for plain, trial in to_paste(report, confirmed)}
    levers, on_cores = confirmed_levers(report), device_is_core(report.machine)
    gains = []
    for told in headline_gains(report, confirmed):
        verdict = told.verdict
        plain, trial = pasted.get((verdict.baseline.spec, verdict.candidate.spec), (None, None))
        gains.append(
            GainValues(
                name=verdict.name,
                finding=told.finding,
                verdict=verdict.as_dict(),
                lines=changed_lines(trial, plain, levers.get(trial)) if trial else None,
                program=program_of(trial, plain, levers.get(trial), on_cores=on_cores) if trial else None,
            )
        )
    return gains


def _named(verdict: Verdict | None) -> dict[str, Any] | None:
    return None if verdict is None else {**verdict.as_dict(), "name": verdict.name}


def _check(report: ReportSummary) -> CheckValues | None:
    checks, elsewhere = checks_here(report)
    if not checks or elsewhere:
        return None
    counts = Counter(check.outcome for check in checks)
    return CheckValues(outcomes={one: counts[one] for one in CheckOutcome}, faults=_texts(faults(checks)))


def _texts(sentences: Iterable[str]) -> list[str]:
    """Return sentences no longer than a reader of the file takes."""
    return [plain_text(sentence)[:MOST_TEXT_LETTERS] for sentence in sentences]


def _machine(machine: Mapping[str, Any]) -> dict[str, Any]:
    if not machine:
        return {}
    gpus = machine.get("gpus")
    shown = None if gpus is None else [{name: gpu.get(name) for name in GPU_FIELDS} for gpu in gpus]
    return {"name": machine_name(machine), **{f: machine.get(f) for f in MACHINE_FIELDS}, "gpus": shown}


def _verdicts(report: ReportSummary, confirmed: Sequence[Confirmed]) -> list[dict[str, Any]]:
    """Return all verdicts in the order of the front page's tables, with the name of the table."""
    again = {one.first: one.again.as_dict() for one in confirmed if one.again}
    tables = {FrontTable.SWITCHES: report.headlines, **verdicts_by_table(report)}
    no_gain = beaten(report.headlines, report.machine, report.runs)
    return [
        {
            **_named(verdict),
            "table": str(table),
            "fresh_blocks": again.get(verdict),
            "no_gain": no_gain.get(verdict),
        }
        for table, several in tables.items()
        for verdict in several
    ]
