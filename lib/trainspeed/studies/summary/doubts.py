"""How sure a front page is: what its headline rests on, how many doubts, about what, and what was measured again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainspeed.core.factors import RECIPE
from trainspeed.core.files import CHECK, SUMMARY, VERDICTS
from trainspeed.core.format import NAMES, counted, listed, model_of
from trainspeed.core.machine_text import machine_name
from trainspeed.core.markdown import Marked
from trainspeed.core.notes import CoresBusy, GpuBusy, GpuShared, GpuTakenMeanwhile
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import Measured, RunSet
from trainspeed.judge.comparison import Verdict, controls
from trainspeed.judge.doubts import DoubtedRuns, doubted_runs, in_runs, job_of, whole_study_doubts
from trainspeed.judge.text import interval_of
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import study_link
from trainspeed.studies.summary.headline import Gain, headline_gains
from trainspeed.studies.summary.text import called, checks_here

StudyJob = tuple[str, str, str | None]  # study, framework and model
OTHERS_BUSY = (CoresBusy, GpuBusy, GpuShared, GpuTakenMeanwhile)  # notes on other processes
FRESH = (Role.RECIPE, Role.PLAIN_AGAIN)  # runs from which alone a search makes claims


@dataclass(frozen=True, kw_only=True)
class _Doubt:
    """A doubt in words.

    Attributes:
        jobs: What it is about; about everything where there is none.
        runs: The runs that have it; none where it is of no single runs.
    """

    text: str
    jobs: frozenset[StudyJob] = frozenset()
    runs: tuple[Run, ...] = ()


def evidence_text(report: ReportSummary, measured: Measured, gains: Sequence[Gain]) -> str:
    """Return what the headline rests on: its blocks, what noise does, and how often other processes were busy."""
    headline = {study for gain in gains for study in gain.studies}
    runs = [run for run in _runs_of(gains, (*report.runs, *measured.runs)) if run.status is Status.OK]
    said = []
    if blocks := sorted({gain.verdict.blocks for gain in gains}):
        number = " to ".join(dict.fromkeys((f"{blocks[0]}", f"{blocks[-1]}")))
        pages = {ran.name: ran.page for ran in report.notebooks}
        where = listed([study_link(study, pages.get(study)) for study in sorted(headline - {SUMMARY})])
        said.append(f"{number} blocks of fresh processes in {where}")
    twice = [v for v in report.verdicts if v.is_control and (not headline or v.study in headline)]
    if sure := [verdict for verdict in twice if verdict.low is not None]:
        said.append(_noise(sure, gains))
    if busy := sum(any(isinstance(note, OTHERS_BUSY) for note in run.notes) for run in runs):
        said.append(
            f"other processes were busy during {busy} of {'its ' * bool(gains)}{counted(len(runs), 'run')}"
        )
    return "; ".join(said)


def _runs_of(gains: Sequence[Gain], runs: Sequence[Run]) -> list[Run]:
    """Return the runs that the gains rest on: of both sides, in the studies that they are from; without a gain, all.

    Of what a search kept they are those of fresh blocks.
    """
    if not gains:
        return [*runs]
    sides = {
        (study, side.spec, gain.verdict.factor == RECIPE)
        for gain in gains
        for study in gain.studies
        for side in (gain.verdict.baseline, gain.verdict.candidate)
    }
    return [run for run in runs if (run.study, run.trial.spec, run.role in FRESH) in sides]


def _noise(sure: Sequence[Verdict], gains: Sequence[Gain]) -> str:
    """Return the intervals of settings that were measured twice, as if they were two.

    Args:
        sure: The controls of the headline's studies, or of all, that have an interval. Each gain has its own where
            there is one; where none has, the widest stands for all.
    """
    widest = sorted(sure, key=_half_width, reverse=True)
    jobs = dict.fromkeys(job_of(gain.verdict.baseline) for gain in gains)
    own = {job: next((v for v in widest if job_of(v.baseline) == job), None) for job in jobs}
    shown = [control for control in own.values() if control] or widest[:1]
    another = not any(own.values())
    named = len(jobs) > 1 or another
    models = len({model for _, model in jobs}) > 1 or another
    # As many blocks as the gain's own are not told again.
    own_blocks = {job_of(gain.verdict.baseline): gain.verdict.blocks for gain in gains}
    told = all(own_blocks.get(job_of(control.baseline)) == control.blocks for control in shown)
    alike = len({control.blocks for control in shown}) == 1
    said = []
    for control in shown:
        framework, model = job_of(control.baseline)
        where = [NAMES[framework], *[model_of(model)] * bool(models and model)] * named
        said.append(
            " ".join([*where, interval_of(control), *[f"({control.blocks} blocks)"] * (not (alike or told))])
        )
    among = f" in {shown[0].blocks} blocks" if alike and not told else ""
    return f"noise, one setting against itself{among}: {', '.join(said)}"


def _half_width(control: Verdict) -> float:
    """Return half the width of the interval of a control's median, as a share."""
    return math.sqrt(control.high / control.low) - 1


