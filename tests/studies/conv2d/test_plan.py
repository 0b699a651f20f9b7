"""What the conv2d notebook plans."""

from __future__ import annotations

from conv2d_data import grid, make_trial
from trainspeed.conduct.plan import TrialSet
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.studies.conv2d.plan import Conv2dPlan


def test_a_library_that_is_surveyed_as_well_as_compared_is_shown_once_and_no_ceiling_is():
    core, survey = (make_trial("torch"), make_trial("jax")), (make_trial("jax"), make_trial("opencv"))
    ceilings = ceiling_trials(["fp32"], dataset="digits", seed=0)
    plan = Conv2dPlan(
        core=TrialSet(trials=core, blocks=6),
        sweep=TrialSet(trials=(), blocks=6),
        survey=TrialSet(trials=(*survey, *ceilings), blocks=1),
        grid=grid([], [], {}),
    )

    assert plan.at_article_size == (*core, survey[1])
