"""What does not fit into memory: left out and named, while the rest is measured."""

from __future__ import annotations

import pytest

from asking_study import Asking, measured
from study_data import make_trial
from trainspeed.conduct import study
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status

ROOM = 10**8


@pytest.fixture
def little_memory(monkeypatch, workers):
    monkeypatch.setattr(study, "allowance_bytes", lambda: ROOM)
    return workers


def trials(*image_sizes):
    return [make_trial(dataset="digits", image_size=size) for size in image_sizes]


def sweep(*image_sizes, blocks=2, **options):
    return TrialSet(trials=tuple(trials(*image_sizes)), blocks=blocks, **options)


def test_the_size_that_does_not_fit_is_a_row_and_the_others_are_measured(little_memory, tmp_path):
    result = measured(tmp_path, Asking(), sweep(8, 16, 512, factors=("image_size",)))

    ended = sorted((run.trial.image_size, run.block, run.status) for run in result.runs)
    assert ended == [(8, 0, "ok"), (8, 1, "ok"), (16, 0, "ok"), (16, 1, "ok"), (512, 0, "oom")]
    assert {request.trial.image_size for request in little_memory.requests} == {8, 16}
    assert Ledger(tmp_path).read()[0] == result.runs


def test_the_page_names_what_was_left_out_and_what_it_needs(little_memory, tmp_path):
    result = measured(tmp_path, Asking(), sweep(8, 512))

    assert result.skipped_sentences() == [
        "Left out, 1 trial: 128 images per epoch with an image_size of 512 need 6.1 GB of memory, with the data set "
        "digits, and 0.1 GB are available for a run: lower images_per_epoch or image_size."
    ]


def test_what_is_left_out_takes_no_time():
    """Else it would be said that there was no time for it, and the plan would take hours that nobody waits."""
    fitting, both = (
        groups_of([sweep(*sizes, factors=("image_size",))], [""], [True], seed=0)[0]
        for sizes in ((8,), (8, 1024))
    )
    (alone,) = groups_of([sweep(1024)], [""], [True], seed=0)
    pace = Pace((), "cpu", shortage=lambda trial: "too large" if trial.image_size == 1024 else None)

    assert pace.block_s(alone) == 0.0
    assert 0.0 < pace.block_s(fitting) <= pace.block_s(both) < Pace((), "cpu").block_s(both) / 100


def test_what_is_asked_for_later_is_looked_at_too(little_memory, tmp_path):
    result = measured(tmp_path, Asking([sweep(512, blocks=1)]), sweep(8, blocks=1))

    assert [run.status for run in result.runs] == [Status.OK, Status.OOM]


def test_a_resumed_session_does_not_try_it_again(little_memory, tmp_path):
    measured(tmp_path, Asking(), sweep(8, 512, blocks=1))
    before = len(Ledger(tmp_path).read()[0])
    measured(tmp_path, Asking(), sweep(8, 512, blocks=2), resume=True)

    assert len(Ledger(tmp_path).read()[0]) == before + 1


def test_where_nothing_fits_it_is_a_mistake_and_nothing_is_written(little_memory, tmp_path):
    with pytest.raises(UserError, match="image_size of 512 need"):
        measured(tmp_path, Asking(), sweep(512))

    assert not Ledger(tmp_path).path.exists()
