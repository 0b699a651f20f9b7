"""What gives reason to doubt a front page: how many doubts, about what, and what was measured again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from trainspeed.core.files import CHECK, SUMMARY, VERDICTS
from trainspeed.core.format import NAMES, counted, listed
from trainspeed.core.machine_text import machine_name
from trainspeed.core.markdown import Marked
from trainspeed.core.run import Run
from trainspeed.core.runs import Measured, RunSet
from trainspeed.judge.comparison import controls
from trainspeed.judge.doubts import DoubtedRuns, doubted_runs, note_sentence, whole_study_doubts
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.text import checks_here


def doubt_text(
    report: ReportSummary,
    measured: Measured,
    confirmed: Sequence[Confirmed] = (),
    headline: Set[str] = frozenset(),
) -> Marked:
    """Return how many reasons there are to distrust the headline, or else the page, and what was measured again.

    Args:
        headline: The studies that the headline is from; none where it tells no gain.
    """
    doubts = _doubts(report, measured, confirmed)
    touching = sum(
        not headline or not studies or not studies.isdisjoint(headline) for studies in doubts.values()
    )
    others = len(doubts) - touching
    if touching and others:
        told = f"{touching} of {len(doubts)} doubts {'is' if touching == 1 else 'are'} about it"
    else:
        told = f"{counted(touching, 'reason') if touching else 'no reason'} to doubt it"
        told += f", {others} for other parts" * (others > 0)
    told = f"[{told}](#doubts)"
    gains = [one for one in confirmed if one.first.outcome is Outcome.FASTER]
    again = sum(one.again is not None for one in gains)
    which = "the largest gain" + "s" * (again > 1)
    if again < len(gains):
        which = f"{again} of the {len(gains)} largest gains"
    studies = dict.fromkeys(one.first.study for one in gains)
    if headline and studies and headline.isdisjoint(studies):
        which += f" of {listed(studies)}"  # the headline's own size is of fresh blocks
    link = "measured [again](#confirmed-in-fresh-blocks)"
    if again:
        luck = f"; {which} {'was' if again == 1 else 'were'} {link}"
    elif any(one.again for one in confirmed):
        luck = f"; no gain was, but what is undecided or slower was {link}"
    else:
        luck = f"; no gain was {link}, so that it may be partly luck" if report.gains else ""
    return Marked(told + ("" if report.kept and not measured.runs else luck))


def all_doubts(report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Return the doubts about the folder, about each study, and about what this page measured itself.

    Args:
        confirmed: What became of some of the gains in fresh blocks: noise is no doubt about one on which these decide.
    """
    return [*_doubts(report, measured, confirmed)]


def _doubts(
    report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed]
) -> dict[str, frozenset[str]]:
    """Return each doubt with the studies that it is about; none of them where it is about all."""
    of_all = [*report.doubts, *_doubts_about_machines((*report.runs, *measured.runs))]
    doubts = dict.fromkeys(of_all, frozenset())
    known = {verdict.study for verdict in report.verdicts}
    same: dict[tuple, dict[str, DoubtedRuns]] = {}
    checks = () if checks_here(report)[1] else report.checks  # of another system they are not counted on
    seen = [one.first for one in confirmed if one.holds or one.unconfirmed]
    for study in dict.fromkeys(run.study for run in (*report.runs, *checks, *measured.runs)):
        runs = {CHECK: report.checks, SUMMARY: RunSet(tuple(measured.runs))}.get(study, report.runs).of_study(
            study
        )
        # The short form of a check compares nothing; what is measured again was held against the controls at first.
        control = controls(runs) or (None if study in (CHECK, SUMMARY) else [])
        own = [verdict for verdict in report.verdicts if verdict.study == study and verdict not in seen]
        about = frozenset() if study == CHECK else frozenset({study})  # the instrument is that of all
        doubts |= {f"{study}: {doubt}": about for doubt in whole_study_doubts(runs, control, own)}
        if study not in known and study not in (CHECK, SUMMARY):
            doubts[f"{study}: it has runs, but no verdict in {VERDICTS}: see why in its notebook."] = about
        for one in doubted_runs(runs):
            same.setdefault((one.note.kind, one.note.subject), {})[study] = one
    doubts |= {_doubt_of_runs(own): frozenset() if CHECK in own else frozenset(own) for own in same.values()}
    return doubts | dict.fromkeys(measured.doubts, frozenset())


def _doubt_of_runs(by_study: Mapping[str, DoubtedRuns]) -> str:
    """Return the same doubt about runs of several studies, said once, with the largest amounts."""
    largest = max((one.note for one in by_study.values()), key=lambda note: note.amounts)
    where = [
        f"{study}: {one.runs} of {one.of} runs ({', '.join(one.frameworks)})"
        for study, one in by_study.items()
    ]
    return f"{'; '.join(where)}: {note_sentence(largest)}"


def _doubts_about_machines(runs: Iterable[Run]) -> list[str]:
    """Return a doubt where not everything was measured on one machine with the same driver and versions."""
    studies: dict[str, dict[str, None]] = {}
    versions: dict[str, set[str]] = {}
    for run in runs:
        if run.machine:
            studies.setdefault(machine_name(run.machine), {})[run.study] = None
        if driver := run.machine.get("driver"):
            versions.setdefault("The NVIDIA driver", set()).add(driver)
        if version := run.versions.get(run.trial.framework):
            versions.setdefault(NAMES[run.trial.framework], set()).add(version)
    doubts = []
    if len(studies) > 1:
        machines = "; ".join(f"{', '.join(names)} on {machine}" for machine, names in studies.items())
        doubts.append(f"Not everything was measured on one machine: {machines}. Compare within each only.")
    for name, seen in versions.items():
        if len(seen) > 1:
            doubts.append(
                f"{name} ran in several versions: {', '.join(sorted(seen))}. Measure all notebooks again."
            )
    return doubts
