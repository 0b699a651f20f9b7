"""A session that goes on where something has changed since it was begun: refused, with what changed."""

from __future__ import annotations

import pytest

import asking_study
from asking_study import Asking, measured, part_of
from conv2d_data import GPU_MACHINE
from trainspeed.conduct import study
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger


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