def doubt_text(
    report: ReportSummary,
    measured: Measured,
    confirmed: Sequence[Confirmed] = (),
    gains: Sequence[Gain] = (),
) -> Marked:
    """Return how many reasons there are to distrust the headline, or else the page, and what was measured again.

    What a search kept was measured in fresh blocks, so that nothing has to be measured again.

    Args:
        gains: Those of the headline; none where it tells no gain.
    """
    doubts = _doubts(report, measured, confirmed)
    touching = len(_touching(doubts, gains, (*report.runs, *measured.runs)))
    others = len(doubts) - touching
    subject = "the headline" if gains else "this page"
    if touching and others:
        told = f"{touching} of {len(doubts)} doubts {'is' if touching == 1 else 'are'} about {subject}"
    else:
        told = f"{counted(touching, 'reason') if touching else 'no reason'} to doubt {subject}"
        told += f", {others} for other parts" * (others > 0)
    told = f"[{told}](#doubts)"
    if report.kept:
        return Marked(told)
    largest = [one for one in confirmed if one.first.outcome is Outcome.FASTER]
    again = sum(one.again is not None for one in largest)
    which = "the largest gain" + "s" * (again > 1)
    if again < len(largest):
        which = f"{again} of the {len(largest)} largest gains"
    link = "measured [again](#measured-again-in-fresh-blocks)"
    if again:
        luck = f"; {which} {'was' if again == 1 else 'were'} {link}"
    elif any(one.again for one in confirmed):
        luck = f"; no gain was, but what is undecided or slower was {link}"
    else:
        luck = f"; no gain was {link}, so that it may be partly luck" if gains else ""
    return Marked(f"{told}{luck}")


def _touching(doubts: Sequence[_Doubt], gains: Sequence[Gain], runs: Sequence[Run]) -> list[_Doubt]:
    """Return the doubts about what the headline is from, or about everything; all where it tells no gain.

    A study may have runs of other frameworks and models than the headline's, and of other things with its own.

    Args:
        runs: Of all studies.
    """
    jobs = {(study, *job_of(gain.verdict.baseline)) for gain in gains for study in gain.studies}
    own = {id(run) for run in _runs_of(gains, runs)}

    def touches(doubt: _Doubt) -> bool:
        if not gains or not doubt.jobs:
            return True
        return any(id(run) in own for run in doubt.runs) if doubt.runs else not doubt.jobs.isdisjoint(jobs)

    return [doubt for doubt in doubts if touches(doubt)]


def headline_doubts_first(
    report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed] = ()
) -> list[str]:
    """Return all doubts, those about the headline first and named so, where others are not about it."""
    doubts = _doubts(report, measured, confirmed)
    runs = (*report.runs, *measured.runs)
    touching = [one.text for one in _touching(doubts, headline_gains(report, confirmed), runs)]
    others = [one.text for one in doubts if one.text not in touching]
    return [*(f"About the headline: {text}" for text in touching), *others] if others else touching


def all_doubts(report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Return the doubts about the folder, about each study, and about what this page measured itself.

    Args:
        confirmed: What became of some of the gains in fresh blocks: noise is no doubt about one on which these decide.
    """
    return [doubt.text for doubt in _doubts(report, measured, confirmed)]


def _doubts(report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed]) -> list[_Doubt]:
    of_all = [*report.doubts, *_doubts_about_machines((*report.runs, *measured.runs))]
    doubts = [_Doubt(text=text) for text in of_all]
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
        # The instrument is that of all.
        every = frozenset() if study == CHECK else frozenset((study, *job_of(run.trial)) for run in runs)
        for text, verdict in whole_study_doubts(runs, control, own, report.coverage.get(study)).items():
            jobs = every if verdict is None else frozenset({(study, *job_of(verdict.baseline))})
            doubts.append(_Doubt(text=f"{called(study)}: {text}", jobs=jobs))
        if study not in known and study not in (CHECK, SUMMARY):
            text = f"{study}: it has runs, but no verdict in {VERDICTS}: see why in its notebook."
            doubts.append(_Doubt(text=text, jobs=every))
        for one in doubted_runs(runs):
            same.setdefault((one.note.kind, one.note.subject), {})[study] = one
    for own in same.values():
        doubted = tuple(run for one in own.values() for run in one.doubted)
        jobs = frozenset((study, *job_of(run.trial)) for study, one in own.items() for run in one.doubted)
        doubts.append(
            _Doubt(text=_doubt_of_runs(own), jobs=frozenset() if CHECK in own else jobs, runs=doubted)
        )
    doubts += (_Doubt(text=text) for text in measured.doubts)
    return [*{doubt.text: doubt for doubt in reversed(doubts)}.values()][::-1]


def _doubt_of_runs(by_study: Mapping[str, DoubtedRuns]) -> str:
    """Return the same doubt about runs of several studies, said once, with the largest amounts."""
    largest = max((one.note for one in by_study.values()), key=lambda note: note.amounts)
    where = [
        f"{one.runs} of {one.of} runs of {called(study)} ({', '.join([*one.names, *one.setting])})"
        for study, one in by_study.items()
    ]
    return in_runs(largest, "; ".join(where))


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
