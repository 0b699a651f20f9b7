"""The notebook on switches and a ledger for it that is made up: without a kernel and without a framework."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat

from study_data import make_run
from trainspeed.conduct.schedule import schedule
from trainspeed.core.ledger import Ledger
from trainspeed.report.parameters import TAG, resolve_parameters
from trainspeed.report.run import NOTEBOOKS

mpl.use("Agg")
GAINS = {("layout", "channels_last"): 1.3, ("optimizer", "fused"): 1.15, ("optimizer", "foreach"): 1.02}
PARTS = {"both": 1.0, "input": 0.2, "compute": 0.7, "fit": 1.3}
VALUES = {
    "levers": ["layout", "optimizer", "huge_pages", "threads"],
    "confirm_blocks": 9,
    "dataset": "digits",
} | {"images_per_epoch": 1024}
MOST_STAGES = 20


def seconds(trial, block):
    """What an epoch takes: channels_last and fused pay, huge pages would pay most if they were in effect."""
    gain = GAINS.get(("layout", trial.layout), 1.0)
    for setting in trial.levers:
        gain *= GAINS.get(setting, 1.0)
    return PARTS[trial.part] * (1 + block / 500) / gain


def run_of(planned):
    """A run; of huge pages it sees nothing."""
    trial = planned.trial
    seen = {name: (None if name == "huge_pages" else value, "a look") for name, value in trial.levers}
    about = {"study": "switches", "label": planned.label, "block": planned.block, "group": planned.group}
    about |= {
        "test_accuracy": 0.8,
        "peak_memory_bytes": 10**9,
        "in_effect": seen,
        "stages_s": {"train": 4.0},
        "tf32": (),
    }
    run = make_run(
        seconds(trial, planned.block), images_per_epoch=trial.images_per_epoch, batch_size=8, **about
    )
    return replace(run, trial=trial, started_at="2026-11-20T10:00:00+00:00")


def executed(monkeypatch, out, *, render=None):
    """Run the cells; return their variables, as far as the plan where there is nothing to render."""
    for variable, value in {
        "TRAINSPEED_DEVICE": "cpu",
        "TRAINSPEED_OUT": out,
        "TRAINSPEED_REPORT": 1,
        "TRAINSPEED_RENDER": render,
    }.items():
        monkeypatch.setenv(variable, str(value or ""))
    monkeypatch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 2)
    monkeypatch.setattr("trainspeed.sensors.machine.core_quota", lambda: None)
    values = resolve_parameters(["switches"], NOTEBOOKS, preset="smoke")["switches"] | VALUES
    names: dict = {}
    with plt.rc_context():
        for cell in nbformat.read(NOTEBOOKS / "switches.ipynb", 4).cells:
            if cell.cell_type == "code" and (render or "measure(" not in cell.source):
                exec(cell.source, names)
                if TAG in cell.metadata.get("tags", []):
                    names |= values
            elif cell.cell_type == "code":
                return names
    return names


def whole_ledger(plan, out):
    """Measure all that the plan wants, until it wants nothing."""
    runs: list = []
    sets = [*plan.rest, *plan.others]
    for _ in range(MOST_STAGES):
        if not sets:
            break
        new = [run_of(planned) for part in sets for planned in schedule([part], 0)]
        known = {run.key for run in runs}
        runs += [run for run in new if run.key not in known]
        sets = plan.more(runs)
    assert not sets, "it asks for ever"
    ledger = Ledger(out)
    for run in runs:
        ledger.append(run)
    return runs
