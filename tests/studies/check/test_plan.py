"""What the check of the instrument measures."""

import json

import pytest

from trainspeed.conduct.plan import schedule
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.probe import PROBES
from trainspeed.report.parameters import read_notebook, resolve_parameters
from trainspeed.report.request import new_session
from trainspeed.studies.check import plan as module
from trainspeed.studies.check.plan import plan_check

NOTEBOOKS = ROOT / "notebooks"
USUAL = {name: parameter.default for name, parameter in read_notebook(NOTEBOOKS / "check.ipynb").items()}
OF_MEASURE = ("interval_s", "turn_s", "timeout_s")


@pytest.fixture
def planned(monkeypatch):
    """A function that returns the plan with some parameters changed, where these frameworks are installed."""

    def plan(here=("torch", "tensorflow", "jax"), **changed):
        monkeypatch.setattr(module, "find_interpreter", lambda name: name if name in here else None)
        values = {name: value for name, value in USUAL.items() if name not in OF_MEASURE}
        return plan_check(**values | changed)

    return plan


def test_a_training_takes_turns_with_itself_and_with_one_of_more_steps(planned):
    plan = planned(steps=10, planted_steps=1, blocks=6)
    runs = [run for run in schedule(plan.sets, 0) if not run.trial.phase.probe]
    groups = {(run.block, run.group) for run in runs}
    assert len(groups) == 6 and len(runs) == 18
    assert {run.trial.steps_per_epoch for run in runs} == {10, 11}


def test_every_probe_runs_alone_in_every_framework_once(planned):
    runs = [run for run in schedule(planned().sets, 0) if run.trial.phase.probe]
    assert {(run.trial.framework, run.trial.name) for run in runs} == {
        (framework, name) for framework in USUAL["frameworks"] for name in PROBES
    }
    assert len({run.group for run in runs}) == len(runs)


def test_what_takes_turns_is_the_first_framework_that_is_installed(planned):
    assert planned(here=("jax",)).turns.trials[0].framework == "jax"
    assert planned(here=("jax",)).turns.trials[0].compile
    assert planned(here=()).turns.trials[0].framework == "torch"  # and its row says that it is not installed


@pytest.mark.parametrize("wrong", [{"planted_steps": 0}, {"probes": ["epohc"]}, {"blocks": 0}])
def test_a_mistake_is_named(planned, wrong):
    (name,) = wrong
    with pytest.raises(UserError, match=name.removesuffix("s")):
        planned(**wrong)


def test_a_report_begins_with_its_short_form_and_ends_with_the_front_page():
    session = new_session(folder=NOTEBOOKS, preset="quick")
    assert session.notebooks[0] == "check" and session.notebooks[-1] == "summary"
    assert "check" not in session.weights  # it takes the time that it takes
    short, whole = session.parameters["check"], resolve_parameters(["check"], NOTEBOOKS)["check"]
    assert short["turn_s"] < whole["turn_s"] and short["blocks"] == whole["blocks"] == 6


def test_the_command_runs_nothing_else():
    session = new_session(folder=NOTEBOOKS, preset="check", notebooks=("check",))
    assert session.notebooks == ("check",) and session.budget_s is None
    assert json.dumps(session.parameters["check"]) == json.dumps(USUAL)
