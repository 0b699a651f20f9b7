"""A notebook that the user has given a time of its own, or none, in a report that has one. Runs no notebook."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainspeed.conduct.forecast import WORKERS_START_S, ForecastGroup, StudyPlan
from trainspeed.core.errors import UserError
from trainspeed.report.budget import OVERHEAD_S, check_budget
from trainspeed.report.plan_text import plan_lines, shares_of, weighed
from trainspeed.report.request import ReportRequest

BLOCK_S = 10.0
START_S = WORKERS_START_S + OVERHEAD_S


def plan_with(study: str, most: int = 15) -> StudyPlan:
    fields = {"most": most, "first_s": BLOCK_S, "block_s": BLOCK_S}
    return StudyPlan(study=study, groups=(ForecastGroup(name="core", core=True, arms=("a", "b"), **fields),))


PLANS = {name: plan_with(name) for name in ("layout", "amp")}


def session(budget_s: float, own_s: float | None) -> ReportRequest:
    """A report in which the layout notebook has a time of its own."""
    request = ReportRequest(
        session="s",
        preset="quick",
        notebooks=tuple(PLANS),
        parameters={"layout": {"budget_s": own_s}, "amp": {"budget_s": None}},
        budget_s=budget_s,
        weights={"amp": (1.0,)},
    )
    return weighed(request, PLANS)


@pytest.mark.parametrize(
    ("own_s", "takes_s"), [(None, WORKERS_START_S + 15 * BLOCK_S), (70.0, WORKERS_START_S + 6 * BLOCK_S)]
)
def test_what_it_takes_is_kept_for_it_and_the_others_share_the_rest(own_s, takes_s):
    """Without a limit that is its whole plan; with one, no more than it can use."""
    asked = session(600.0, own_s)

    assert asked.reserved_s == {"layout": takes_s}
    assert shares_of(asked, ["layout", "amp"], 600.0, {}).of("amp") == pytest.approx(
        600 - 2 * OVERHEAD_S - takes_s, abs=1
    )


@pytest.mark.parametrize(
    ("own_s", "takes"), [(None, "2 min 38 s"), (3600.0, "2 min 38 s"), (70.0, "1 min 08 s")]
)
def test_a_time_that_is_too_short_for_it_and_the_others_is_one_line(own_s, takes):
    asked = session(60.0, own_s)
    with pytest.raises(UserError) as caught:
        check_budget(60.0, PLANS, asked.given_s)

    assert str(caught.value).startswith(
        f"BUDGET (1 min 00 s) is too short: layout with its own budget_s ({takes}) and one block of one comparison "
        "in each of amp takes about "
    )


def test_that_is_enough_which_the_line_says_is_needed():
    asked = session(60.0, 70.0)

    check_budget(2 * START_S + 6 * BLOCK_S + BLOCK_S, PLANS, asked.given_s)


def test_a_plan_does_not_say_that_all_fits_where_a_time_of_its_own_leaves_something_out():
    alone = replace(session(600.0, 70.0), notebooks=("layout",), weights={})

    *_, total = plan_lines(alone, {"layout": PLANS["layout"]})

    assert (
        total
        == "All of it: 10 min 00 s or less. 20 min 00 s would add: nothing: layout has its own `budget_s`."
    )
