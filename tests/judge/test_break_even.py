"""After how many epochs a setting has paid for a longer first one."""

import pytest

from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.judge.break_even import Cost, cost_of


def test_a_setting_that_saves_nothing_never_pays_for_its_longer_first_epoch():
    plain = Cost(first_epoch_s=2.0, epoch_s=1.0)

    assert Cost(first_epoch_s=3.0, epoch_s=1.0).break_even(plain) is None
    assert Cost(first_epoch_s=3.0, epoch_s=0.75).break_even(plain) == pytest.approx(4)
    assert Cost(first_epoch_s=1.5, epoch_s=0.75).break_even(plain) == 0
    assert Cost(first_epoch_s=2.5, epoch_s=0.75, longer_first_s=(-1.0, 1.0)).break_even_range(plain) == (0, 4)


def test_runs_that_failed_cost_nothing_that_is_known():
    assert cost_of([make_run(status=Status.OOM)]) is None
