"""A notebook that the user has given a time of its own, or none, in a report that has one. Runs no notebook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from report_helper import tiny_folder
from trainspeed.conduct.forecast import WORKERS_START_S, ForecastGroup, StudyPlan
from trainspeed.core.errors import UserError
from trainspeed.report import run
from trainspeed.report.budget import OVERHEAD_S, Shares, check_budget
from trainspeed.report.plan_text import plan_lines, weighed
from trainspeed.report.request import ReportRequest, new_session

BLOCK_S = 10.0
START_S = WORKERS_START_S + OVERHEAD_S


def plan_with(study: str, most: int = 15) -> StudyPlan:
    fields = {"most": most, "first_s": BLOCK_S, "block_s": BLOCK_S}
    return StudyPlan(study=study, groups=(ForecastGroup(name="core", core=True, arms=("a", "b"), **fields),))


PLANS = {name: plan_with(name) for name in ("layout", "amp")}


def timed_folder(made: Path, own_s: float | None = None) -> Path:
    """Write notebooks that share a report's time, with a time of their own where they are run without one."""
    folder = tiny_folder(made / "notebooks")
    for notebook in folder.glob("*.ipynb"):
        own = f'"budget_s: float | None = {own_s}  # its time\\n", "blocks: int'
        notebook.write_text(notebook.read_text().replace('"blocks: int', own))
    return folder


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
    assert Shares(600.0, asked.weights, fixed_s=asked.fixed_s).of("amp") == pytest.approx(
        600 - 2 * OVERHEAD_S - takes_s, abs=1
    )


def test_a_notebook_without_a_plan_keeps_no_time_from_the_others():
    """It fails at once, for a mistake in its parameters."""
    asked = replace(session(600.0, 70.0), parameters={}, notebooks=("layout", "amp", "conv2d"))
    asked = weighed(replace(asked, weights=dict.fromkeys(asked.notebooks, (1.0,)), reserved_s={}), PLANS)
    now_s = [0.0]
    shares = Shares(600.0, asked.weights, fixed_s=asked.fixed_s, clock=lambda: now_s[0])
    for name in PLANS:
        now_s[0] += OVERHEAD_S + shares.of(name)

    assert now_s[0] == pytest.approx(600 - OVERHEAD_S)


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


def test_a_second_less_than_that_is_too_short():
    asked, least_s = session(60.0, 70.0), 2 * START_S + 6 * BLOCK_S + BLOCK_S

    check_budget(least_s, PLANS, asked.given_s)
    with pytest.raises(UserError, match=r"takes about 1 min 36 s\. "):
        check_budget(least_s - 1, PLANS, asked.given_s)


def test_equal_machines_share_what_it_takes():
    asked, shared_s = session(600.0, None), WORKERS_START_S + 15 * BLOCK_S / 3

    assert weighed(asked, PLANS, 3).reserved_s == {"layout": shared_s}
    check_budget(2 * START_S + 15 * BLOCK_S / 3 + BLOCK_S, PLANS, asked.given_s, 3)


def test_a_report_without_a_limit_has_none_in_any_notebook_but_what_is_asked_of_one(tmp_path):
    folder = timed_folder(tmp_path, own_s=180.0)
    (folder / "presets/quick.yaml").write_text("budget: 15m")

    asked = new_session(folder=folder, params="{budget: null, layout: {budget_s: 70.0}}")

    assert (asked.budget_s, asked.weights) == (None, {})
    assert asked.given_s == {"amp": None, "layout": 70.0, "summary": None}


@pytest.mark.parametrize("command", [run.report, run.plan])
def test_reports_and_plans_refuse_a_time_that_is_too_short(command, tmp_path, monkeypatch):
    folder = tiny_folder(tmp_path, "layout", "amp", "summary")
    (folder / "presets/quick.yaml").write_text("")
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: (PLANS, [], False))
    monkeypatch.setattr(run, "new_session", lambda **_: session(60.0, None))

    with pytest.raises(UserError, match="is too short: layout with its own budget_s"):
        command(out=tmp_path / "out", folder=folder)


