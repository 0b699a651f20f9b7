"""A session that goes on where something has changed since it was begun: refused, with what changed."""

from __future__ import annotations

import pytest

import asking_study
from asking_study import Asking, measured, part_of, trial_of
from conv2d_data import GPU_MACHINE
from trainspeed.conduct import start, study
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.result import Failure
from trainspeed.core.run import Status


@pytest.fixture
def here(monkeypatch, workers):
    """A function that changes this machine."""

    def change(**facts):
        machine = {**GPU_MACHINE, "device": "cpu", "driver": "580.65", **facts}
        monkeypatch.setattr(study, "devices", lambda: ("cpu", (), machine))

    change()
    return change


def begin(out):
    """Measure two of three blocks."""
    measured(out, Asking(), part_of(8, blocks=2))


def resume(out, **options):
    return measured(out, Asking(), part_of(8, blocks=3, **options), resume=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"driver": "590.10"}, r"NVIDIA driver \(580.65, then 590.10\)\. .* Leave RESUME out"),
        (
            {"cpu": "Other CPU", "gpus": []},
            r"GPUs \(4 × .*, then none\) and CPU \(.*, then Other CPU\)\. Its",
        ),
    ],
)
def test_on_another_machine_nothing_is_measured(here, workers, tmp_path, changed, message):
    begin(tmp_path)
    before, started = Ledger(tmp_path).path.read_bytes(), len(workers.started)
    here(**changed)

    with pytest.raises(UserError, match=message):
        resume(tmp_path)
    assert (Ledger(tmp_path).path.read_bytes(), len(workers.started)) == (before, started)


def test_with_other_versions_nothing_is_measured(here, workers, tmp_path, monkeypatch):
    begin(tmp_path)
    before = Ledger(tmp_path).path.read_bytes()
    monkeypatch.setitem(asking_study.VERSIONS, "torch", {"torch": "2.16.0", "cuda": "13.0"})

    with pytest.raises(UserError, match=r"PyTorch: torch \(2\.15\.0, then 2\.16\.0\)\. "):
        resume(tmp_path)
    assert Ledger(tmp_path).path.read_bytes() == before
    assert workers.closed == len(workers.started) == 2


def test_where_nothing_changed_it_goes_on(here, workers, tmp_path):
    begin(tmp_path)

    assert [run.block for run in resume(tmp_path).runs] == [0, 1, 2]


def test_another_frameworks_versions_do_not_matter(here, workers, tmp_path, monkeypatch):
    begin(tmp_path)
    monkeypatch.setitem(asking_study.VERSIONS, "torch", {"torch": "2.16.0", "cuda": "13.0"})

    assert {run.trial.framework for run in resume(tmp_path, framework="jax").runs} == {"torch", "jax"}


def test_a_new_session_on_another_system_is_no_mistake(here, workers, tmp_path):
    begin(tmp_path)
    here(driver="590.10")

    again = measured(tmp_path, Asking(), part_of(8), id="s2")
    assert [run.machine["driver"] for run in again.runs] == ["590.10"]


# A framework that was given up, beside others in the same groups.

NO_DEVICE = RunOutcome(
    status=Status.UNSUPPORTED, reason="it sees none", failure=Failure(stage="build", cause="no_device")
)
CRASH = RunOutcome(status=Status.CRASHED, reason="killed", failure=Failure(stage="build", error="SIGSEGV"))


def two_frameworks(blocks):
    """Return groups of torch, compiled or not, and JAX, which are compared with one another."""
    both = (
        trial_of(batch_size=size, images_per_epoch=16, framework=framework, compile=compiled)
        for size in (16, 8, 4, 2)
        for framework, compiled in (("torch", False), ("torch", True), ("jax", True))
    )
    return TrialSet(trials=tuple(both), blocks=blocks, factors=("framework", "compile"))


def jax_ends(workers, outcome):
    well = workers.ends
    workers.ends = lambda request: outcome if request.trial.framework == "jax" else well(request)


@pytest.mark.parametrize(("device", "outcome"), [("gpu", NO_DEVICE), ("cpu", CRASH)])
def test_what_was_given_up_makes_no_other_begin_anew(here, workers, tmp_path, monkeypatch, device, outcome):
    """It is not tried again either, and the arms beside it are finished with what they have."""
    monkeypatch.setattr(study, "devices", lambda: (device, (), {**GPU_MACHINE, "device": device}))
    jax_ends(workers, outcome)
    before = measured(tmp_path, Asking(), two_frameworks(1))
    rows = [run for run in before.runs if run.trial.framework == "jax"]
    workers.requests.clear()

    after = measured(tmp_path, Asking(), two_frameworks(2), resume=True)

    assert sorted((r.trial.framework, r.trial.seed) for r in workers.requests) == [("torch", 1)] * 8
    assert [run for run in after.runs if run.trial.framework == "jax"] == rows


def test_what_is_still_missing_makes_no_other_begin_anew(here, workers, tmp_path, monkeypatch):
    find = start.find_interpreter
    monkeypatch.setattr(start, "find_interpreter", lambda name: None if name == "jax" else find(name))
    measured(tmp_path, Asking(), two_frameworks(1))
    workers.requests.clear()

    after = measured(tmp_path, Asking(), two_frameworks(2), resume=True)

    assert sorted((r.trial.framework, r.trial.seed) for r in workers.requests) == [("torch", 1)] * 8
    assert [run.status for run in Ledger(tmp_path).read()[0]].count(Status.UNSUPPORTED) == 1
    assert len(after.runs) == 17


def test_what_is_there_by_now_begins_anew_with_what_is_compared_with_it(here, workers, tmp_path, monkeypatch):
    find = start.find_interpreter
    with monkeypatch.context() as patch:
        patch.setattr(start, "find_interpreter", lambda name: None if name == "jax" else find(name))
        measured(tmp_path, Asking(), two_frameworks(1))
    workers.requests.clear()

    after = measured(tmp_path, Asking(), two_frameworks(1), resume=True)

    assert len(workers.requests) == 12
    assert {run.status for run in after.runs} == {Status.OK}


def test_a_framework_that_worked_before_is_not_given_up_for_three_crashes(here, workers, tmp_path):
    measured(tmp_path, Asking(), part_of(8))
    others = [one for one in two_frameworks(1).trials if one.framework == "torch"]
    workers.ends = lambda request: CRASH

    after = measured(tmp_path, Asking(), TrialSet(trials=tuple(others), blocks=1), resume=True)

    crashed = [run for run in after.runs if run.status is Status.CRASHED]
    assert [run.is_final for run in crashed] == [False] * len(crashed) and len(crashed) > 2
