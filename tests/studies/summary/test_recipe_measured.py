"""Recipe and confirmations through `study.measure` itself: measured, resumed, rendered, and empty."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from fake_runs import BeginsRuns
from recipe_world import ORDER, PLANTED, kept, search_of, start_of
from scaling_data import make_verdict
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forecast import read_plan
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import Plan, Planned
from trainspeed.conduct.worker_process import Unavailable
from trainspeed.core.errors import PlanOnly, UserError
from trainspeed.core.ledger import Ledger, append_line
from trainspeed.core.result import RunResult
from trainspeed.core.run import Role, Status
from trainspeed.studies.summary.confirmation import confirmed, confirming
from trainspeed.studies.summary.recipe import continued, wanted

MACHINE = {"device": "cpu", "cpu": "Test CPU", "gpus": [], "cores": {"logical": 4}}
ARMS_OF_A_GROUP = 4  # at most: plain, with the switch, and a control of two


class FakeWorker(BeginsRuns):
    """Gives what the planted world gives."""

    alive, import_s = True, 0.1

    def __init__(self, world, asked) -> None:
        self.versions, self._world, self._asked = {"fake": "1.0"}, world, asked

    def wait_until_ready(self) -> None:
        pass

    def run(self, request, timeout_s):
        block = request.trial.seed % 1000
        self._asked.append((request.trial, request.evaluate))
        run = self._world.run(Planned(block=block, label="", trial=request.trial))
        names = ("epoch_s", "images_per_epoch", "test_accuracy")
        return RunOutcome(
            status=run.status, reason=run.reason, result=RunResult(**{n: getattr(run, n) for n in names})
        )

    def close(self) -> None:
        pass


class Report:
    """The front page's cells that measure: a recipe for each search, and a confirmation."""

    def __init__(self, tmp_path, world) -> None:
        self.folder, self.world, self.asked = tmp_path, world, []
        self.searches = [search_of(*ORDER), search_of("compile", start=start_of("tensorflow"))]
        fields = {"devices": 1, "images_per_epoch": 512, "dataset": "digits"}
        self.top = [make_verdict(1.4, factor="layout", values=("channels_first", "channels_last"), **fields)]

    def measured(self, **options):
        parts = [*confirming(self.top, 6), *wanted(self.searches, ())]
        more = partial(wanted, self.searches)
        context = Context(id=options.pop("id", "s1"), out=options.pop("out", self.folder), **options)
        plan = Plan(others=tuple(parts), more=more, accuracy_blocks=6, may_be_empty=True)
        return study.measure("summary", plan, timeout_s=1, interval_s=1, context=context)


@pytest.fixture
def report(monkeypatch, tmp_path):
    """Nothing is started but in this process."""

    @contextmanager
    def monitoring(out, interval_s, cores):
        yield

    found = Report(tmp_path / "out", PLANTED)
    start = lambda python, backend, environment=None: FakeWorker(found.world, found.asked)  # noqa: E731
    monkeypatch.setattr(study, "WorkerProcess", start)
    monkeypatch.setattr(study, "monitoring", monitoring)
    monkeypatch.setattr(study, "devices", lambda: ("cpu", (), MACHINE))
    monkeypatch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 4)
    monkeypatch.setattr("trainspeed.conduct.study.find_interpreter", lambda framework: sys.executable)
    return found


def test_a_report_finds_the_planted_switches_and_confirms(report):
    measured = report.measured()
    torch, tensorflow = continued(report.searches, measured.runs)

    assert kept(torch) == ["precision", "layout", "devices"]
    assert kept(tensorflow) == ["compile"]
    total = torch.total()
    assert total.low <= 1.5 * 1.3 * 1.1 * 1.4 <= total.high
    assert torch.total(quantity="accuracy").blocks == 6, "every block of the recipe tells the accuracy"
    (found,) = confirmed(report.top, measured.runs)
    assert found.again.blocks == 6
    assert {run.label for run in measured.runs} >= {Role.CONFIRMATION, Role.RECIPE}
    assert {run.study for run in measured.runs} == {"summary"}


