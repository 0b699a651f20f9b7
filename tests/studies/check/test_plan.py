"""What the check of the instrument measures."""

import json
import re

import pytest

from trainspeed.conduct.forecast import WORKERS_START_S
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.schedule import schedule
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.phase import EXCHANGE
from trainspeed.core.probe import PROBES, ROUNDS, WITHOUT_FRAMEWORK
from trainspeed.report.parameters import read_notebook, resolve_parameters
from trainspeed.report.request import new_session
from trainspeed.studies.check import plan as module
from trainspeed.studies.check.plan import plan_check

NOTEBOOKS = ROOT / "notebooks"
USUAL = {name: parameter.default for name, parameter in read_notebook(NOTEBOOKS / "check.ipynb").items()}
OF_MEASURE = ("interval_s", "turn_s", "timeout_s")


@pytest.fixture
def planned(monkeypatch):
    """A function that returns the plan with some parameters changed, with these frameworks and devices."""

    def plan(here=("torch", "tensorflow", "jax"), devices=(2, "CPU core"), **changed):
        monkeypatch.setattr(module, "devices_here", lambda _study: devices)
        monkeypatch.setattr(module, "find_interpreter", lambda name: name if name in here else None)
        values = {name: value for name, value in USUAL.items() if name not in OF_MEASURE}
        return plan_check(**values | changed)

    return plan


@pytest.mark.parametrize(
    ("devices", "device", "place"), [((2, "CPU core"), "cpu", 0), ((1, "GPU"), "gpu", 1)]
)
def test_its_length_is_told_as_it_is_estimated(planned, devices, device, place):
    plan = planned(devices=devices)
    groups = groups_of(plan.sets, ["check"] * len(plan.sets), [False] * len(plan.sets), seed=0)
    pace = Pace((), device, USUAL["turn_s"])
    minutes = (WORKERS_START_S + sum(pace.first_s(g) + (g.most - 1) * pace.block_s(g) for g in groups)) / 60
    for name in ("README.md", "Makefile"):
        told = re.findall(
            r"about (\d+) minutes (?:over it )?on 2 CPU cores, (\d+) on a GPU", (ROOT / name).read_text()
        )
        assert told and {numbers[place] for numbers in told} == {f"{minutes:.0f}"}, (name, minutes)


def test_without_a_framework_for_them_nothing_takes_turns(planned):
    plan = planned(turn_frameworks=[])
    assert not tuple(plan.turns) and not plan.turns.controls and tuple(plan.probes)


def test_a_training_takes_turns_with_itself_and_with_one_of_more_steps(planned):
    plan = planned(steps=10, planted_steps=1, blocks=6)
    runs = schedule((plan.turns,), 0)
    groups = {(run.block, run.group) for run in runs}
    assert len(groups) == 6 and len(runs) == 18
    assert {run.trial.steps_per_epoch for run in runs} == {10, 11}


@pytest.mark.parametrize(
    ("devices", "asked", "sizes"),
    [
        ((2, "CPU core"), {}, (8, 16)),
        ((1, "GPU"), {}, (256, 32)),
        ((1, "GPU"), {"batch_size": 4, "image_size": 16}, (4, 16)),
    ],
)
def test_its_steps_keep_the_device_busy_unless_others_are_asked_for(planned, devices, asked, sizes):
    plan = planned(devices=devices, **asked)
    assert {(trial.batch_size, trial.image_size) for trial in plan.turns.trials} == {sizes}


def test_every_probe_runs_alone_in_every_framework_once(planned):
    runs = [run for run in schedule(planned().sets, 0) if run.trial.phase.probe]
    assert {(run.trial.framework, run.trial.name) for run in runs} == {
        (framework, name)
        for framework in USUAL["frameworks"]
        for name in PROBES
        if name not in WITHOUT_FRAMEWORK or framework == USUAL["frameworks"][0]
    }
    assert len({run.group for run in runs}) == len(runs)


def test_what_needs_no_framework_runs_in_the_first_that_is_installed(planned):
    for here, first in ((("jax", "torch"), "torch"), ((), USUAL["frameworks"][0])):
        probes = planned(here=here).probes.trials
        assert [probe.framework for probe in probes if probe.name == "monitor"] == [first]


def test_each_16_bit_precision_and_layout_is_looked_up_but_fp16_on_gpus_only(planned):
    on_cpu, on_gpu = planned(), planned(devices=(1, "GPU"))
    assert {trial.precision for trial in on_cpu.formats} == {"default", "bf16"}
    assert {trial.precision for trial in on_gpu.formats} == {"default", "bf16", "fp16"}
    for plan in (on_cpu, on_gpu):
        assert {(t.framework, t.layout) for t in plan.formats if t.precision == "default"} == {
            (framework, "channels_first") for framework in USUAL["frameworks"]
        }
        assert len({run.group for run in schedule((plan.formats,), 0)}) == len(plan.formats.trials)


@pytest.mark.parametrize(("count", "used"), [(1, 1), (2, 2), (8, 2)])
def test_gradients_are_summed_over_two_devices_where_there_are_two(planned, count, used):
    (trial,) = planned(devices=(count, "GPU")).sums
    assert (trial.phase, trial.devices, trial.strategy) == (EXCHANGE, used, "ddp")


def test_what_takes_longer_can_be_left_out(planned):
    plan = planned(precisions=[], layouts=[], exchange_model="")
    assert plan.formats.trials == plan.sums.trials == ()


def test_what_takes_turns_is_the_first_framework_that_is_installed(planned):
    assert planned(here=("jax",)).turns.trials[0].framework == "jax"
    assert planned(here=("jax",)).turns.trials[0].compile
    assert planned(here=()).turns.trials[0].framework == "torch"  # and its row says that it is not installed


def test_only_what_compares_loops_has_more_rounds(planned):
    rounds = {probe.name: probe.rounds for probe in planned(rounds=40).probes.trials}
    assert rounds.pop("epoch") == 40 and set(rounds.values()) == {ROUNDS}


@pytest.mark.parametrize("wrong", [{"planted_steps": 0}, {"probes": ["epohc"]}, {"blocks": 0}, {"rounds": 0}])
def test_a_mistake_is_named(planned, wrong):
    (name,) = wrong
    with pytest.raises(UserError, match=name.removesuffix("s")):
        planned(**wrong)


def test_a_report_begins_with_its_short_form_and_ends_with_the_front_page():
    session = new_session(folder=NOTEBOOKS, preset="quick")
    assert session.notebooks[0] == "check" and session.notebooks[-1] == "summary"
    assert "check" not in session.weights  # it takes the time that it takes
    assert not any(session.parameters["check"][name] for name in ("precisions", "layouts", "exchange_model"))
    short, whole = session.parameters["check"], resolve_parameters(["check"], NOTEBOOKS)["check"]
    assert short["rounds"] == ROUNDS < whole["rounds"]
    assert not short["turn_frameworks"], "each notebook has a control of its own"
    assert whole["turn_frameworks"] and whole["blocks"] == 6


def test_the_command_runs_nothing_else():
    session = new_session(folder=NOTEBOOKS, preset="check", notebooks=("check",))
    assert session.notebooks == ("check",) and session.budget_s is None
    assert json.dumps(session.parameters["check"]) == json.dumps(USUAL)
