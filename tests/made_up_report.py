"""The ledger of a whole report, made up: every run that the notebooks plan, with planted seconds.

So the notebooks find what they asked for, and record what they would of real runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest

import conv2d_data
import study_data
from front_data import SESSION
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.schedule import schedule
from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.coverage import Coverage, GroupCoverage, append_coverage
from trainspeed.core.errors import PlanOnly
from trainspeed.core.files import SUMMARY
from trainspeed.core.ledger import SESSIONS_FILE, Ledger, append_line
from trainspeed.core.run import Run, Status
from trainspeed.report import parameters
from trainspeed.report.request import ReportRequest
from trainspeed.report.run import NOTEBOOKS
from trainspeed.studies.summary.confirmation import confirming

# On top of the smoke preset: small, and with an interval where the notebooks compare.
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "layout": {"frameworks": ["tensorflow", "torch"], "blocks": 6},
    "multi_gpu": {"frameworks": ["torch"], "blocks": 6, "pipeline_blocks": 6},
    "amp": {"frameworks": ["torch"], "models": ["mobilenet"], "blocks": 6, "controls": ["torch"]}
    | {"precisions": ["default", "tf32", "bf16"]},
    "conv2d": {"libraries": ["tensorflow", "torch", "scipy_signal"], "survey_libraries": [], "blocks": 6},
    "summary": {"confirm": 1, "confirm_blocks": 6},
}
# Each switch alone; on every framework the same.
GAINS = {"channels_last": 1.3, "bf16": 1.2, "fp16": 0.5, "in_model": 1.5, "processes": 1.1}
DEVICES_GAIN = 1.6
LIBRARY_SECONDS = {"tensorflow": 0.02, "torch": 0.01, "scipy_signal": 0.04, "opencv": 0.005}
REASON = "TF32 is <no> mode of *this* CPU"


def values_of(name: str) -> dict[str, Any]:
    """Return the parameters that a notebook's runs are made up with."""
    return parameters.resolve_parameters([name], NOTEBOOKS, preset="smoke")[name] | dict(PARAMETERS[name])


def rehearsed(name: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Planned], dict[str, Any]]:
    """Return what a notebook plans on two CPU cores, and its variables by then, without a kernel.

    Args:
        out: The report's folder.
    """
    found: list[Planned] = []

    def note(plan, **_):
        found.extend(plan)

    monkeypatch.setattr("trainspeed.conduct.study.check_memory", note)
    monkeypatch.setattr("trainspeed.conduct.study.write_plan", lambda path, plan: None)
    monkeypatch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 2)
    monkeypatch.setattr("trainspeed.sensors.machine.core_quota", lambda: None)
    variables = {"TRAINSPEED_PLAN": "plan.json", "TRAINSPEED_DEVICE": "cpu", "TRAINSPEED_OUT": str(out)}
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    names: dict[str, Any] = {}
    with plt.rc_context(), pytest.raises(PlanOnly):
        for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
                if parameters.TAG in cell.metadata.get("tags", []):
                    names |= values_of(name)
    return found, names


def made_up(study: str, plan: Planned) -> Run:
    """Return a run with planted seconds; TF32 is unsupported, as on any CPU."""
    trial, block = plan.trial, plan.block
    about = {"block": block, "label": plan.label, "study": study, "started_at": "2026-11-20T10:00:00+00:00"}
    if isinstance(trial, Conv2dTrial):  # of the libraries that the smoke preset sweeps
        seconds = LIBRARY_SECONDS[trial.library] / trial.devices
        planned = replace(trial, seed=trial.seed - block)  # which gives it the block's again
        return conv2d_data.make_run(
            planned, seconds * (1 + block / 1000), machine=study_data.MACHINE, **about
        )
    versions = {trial.framework: study_data.VERSIONS[trial.framework]}
    about |= {"trial": trial, "versions": versions, "images_per_epoch": trial.images_per_epoch}
    if trial.precision == "tf32":
        return replace(study_data.make_run(status=Status.UNSUPPORTED, reason=REASON), **about)
    seconds = (1 + block / 1000) / _gain(trial)
    about |= {"test_accuracy": 0.9, "stages_s": {"start": 0.5, "build": 0.5, "train": 6.0}}
    return replace(study_data.make_run(seconds), **about)


def _gain(trial: AnyTrial) -> float:
    switched = [GAINS.get(value, 1.0) for value in (trial.layout, trial.precision, trial.pipeline)]
    return switched[0] * switched[1] * switched[2] * (DEVICES_GAIN if trial.devices > 1 else 1.0)


def write_ledger(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the runs of all studies, and the session that asked for them and for a summary."""
    ledger = Ledger(out)
    for name in PARAMETERS:
        if name != SUMMARY:
            planned = rehearsed(name, out, monkeypatch)[0]
            for plan in planned:
                ledger.append(made_up(name, plan))
            append_coverage(out, _coverage(name, planned[0].trial))
    values = {name: values_of(name) for name in PARAMETERS}
    session = ReportRequest(session=SESSION, preset="smoke", notebooks=tuple(PARAMETERS), parameters=values)
    append_line(out / SESSIONS_FILE, asdict(session))


def _coverage(study: str, trial: AnyTrial) -> Coverage:
    """Return that a study had time for 6 of 9 blocks, and none for something else."""
    about = {"part": "core", "core": True, "trials": (trial.spec.as_dict(),), "most": 9}
    groups = tuple(GroupCoverage(blocks=blocks, **about) for blocks in (6, 0))
    return Coverage(session=SESSION, study=study, budget_s=60.0, spent_s=57.0, groups=groups)


def write_summary(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the runs of the confirmations of a report that was drawn."""
    _, names = rehearsed(SUMMARY, out, monkeypatch)
    for planned in schedule(confirming(names["plan"].top, names["confirm_blocks"]), 0):
        Ledger(out).append(made_up(SUMMARY, planned))
