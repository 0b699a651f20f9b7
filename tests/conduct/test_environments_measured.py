"""A lever that is read at import, beside the plain setting in one block: each in a real worker of its own, by turns."""

from __future__ import annotations

import pytest

from trainspeed.conduct import start, study
from trainspeed.conduct.context import Context
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status
from trainspeed.core.trial import grid
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers.host import check_huge_pages

INSTALLED = [name for name in ("torch", "tensorflow") if find_interpreter(name)][:1]  # one shows it
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not INSTALLED, reason="no framework is installed")]
HUGE = (("huge_pages", "on"),)


@pytest.fixture(scope="module", autouse=True)
def _switchable():
    try:
        check_huge_pages("on", "cpu")
    except Unsupported as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What a block of a framework with and without huge pages left in a ledger, and the workers that ran it."""
    out, started = tmp_path_factory.mktemp("environments"), []

    class Started(WorkerProcess):
        def __init__(self, *arguments, environment, **options):
            started.append(self)
            self.tunables = environment.get("GLIBC_TUNABLES")
            super().__init__(*arguments, environment=environment, **options)

    shape = {"model": "cnn_keras", "layout": "channels_last", "dataset": "digits", "image_size": 12}
    shape |= {"batch_size": 8, "images_per_epoch": 16, "epochs": 3}
    trials = grid(framework=INSTALLED, levers=[[], "huge_pages=on"], **shape)
    together = TrialSet(trials=trials, blocks=1, factors=("framework", "levers"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "WorkerProcess", Started)
        patch.setenv("TRAINSPEED_DEVICE", "cpu")
        patch.delenv("GLIBC_TUNABLES", raising=False)
        context = Context(id="s1", out=out, in_report=True)
        plan = Plan(others=(together,))
        study.measure("s", plan, timeout_s=300, interval_s=5, turn_s=0.01, context=context)
    return Ledger(out).read()[0], started


def test_each_environment_has_a_worker_of_its_own(measured):
    _, started = measured

    assert sorted(worker.tunables or "" for worker in started) == sorted(
        ["", "glibc.malloc.hugetlb=1"] * len(INSTALLED)
    )
    assert len({worker.pid for worker in started}) == 2 * len(INSTALLED)
    assert not any(worker.alive for worker in started), "and all have ended"


def test_they_take_turns_in_one_block(measured):
    runs, _ = measured

    assert [run.status for run in runs] == [Status.OK] * len(runs), [run.reason for run in runs]
    assert len(runs) == 2 * len(INSTALLED) and len({run.group for run in runs}) == 1
    assert all(run.turns for run in runs)
    first_round = [turn.place for run in runs for turn in run.turns if turn.round == 0]
    assert sorted(first_round) == list(range(len(runs)))


def test_the_lever_is_in_effect_where_it_was_asked_for_as_the_ledger_has_it(measured):
    runs, _ = measured

    for run in runs:
        seen = run.in_effect.get("huge_pages", (None, ""))
        assert (run.trial.levers, seen[0]) in [((), None), (HUGE, "on")], seen
