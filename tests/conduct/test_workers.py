"""A worker for each environment that a lever sets: which are started, kept and ended, and what failing means."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field

import pytest

from fake_runs import BeginsRuns
from trainspeed.conduct import workers
from trainspeed.conduct.estimates import IMPORT_S, imports_s
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.schedule import schedule
from trainspeed.conduct.worker_process import Unavailable
from trainspeed.conduct.workers import WorkerKind, Workers
from trainspeed.core.ledger import Ledger
from trainspeed.core.levers import registry
from trainspeed.core.levers.lever import Level, Lever
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.core.trial import grid
from trainspeed.worker.device_errors import Cause

NAMES = ("one", "two", "three", "four", "five")
SHAPE = {"model": "cnn10", "layout": "channels_last", "batch_size": 8, "images_per_epoch": 16, "epochs": 3}


@dataclass
class FakeWorker(BeginsRuns):
    """Measures at once; `log` gets what is done with it."""

    log: list
    name: str
    ends: list = field(default_factory=list)
    imports: str | None = None
    versions: dict = field(default_factory=lambda: {"fake": "1"})
    alive: bool = True

    def wait_until_ready(self) -> None:
        if self.imports:
            raise Unavailable(self.imports)
        self.log.append(("ready", self.name))

    def run(self, request, timeout_s):
        self.log.append(("run", self.name))
        good = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(2.0, 1.0, 1.0), images_per_epoch=16))
        return self.ends.pop(0) if self.ends else good

    def close(self) -> None:
        self.log.append(("closed", self.name))


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    """Levers that set a variable each."""
    for name in NAMES:
        variables = {"on": {f"VARIABLE_{name.upper()}": "1"}}
        lever = Lever(name=name, words=f"lever {name}", level=Level.ENVIRONMENT, environment=variables)
        monkeypatch.setitem(registry.LEVERS, name, lever)


@pytest.fixture
def log():
    return []


def named(framework, settings):
    return "+".join([framework, *(name for name, _ in settings)])


@pytest.fixture
def starts(log):
    """A function that returns workers: of those that are named, the given one, or the given error."""

    def pool(**special):
        def start(framework, settings):
            name = named(framework, settings).replace("+", "_")
            one = special.get(name, FakeWorker(log, named(framework, settings)))
            if isinstance(one, Unavailable):
                raise one
            log.append(("started", named(framework, settings)))
            return one

        return start

    return pool


@pytest.fixture
def runner(tmp_path, starts):
    def make(**special):
        return Runner(
            ledger=Ledger(tmp_path),
            session="s1",
            study="layout",
            device="cpu",
            machine={},
            start=starts(**special),
            timeout_s=9,
        )

    return make


def trials_of(*names, frameworks=("torch",), sizes=(8,)):
    levers = [[name if "=" in name else f"{name}=on"] if name else [] for name in names]
    shape = {**SHAPE, "batch_size": list(sizes)}
    return grid(framework=list(frameworks), levers=levers, **shape)


def kind(*names, framework="torch"):
    return WorkerKind(framework, tuple((name, "on") for name in names))


def group_of(*names, block=0):
    part = TrialSet(trials=trials_of("", *names), blocks=block + 1, factors=("levers",))
    return [planned for planned in schedule([part], seed=0) if planned.block == block]


def of(log, what):
    return [name for done, name in log if done == what]


def test_a_trial_whose_lever_sets_a_variable_has_a_worker_of_its_own(runner, log):
    with closing(runner()) as one:
        runs = one.measure_group(group_of("one"))

    assert sorted(of(log, "run")) == ["torch", "torch+one"]
    assert [run.status for run in runs] == [Status.OK] * 2
    assert sorted(of(log, "closed")) == ["torch", "torch+one"]


def test_a_lever_that_sets_no_variable_needs_no_other_worker():
    (trial,) = grid(framework="torch", levers=["optimizer=fused"], **SHAPE)

    assert WorkerKind.of(trial) == kind()


def test_all_workers_of_a_group_are_ready_before_any_of_its_runs_begins(runner, log):
    """An import beside a measured epoch would disturb it."""
    one = runner()
    one.measure_group(group_of("one", "two"))

    first_run = log.index(next(entry for entry in log if entry[0] == "run"))
    assert len(of(log[:first_run], "ready")) == 3
    assert of(log[first_run:], "ready") == []


def test_workers_of_the_first_environments_start_before_the_first_run(runner, log):
    one = runner()
    one.start_all(trials_of("", *NAMES, frameworks=["torch"]))

    assert of(log, "started") == ["torch", "torch+one", "torch+two", "torch+three"]


def test_a_plain_worker_is_started_even_where_only_a_lever_is_measured(runner, log):
    """It tells whether the framework is there, where it cannot be imported with the lever."""
    one = runner()
    one.start_all(trials_of("one"))

    assert of(log, "ready") == ["torch", "torch+one"]


def test_the_least_recently_used_environment_is_ended_for_another(starts, log):
    pool = Workers(starts(), lambda *_: None)
    for name in ("one", "two", "three", "one", "four"):
        pool.ready(kind(name))
    pool.ready(kind())

    assert of(log, "closed") == ["torch+two"]
    assert pool.ready(kind("one")).name == "torch+one" and of(log, "started").count("torch+one") == 1


def test_no_worker_of_a_group_is_ended_for_another_of_it(starts, log):
    pool = Workers(starts(), lambda *_: None)
    pool.ready(kind("five"))
    pool.reserve([kind(name) for name in ("one", "two", "three", "four")])
    for name in ("one", "two", "three", "four"):
        pool.ready(kind(name))

    assert of(log, "closed") == ["torch+five"]
    pool.reserve([kind("five")])
    pool.ready(kind("five"))
    assert of(log, "closed") == ["torch+five", "torch+one", "torch+two"]
    assert workers.MOST_SPARE == 3


def test_a_plain_worker_is_never_ended_for_an_environment(starts, log):
    pool = Workers(starts(), lambda *_: None)
    for framework in ("torch", "tensorflow", "jax"):
        pool.ready(kind(framework=framework))
    for name in NAMES:
        pool.ready(kind(name))

    assert of(log, "closed") == ["torch+one", "torch+two"]


def test_a_worker_that_died_is_started_anew_with_its_environment(starts, log):
    pool = Workers(starts(), lambda *_: None)
    pool.ready(kind("one")).alive = False

    assert pool.ready(kind("one")).alive
    assert of(log, "started") == ["torch+one", "torch+one"] and of(log, "closed") == ["torch+one"]


@pytest.mark.parametrize(
    ("special", "reason"),
    [
        ({"torch_one": Unavailable("VARIABLE_ONE is set to '2'")}, "VARIABLE_ONE is set to '2'"),
        ("no such flag", "it could not be imported with VARIABLE_ONE=1: no such flag"),
    ],
)
def test_an_environment_that_cannot_be_had_is_a_row_of_its_lever_alone(runner, log, special, reason):
    if isinstance(special, str):
        special = {"torch_one": FakeWorker(log, "torch+one", imports=special)}
    one = runner(**special)
    runs = [run for block in range(2) for run in one.measure_group(group_of("one", "two", block=block))]

    ends = [(run.trial.levers, run.status) for run in runs]
    assert ends.count(((("one", "on"),), Status.UNSUPPORTED)) == 1, "and it is not tried again"
    assert ends.count(((), Status.OK)) == ends.count(((("two", "on"),), Status.OK)) == 2
    (row,) = [run for run in runs if run.status is Status.UNSUPPORTED]
    assert row.reason == reason
    assert row.versions == {"fake": "1"}, "the framework is there"
    assert one.missing == set()


def test_a_framework_that_is_not_there_is_one_row_however_many_levers_it_has(runner):
    missing = Unavailable("it is not installed here")
    one = runner(torch=missing, torch_one=missing, torch_two=missing)
    runs = one.measure_group(group_of("one", "two"))

    assert [(run.status, run.reason) for run in runs] == [
        (Status.UNSUPPORTED, "torch: it is not installed here")
    ]
    assert one.missing == {"torch"}


def test_a_framework_that_crashes_with_a_lever_is_not_given_up_without_it(runner, log):
    crash = RunOutcome(
        status=Status.CRASHED, reason="killed", failure=Failure(stage="build", error="SIGSEGV")
    )
    one = runner(torch_one=FakeWorker(log, "torch+one", ends=[crash] * 9))
    part = TrialSet(trials=trials_of("one", "", sizes=(2, 4, 8, 16)), blocks=1)
    runs = [one.measure(planned) for planned in schedule([part], seed=0)]

    assert sum(run is None for run in runs) == 1, "three alike are enough"
    assert sum(run is not None and run.status is Status.OK for run in runs) == 4
    (last,) = [run for run in runs if run and run.failure and run.failure.final]
    assert last.reason.endswith(
        "3 trials of PyTorch with lever one ended so and none well: no other is tried"
    )


def test_a_gpu_that_cannot_be_used_with_a_lever_is_still_used_without_it(runner, log):
    none = RunOutcome(status=Status.UNSUPPORTED, reason="no", failure=Failure(cause=Cause.NO_DEVICE))
    one = runner(torch_one=FakeWorker(log, "torch+one", ends=[none] * 9))
    one.device = one.given_up.device = "gpu"
    part = TrialSet(trials=trials_of("one", "", sizes=(8, 16)), blocks=1)
    runs = [one.measure(planned) for planned in schedule([part], seed=0)]

    assert sorted(str(run.status) for run in runs if run) == ["ok", "ok", "unsupported"]


def test_what_a_worker_without_levers_shows_of_a_gpu_holds_with_them_too(runner, log):
    none = RunOutcome(status=Status.UNSUPPORTED, reason="no", failure=Failure(cause=Cause.NO_DEVICE))
    one = runner(torch=FakeWorker(log, "torch", ends=[none]))
    one.device = one.given_up.device = "gpu"
    part = TrialSet(trials=trials_of("", "one"), blocks=1)
    first, second = sorted(schedule([part], seed=0), key=lambda planned: planned.trial.levers)

    assert one.measure(first).status is Status.UNSUPPORTED
    assert one.measure(second) is None


def test_the_pace_counts_an_import_for_each_environment_of_a_group_once():
    def block_s(blocks, *names):
        part = TrialSet(trials=trials_of(*names), blocks=blocks, factors=("levers",))
        (group,) = groups_of([part], [""], [True], 0)
        return Pace((), "cpu").block_s(group)

    assert imports_s(trials_of("", "one", "two", sizes=(8, 16))) == 2 * IMPORT_S["torch"]
    of_three_arms = block_s(1, "", "one", "two") - 2 * IMPORT_S["torch"]
    assert block_s(1, "", "optimizer=fused", "optimizer=loop") == pytest.approx(of_three_arms)
    assert block_s(6, "", "one", "two") == pytest.approx(of_three_arms + 2 * IMPORT_S["torch"] / 6)


def test_versions_are_checked_of_every_worker(starts):
    checked = []
    pool = Workers(starts(), lambda framework, versions: checked.append((framework, versions)))
    pool.start_all([kind(), kind("one")])

    assert checked == [("torch", {"fake": "1"})] * 2
