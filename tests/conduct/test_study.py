"""A whole study on a backend without a framework: real workers, ledger, monitor, signals."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from fake_study import RUNS, run_study
from processes_helper import is_gone, until, with_text
from study_data import make_trial
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forecast import read_plan
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.errors import PlanOnly, UserError
from trainspeed.core.ledger import Ledger, append_line
from trainspeed.core.monitor_csv import read_monitor
from trainspeed.core.run import Status
from trainspeed.sensors.processes import device_cores
from trainspeed.worker import backends

PROGRAM = Path(__file__).parents[1].joinpath("fake_study.py")


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """Put back the variables and backends that `run_study` sets for its own process."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(backends, "MODULES", dict(backends.MODULES))


def descendants() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


@pytest.fixture(scope="module")
def whole_and_left(tmp_path_factory):
    """A whole study, and the processes that it left behind; those that were there before belong to other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", os.environ.copy())
        patch.setattr(backends, "MODULES", dict(backends.MODULES))
        out = tmp_path_factory.mktemp("whole")
        before = descendants()
        measured = run_study(Context(id="s1", out=out), control=True)
        yield measured, descendants() - before


@pytest.fixture(scope="module")
def whole(whole_and_left):
    return whole_and_left[0]


def test_every_run_is_a_ledger_line_as_it_ends(whole):
    runs, doubts = Ledger(whole.out).read()

    assert len(runs) == RUNS + 6, "and the control of each framework, twice"
    assert doubts == ()
    assert {run.status for run in runs} == {Status.OK}
    assert runs == whole.runs


def test_runs_of_a_block_share_a_seed_and_blocks_do_not(whole):
    seeds = {block: {run.trial.seed for run in whole.runs if run.block == block} for block in (0, 1)}

    assert seeds == {0: {0}, 1: {1}}


def test_accuracy_and_layers_are_looked_at_in_the_first_block_only(whole):
    looked = {run.block for run in whole.runs if run.test_accuracy is not None}

    assert looked == {run.block for run in whole.runs if run.layers is not None} == {0}


def test_the_tidy_table_lies_beside_the_ledger(whole):
    lines = (whole.out / "runs.csv").read_text().splitlines()

    assert len(lines) == len(whole.runs) + 1


def test_the_monitor_ran_beside_it(whole):
    samples, _ = read_monitor(whole.folder / whole.runs[0].monitor)

    cores = device_cores(1) if whole.machine["device"] == "cpu" else []
    assert {"host", *(f"core{core}" for core in cores)} <= set(samples["device"])
    assert samples["utc"].is_monotonic_increasing


@pytest.mark.parametrize(("device", "cores"), [("cpu", [2, 4, 6]), ("gpu", [])])
def test_the_monitor_is_told_the_cores_of_the_trial_with_the_most_devices(
    device, cores, tmp_path, monkeypatch
):
    monitored = []

    def monitor(out, interval_s, cores):
        monitored.append(cores)
        raise InterruptedError  # nothing is to be measured here

    monkeypatch.setattr(study, "devices", lambda: (device, ("GPU-a", "GPU-b", "GPU-c"), {}))
    monkeypatch.setattr(study, "monitoring", monitor)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 4, 6}, raising=False)
    three = make_trial(dataset="digits", batch_size=36, strategy="ddp", devices=3)
    parts = (TrialSet(trials=(replace(three, devices=2), three), blocks=1),)

    with pytest.raises(InterruptedError):
        study.measure(
            "s", Plan(others=parts), timeout_s=1, interval_s=1, context=Context(id="s1", out=tmp_path)
        )

    assert monitored == [cores]


def test_nothing_is_left_running(whole_and_left):
    assert whole_and_left[1] == set()


def test_nothing_private_is_in_what_is_shared(whole):
    text = (whole.out / "runs.jsonl").read_text() + (whole.out / "runs.csv").read_text()

    assert str(whole.out) not in text
    assert os.path.expanduser("~") + "/" not in text
    assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", text)


def test_a_framework_that_is_not_installed_is_one_row_and_the_others_run(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "trainspeed.conduct.start.find_interpreter",
        lambda name: None if name == "jax" else sys.executable,
    )
    measured = run_study(Context(id="s1", out=tmp_path), blocks=1)

    assert list(measured.skipped) == ["jax"]
    assert "not installed" in measured.skipped_sentences()[0]
    assert [r.status for r in measured.runs if r.trial.framework == "jax"] == [Status.UNSUPPORTED]
    assert sum(r.status == Status.OK for r in measured.runs) == 4


def test_what_ran_out_of_memory_is_not_tried_in_later_blocks(tmp_path):
    measured = run_study(
        Context(id="s1", out=tmp_path), frameworks=["torch"], weights=["out of memory", None], blocks=3
    )

    statuses = [run.status for run in measured.runs]
    assert statuses.count(Status.OOM) == 2, "one per layout, in the first block"
    assert statuses.count(Status.OK) == 6


def test_rendering_reads_the_newest_session_and_measures_nothing(whole, tmp_path):
    rendered = run_study(Context(id="s2", out=tmp_path, render_from=whole.out))

    assert rendered.runs == whole.runs
    assert rendered.session == "s1"
    assert list(tmp_path.iterdir()) == []


def test_planning_hands_over_runs_and_time_and_measures_nothing(tmp_path):
    file = tmp_path / "plan.json"
    with pytest.raises(PlanOnly):
        run_study(Context(id="s1", out=tmp_path, plan_to=file))

    plan = read_plan(file)
    assert plan.study == "layout" and not plan.depends and plan.shared
    assert sum(group.most * len(group.arms) for group in plan.groups) == RUNS
    assert all(group.block_s > 0 and group.core for group in plan.groups)
    assert list(tmp_path.iterdir()) == [file]


def test_a_timeout_of_nothing_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(UserError, match=r"timeout_s \(=0\)"):
        run_study(Context(id="s1", out=tmp_path), timeout_s=0)

    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_the_notebooks_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(UserError, match=r"study 'layout' must have the name of its notebook"):
        run_study(Context(id="s1", out=tmp_path, notebook="batch"))

    assert list(tmp_path.iterdir()) == []


def test_resuming_measures_what_is_missing_and_what_took_turns_with_it(whole, tmp_path):
    """A crash is tried again; of groups of which every arm ended well none is."""
    kept = [run for run in whole.runs if run.label != "A again"][:-3]
    kept[0] = replace(kept[0], status=Status.CRASHED, epoch_s=())
    for run in kept:
        append_line(tmp_path / "runs.jsonl", run.as_dict())
    measured = run_study(Context(id="s1", out=tmp_path, resume=True), control=True)

    finished = {run.key for run in kept[1:]}
    missing = [run for run in whole.runs if run.key not in finished]
    begun_anew = {(run.block, run.group) for run in missing if run.group is not None}
    again = [run for run in whole.runs if run in missing or (run.block, run.group) in begun_anew]
    assert len(missing) < len(again) < len(whole.runs)
    assert len(Ledger(tmp_path).read()[0]) == len(kept) + len(again), "the crash stays in the ledger"
    assert sorted(map(repr, (r.key for r in measured.runs))) == sorted(map(repr, (r.key for r in whole.runs)))
    assert {run.status for run in measured.runs} == {Status.OK}


def test_a_cut_off_ledger_line_costs_only_itself(whole, tmp_path):
    lines = (whole.out / "runs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "runs.jsonl").write_text("".join(lines[:4]) + lines[4][:100])
    measured = run_study(Context(id="s1", out=tmp_path, resume=True), control=True)

    assert len(measured.runs) == len(whole.runs)
    assert "cut off" in measured.doubts[0]


@pytest.fixture
def hanging(tmp_path):
    """A study as a program, in which an early run never ends; its pids are in a file."""
    pids = tmp_path / "pids"
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(tmp_path), "s1", "--hang"],
        env={**os.environ, "FAKE_PID_FILE": str(pids)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert until(lambda: with_text(pids), within_s=60)
    family = [program.pid, *(child.pid for child in psutil.Process(program.pid).children(recursive=True))]
    yield program, family
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_stopping_the_program_leaves_no_process_behind_and_loses_no_run(hanging, sign, tmp_path):
    """Ctrl-C and kill -9: worker, child and monitor go; resuming finishes what is left."""
    program, family = hanging
    before = Ledger(tmp_path).read()[0]

    program.send_signal(sign)
    program.wait(timeout=30)

    assert len(family) >= 5, "program, monitor, worker, child and what the child started"
    assert all(until(lambda pid=pid: is_gone(pid)) for pid in family)
    assert Ledger(tmp_path).read()[0] == before
    resumed = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path), "s1", "--resume"], timeout=120)
    assert resumed.returncode == 0