def test_nothing_is_measured_twice(report):
    report.measured()
    labels = [(run.label, run.trial) for run in Ledger(report.folder).read()[0]]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("after", [0, 5, 20, 40, 80, 110])
def test_an_interrupted_report_continues_to_the_same_end(report, tmp_path, after):
    whole = report.measured()
    report.asked.clear()
    report.folder = tmp_path / "cut"
    report.folder.mkdir()
    for run in whole.runs[:after]:
        append_line(report.folder / "runs.jsonl", run.as_dict())
    resumed = report.measured(resume=True)

    assert {run.key for run in resumed.runs} == {run.key for run in whole.runs}
    again = len(report.asked) - (len(whole.runs) - after)
    assert 0 <= again < ARMS_OF_A_GROUP, "only a group that was cut is measured anew, and then whole"
    steps = [[search.steps for search in continued(report.searches, m.runs)] for m in (whole, resumed)]
    assert steps[0] == steps[1]


def test_a_report_that_is_rendered_says_the_same(report, tmp_path):
    whole = report.measured()
    report.asked.clear()
    shown = report.measured(id="s2", out=tmp_path / "shown", render_from=report.folder)

    assert report.asked == []
    before, after = (continued(report.searches, m.runs) for m in (whole, shown))
    assert [s.steps for s in before] == [s.steps for s in after]
    assert [s.total() for s in before] == [s.total() for s in after]


def test_a_framework_that_is_missing_costs_one_row(report, monkeypatch):
    def start(python, backend, environment=None):
        if "torch" in backend:
            raise Unavailable("it is not installed here")
        return FakeWorker(report.world, report.asked)

    monkeypatch.setattr(study, "WorkerProcess", start)
    measured = report.measured()
    torch, tensorflow = continued(report.searches, measured.runs)

    assert [run.status for run in measured.runs if run.trial.framework == "torch"] == [Status.UNSUPPORTED]
    assert (kept(torch), kept(tensorflow)) == ([], ["compile"])
    assert confirmed(report.top, measured.runs)[0].again is None


def test_a_switch_that_runs_out_of_memory_is_tried_once(report):
    report.world = replace(PLANTED, fails=lambda p: Status.OOM if p.trial.layout == "channels_last" else None)
    report.top, report.searches = [], report.searches[:1]
    measured = report.measured()

    assert kept(continued(report.searches, measured.runs)[0]) == ["precision", "devices"]
    assert [run.status for run in measured.runs].count(Status.OOM) == 1


# Empty.


def test_nothing_to_measure_is_no_mistake(report):
    report.top, report.searches = [], []
    assert report.measured().runs == ()
    assert report.asked == []


def test_nothing_measured_is_rendered_as_nothing(report, tmp_path):
    """A report without the front page's runs: of an earlier version, or interrupted."""
    (tmp_path / "old").mkdir()
    shown = report.measured(render_from=tmp_path / "old")
    assert (shown.runs, shown.session, shown.machine) == ((), "s1", {})
    assert "0 runs measured" in shown.summary()
    assert study.devices_here("summary", Context(id="s1", out=tmp_path, render_from=tmp_path / "old")) == (
        1,
        "CPU core",
    )


def test_another_study_must_not_be_empty(tmp_path):
    context = Context(id="s1", out=tmp_path, render_from=tmp_path)
    with pytest.raises(UserError, match="no runs of 'layout'"):
        study.measure("layout", Plan(), timeout_s=1, interval_s=1, context=context)


def test_a_plan_knows_that_more_depends_on_what_is_found(report, tmp_path):
    file = tmp_path / "plan.json"
    with pytest.raises(PlanOnly):
        report.measured(plan_to=file)
    plan = read_plan(file)
    assert plan.depends
    arms = " ".join(arm for group in plan.groups for arm in group.arms)
    assert "recipe: precision" in arms and Role.CONFIRMATION in arms
    assert report.asked == []
