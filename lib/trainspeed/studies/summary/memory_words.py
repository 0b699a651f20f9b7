"""What lacked memory in a report, and the most that one run took, in words. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.format import counted, gigabytes, percent_used
from trainspeed.core.markdown import escape
from trainspeed.core.run import Run, Status
from trainspeed.judge.memory import memory_share, memory_use
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.gains import study_link


def memory_words(runs: Sequence[Run], report: ReportSummary) -> str:
    """Return how many trials did not fit, or that all did, unless a run crashed; and the most that one run took."""
    use = memory_use(runs)
    lacked = len({run.trial.spec for run in use.out_of_memory})
    lack = f"[{counted(lacked, 'trial')} did not fit](#what-was-not-measured); " if lacked else ""
    if use.fullest is None:
        return f"{lack}how much was used is not known"
    if not any(run.status in (Status.OOM, Status.CRASHED) for run in runs):
        lack = "no run ran out; "
    size, share = gigabytes(use.fullest.peak_memory_bytes, 2), percent_used(memory_share(use.fullest))
    ran = next((ran for ran in report.notebooks if ran.name == use.fullest.study), None)
    page = f"{ran.page}#{ran.memory}" if ran and ran.page and ran.memory else ran and ran.page
    where = study_link(use.fullest.study, page)
    trial = use.fullest.trial
    names = [trial.describe()[1 if trial.phase.of_model else 0], *_only_part(use.fullest)]
    whose = escape(", ".join([*names, *[counted(trial.devices, "device")] * (trial.devices > 1)]))
    return f"{lack}at most {size}, {share}, {_beside(use.fullest)} ({where}: {whose})"


def _only_part(run: Run) -> list[str]:
    return [] if run.trial.phase.trains or not run.trial.phase.of_model else [run.trial.phase.words]


def _beside(run: Run) -> str:
    """Return what the memory is of: on a CPU its own process alone is read, without what that had before the run."""
    return (
        "by one run"
        if run.machine.get("device") != "cpu"
        else f"on top of the framework{' and the data' * run.trains}"
    )