def test_a_plan_counts_on_the_limit_and_not_on_what_is_kept_for_it():
    """Of 75 s it takes 68: six blocks and the start."""
    lines = plan_lines(session(600.0, 75.0), PLANS)

    assert lines[0] == "layout: 12 runs, about 1 min 08 s of 1 min 15 s"


@pytest.mark.parametrize(
    ("own_s", "why"), [(70.0, "`budget_s` limits layout"), (None, "all that the preset asks for fits")]
)
def test_a_plan_does_not_say_that_all_fits_where_a_time_of_its_own_leaves_something_out(own_s, why):
    alone = replace(session(600.0, own_s), notebooks=("layout",), weights={})

    *_, total = plan_lines(alone, {"layout": PLANS["layout"]})

    assert total == f"All of it: 10 min 00 s or less. 20 min 00 s would add: nothing: {why}."


def test_no_plan_says_that_all_fits_of_a_search_whose_further_runs_are_not_known_beforehand():
    """With 14 minutes, and with an hour, `switches` had 4 minutes of runs, to which twice the time added nothing."""
    alone = replace(session(600.0, None), notebooks=("layout",), weights={})

    *_, total = plan_lines(alone, {"layout": replace(PLANS["layout"], depends=True)})

    assert total.endswith("known beforehand fits; what depends on what that finds has more time.")


def test_a_plan_says_where_twice_the_time_is_too_little_for_what_is_left_out():
    fields = {"core": False, "arms": ("c",), "most": 1, "first_s": 1e5, "block_s": 1e5}
    huge = ForecastGroup(name="survey", **fields)
    plan = StudyPlan(study="layout", groups=(*plan_with("layout", most=6).groups, huge))
    asked = ReportRequest(
        session="s", preset="quick", notebooks=("layout",), budget_s=600.0, weights={"layout": plan.needs_s}
    )

    *_, total = plan_lines(asked, {"layout": plan})

    assert total.endswith(" would add: nothing: it is too little for what is left out.")


def test_what_earlier_notebooks_left_is_for_one_that_is_resumed_by_itself(kernels, tmp_path, monkeypatch):
    """As where all are: those have had their time."""
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: (PLANS, [], False))
    about = {"out": tmp_path / "out", "folder": timed_folder(tmp_path)}
    run.report(**about, notebooks=["layout", "amp"], budget="10m")
    monkeypatch.setattr(run, "_spent_s", lambda *_: {"layout": 60.0, "amp": 0.0})
    run.report(**about, resume=True)
    whole_s = kernels.of("amp")[0]["budget_s"]
    run.report(**about, notebooks=["amp"], resume=True)

    assert kernels.of("amp")[0]["budget_s"] == pytest.approx(whole_s, rel=0.02)


def test_a_notebook_that_is_resumed_by_itself_has_no_more_time_than_it_had_among_the_others(
    kernels, tmp_path, monkeypatch
):
    """Else it has more blocks, after its results were seen, in the time of the others."""
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: (PLANS, [], False))
    about = {"out": tmp_path / "out", "folder": timed_folder(tmp_path)}
    run.report(**about, notebooks=["layout", "amp"], budget="10m")
    before_s = kernels.of("layout")[0]["budget_s"]
    run.report(**about, notebooks=["layout"], resume=True)

    assert kernels.of("layout")[0]["budget_s"] == pytest.approx(before_s, rel=0.1)
    assert "TRAINSPEED_LAST" not in kernels.of("layout")[1]


def test_a_lifted_limit_is_told_how_long_all_takes_before_anything_is_measured(
    kernels, tmp_path, monkeypatch, capsys
):
    folder = timed_folder(tmp_path)
    (folder / "presets/quick.yaml").write_text("budget: 15m")
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: (PLANS, [], False))

    run.report(out=tmp_path / "out", folder=folder, preset="quick", params="{budget: null}")

    assert "RESUME=1 goes on." in capsys.readouterr().out.splitlines()[0]
