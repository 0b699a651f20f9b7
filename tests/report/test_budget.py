"""The time that a report may take: how it is written, shared and planned. Runs no notebook."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainspeed.conduct.context import current
from trainspeed.conduct.forecast import SPARE, WORKERS_START_S, ForecastGroup, StudyPlan
from trainspeed.conduct.machine import nodes_here
from trainspeed.core.errors import UserError
from trainspeed.report import budget, run
from trainspeed.report.budget import OVERHEAD_S, Shares, budget_of, check_budget, parse_budget
from trainspeed.report.notebook_run import End, NotebookStatus
from trainspeed.report.plan_text import plan_lines
from trainspeed.report.request import ReportRequest

NO_TIMES = ("0", "0m", "-5m", "15", "15 parsecs", "m", "", "1e3s", "inf", "１５m")
WRONG = {
    "must be a time such as 90s, 15m, 1.5h or 1h30m.": NO_TIMES,
    "is more than a year: 8760h at most.": ("8761h", "999999999h"),
}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("15 min", 900), ("1.5h", 5400), ("1h30m", 5400), (" 2h 05m ", 7500)],
)
def test_a_time_is_written_with_its_unit(text, seconds):
    assert parse_budget(text) == seconds


@pytest.mark.parametrize(("text", "rule"), [(text, rule) for rule, texts in WRONG.items() for text in texts])
def test_anything_else_is_one_line_with_the_value_and_what_to_write(text, rule):
    with pytest.raises(UserError) as caught:
        parse_budget(text)

    assert str(caught.value) == f"BUDGET (={text!r}) {rule}"


def test_a_presets_time_is_for_all_notebooks_and_the_users_for_those_that_run(tmp_path):
    preset, own = tmp_path / "quick.yaml", tmp_path / "own.yaml"
    preset.write_text("budget: 20m\nlayout: {}\n")
    own.write_text("layout: {blocks: 3}\n")
    names, every = ["layout"], ["layout", "amp", "conv2d", "multi_gpu"]

    assert budget_of(None, [preset, own], every, every) == 1200
    assert budget_of(None, [preset, own], names, every) == 300
    assert budget_of("8m", [preset, own], names, every) == 480
    assert budget_of(None, [own], every, every) is None
    own.write_text("budget: 40m\n")
    assert budget_of(None, [preset, own], every, every) == 2400, "the later file says more"
    own.write_text("budget: null\n")
    assert budget_of(None, [preset, own], every, every) is None, "no limit, which is more than to say nothing"
    assert budget_of("8m", [preset, own], names, every) == 480


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize(
    ("time_s", "shares_s"),
    [
        (300, [100, 200]),  # half of what their cores need
        (600, [200, 400]),  # just that
        (650, [200 + 10, 400 + 40]),  # a quarter of what the rest needs
        (1600, [2 * 240, 2 * 560]),  # twice as much as they need
    ],
)
def test_time_is_shared_for_the_cores_first_then_for_the_rest(clock, time_s, shares_s):
    shares = Shares(time_s + 2 * OVERHEAD_S, {"a": (200, 40), "b": (400, 160)}, clock=clock)

    for name, share_s in zip(("a", "b"), shares_s, strict=True):
        assert shares.of(name) == pytest.approx(share_s)
        clock.now_s += share_s + OVERHEAD_S


def test_a_notebook_with_little_core_and_much_else_takes_no_time_from_the_cores_of_the_others(clock):
    shares = Shares(100 + 2 * OVERHEAD_S, {"a": (20, 200, 10, 900), "b": (60, 0, 30, 0)}, clock=clock)

    assert shares.of("a") == pytest.approx(20 + 20), "after both cores, only `a` has something else to show"
    clock.now_s += 40 + OVERHEAD_S
    assert shares.of("b") == pytest.approx(60)


def test_what_one_notebook_leaves_or_takes_too_much_the_others_feel(clock):
    shares = Shares(900 + 3 * OVERHEAD_S, {"a": (1, 0), "b": (1, 0), "c": (1, 0)}, clock=clock)

    assert shares.of("a") == 300
    clock.now_s += 100 + OVERHEAD_S
    assert shares.of("b") == 400
    clock.now_s += 600 + OVERHEAD_S
    assert shares.of("c") == 200


def test_a_time_that_the_user_gave_a_notebook_is_kept_for_it(clock):
    shares = Shares(900 + 2 * OVERHEAD_S, {"a": (1, 0)}, fixed_s={"mine": 500}, clock=clock)

    assert shares.of("a") == 400
    assert shares.of("mine") is None


@pytest.mark.parametrize("weights", [{"a": (0, 0)}, {"a": (0, 5)}, {"a": (5, 0)}])
@pytest.mark.parametrize("over_s", [0, 100])
def test_where_no_time_is_left_there_is_still_a_share(clock, weights, over_s):
    """A front page without a recipe needs none; what ran before it may have taken too long."""
    shares = Shares(OVERHEAD_S, weights, clock=clock)
    clock.now_s += over_s

    assert shares.of("a") == 1.0


def test_a_notebook_without_a_share_gets_none(clock):
    shares = Shares(900, {"a": (1, 0)}, clock=clock)

    assert shares.of("other") is None


def test_a_resumed_report_gives_each_notebook_what_it_had(clock):
    shares = Shares(
        600 + 2 * OVERHEAD_S, {"a": (1, 0), "b": (1, 0)}, spent_s={"a": 300, "b": 100}, clock=clock
    )

    assert shares.of("a") == 300, "all of which it has used"
    clock.now_s += OVERHEAD_S
    assert shares.of("b") == 300, "of which 100 are used"


def group(name: str, core: bool = True, most: int = 15, block_s: float = 10.0, **fields) -> ForecastGroup:
    fields = {"first_s": block_s} | fields
    return ForecastGroup(
        name=name, core=core, arms=(f"{name} with", f"{name} without"), most=most, block_s=block_s, **fields,
    )  # fmt: skip


def test_what_a_first_block_compiles_is_reckoned_once():
    compiled = group("core", most=6, first_s=60.0)
    plan = StudyPlan(study="layout", groups=(compiled,))
    needed_s = WORKERS_START_S + 60 + 5 * 10

    assert plan.least_s == WORKERS_START_S + 60
    assert plan.needs_s[0] == WORKERS_START_S + SPARE * (60 + 5 * 10)
    assert [plan.forecast(needed_s - missing_s).had(compiled) for missing_s in (0, 4, 8)] == [6, 6, 5]


PLANS = {
    "layout": StudyPlan(study="layout", groups=(group("core"), group("survey", core=False, most=1))),
    "summary": StudyPlan(study="summary", groups=(group("recipe", most=6),), depends=True),
}
LEAST_S = 2 * (OVERHEAD_S + WORKERS_START_S + 10)


def session(budget_s: float | None) -> ReportRequest:
    weights = {name: plan.needs_s for name, plan in PLANS.items()} if budget_s else {}
    return ReportRequest(
        session="s", preset="quick", notebooks=tuple(PLANS), budget_s=budget_s, weights=weights
    )


def test_the_first_comparison_of_each_notebook_is_decided_before_a_second_one(clock):
    """The recorded case: every core lacked a little, so that the notebook with a single one had 5 blocks of 6."""
    plans = {
        "one": StudyPlan(study="one", groups=(group("core"),)),
        "two": StudyPlan(study="two", groups=(group("core"), group("core", block_s=11.0))),
    }
    shares = Shares(170.0 + 2 * OVERHEAD_S, {name: p.needs_s for name, p in plans.items()}, clock=clock)

    assert plans["one"].forecast(shares.of("one")).had(plans["one"].groups[0]) == 6


def test_lines_are_shown_after_every_core_and_before_any_other_look(clock):
    lines, look = (group(name, core=False, most=1, block_s=30.0) for name in ("sizes", "survey"))
    plans = {
        "one": StudyPlan(study="one", groups=(group("core"), replace(lines, lines=True), look), starts=False),
        "two": StudyPlan(study="two", groups=(group("core"), look, look), starts=False),
    }
    shares = Shares(
        2 * SPARE * 60 + 30 + 2 * OVERHEAD_S, {name: p.needs_s for name, p in plans.items()}, clock=clock
    )

    assert shares.of("one") == pytest.approx(SPARE * 60 + 30)
    clock.now_s += SPARE * 60 + 30 + OVERHEAD_S
    assert shares.of("two") == pytest.approx(SPARE * 60)


def test_the_first_lines_of_each_notebook_come_before_a_second_frameworks(clock):
    """Half of a second framework's line is none, and the next notebook had no time for its first one."""
    first, second = (group(name, core=False, most=1, block_s=30.0, lines=True) for name in ("quick", "slow"))
    both = {"one": (group("core"), first, second), "two": (group("core"), first)}
    plans = {name: StudyPlan(study=name, groups=groups, starts=False) for name, groups in both.items()}
    budget_s = 2 * (SPARE * 60 + 30 + OVERHEAD_S)
    shares = Shares(budget_s, {name: p.needs_s for name, p in plans.items()}, clock=clock)

    assert shares.of("one") == pytest.approx(SPARE * 60 + 30)


def test_a_notebook_whose_workers_go_on_from_another_one_has_its_time_for_blocks():
    plan = StudyPlan(study="layout", groups=(group("core"),))
    warm = replace(plan, starts=False)

    assert plan.spent_s(60 + WORKERS_START_S) == 60 + WORKERS_START_S
    assert plan.needs_s[0] - warm.needs_s[0] == WORKERS_START_S
    assert warm.spent_s(60) == 60 and warm.least_s == 10


def test_a_time_too_short_for_one_comparison_in_each_notebook_names_the_least():
    check_budget(LEAST_S, PLANS)
    with pytest.raises(UserError) as caught:
        check_budget(LEAST_S - 1, PLANS)

    assert str(caught.value) == (
        "BUDGET (45 s) is too short: one block of one comparison in each of layout, summary takes about "
        "46 s. Give it that or more, or name fewer NOTEBOOKS."
    )


def test_a_plan_says_what_fits_and_what_twice_the_time_would_add():
    budget_s = 2 * (OVERHEAD_S + WORKERS_START_S + 62)

    lines = plan_lines(session(budget_s), PLANS)

    assert lines == [
        "layout: 12 runs, about 1 min 08 s of 1 min 10 s",
        "  6 x core with: about 30 s",
        "  6 x core without: about 30 s",
        "  no time for survey with",
        "  no time for survey without",
        "summary: 12 runs, about 1 min 08 s of 1 min 12 s, and those that depend on what these find",
        "  6 x recipe with: about 30 s",
        "  6 x recipe without: about 30 s",
        "All of it: 2 min 30 s or less. 5 min 00 s would add:"
        " layout: 9 more blocks of 1 comparison and 1 comparison or single runs that 1 min 10 s have no time for.",
    ]


def test_without_a_limit_a_plan_says_how_long_everything_takes():
    lines = plan_lines(session(None), PLANS)

    assert lines[0] == "layout: 32 runs, about 2 min 48 s"
    assert lines[-1] == "All of it: about 4 min 06 s."


def test_what_nodes_do_not_share_takes_as_long_as_on_one():
    link = group("link", core=False, most=2, block_s=40.0, around=True)
    shared = StudyPlan(study="multi_gpu", groups=(group("core", most=6), link))
    alone = replace(shared, shared=False)

    assert shared.spent_s(None, 3) == WORKERS_START_S + 6 * 10.0 / 3 + 2 * 40.0
    assert alone.spent_s(None, 3) == alone.spent_s(None) == WORKERS_START_S + 6 * 10.0 + 2 * 40.0
    assert alone.forecast(100.0, 3).counts == alone.forecast(100.0).counts
    lines = plan_lines(session(None), {"layout": shared}, 2)
    assert lines[1] == "  6 x core with: about 15 s" and lines[3] == "  2 x link with: about 40 s"
    assert plan_lines(session(None), {"layout": alone}, 2) == plan_lines(session(None), {"layout": alone})


@pytest.mark.parametrize(("preset", "told"), [("article", True), ("smoke", False)])
def test_a_report_of_days_tells_its_time_before_it_measures_anything(
    preset, told, tmp_path, monkeypatch, capsys
):
    days = StudyPlan(study="layout", groups=(group("core", block_s=2 * 86_400.0, most=6),))
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: ({"layout": days}, [], False))
    monkeypatch.setattr(
        run,
        "new_session",
        lambda **_: replace(session(None), preset=preset, parameters={name: {} for name in PLANS}),
    )
    monkeypatch.setattr(run.ReportRun, "run", lambda self: print("measuring") or 0)

    assert run.report(out=tmp_path / "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "measuring"
    assert any(line.startswith("All of it: about 12 days. Ctrl-C ends it") for line in lines) is told


@pytest.mark.parametrize(("hands", "nodes"), [({}, 1), ({"hands": 2}, 2)])
def test_a_plan_for_equal_nodes_counts_on_them_to_train_together(tmp_path, monkeypatch, hands, nodes):
    """It is made on one of them, which does not know the others yet."""
    asked = []

    class Asked:
        def __init__(self, source, parameters, environment, *_, **__):
            asked.append((parameters["nodes"], nodes_here("multi_gpu", current(environment))))

        def run(self):
            return End(NotebookStatus.OK)

    monkeypatch.setattr(budget, "NotebookRun", Asked)
    run.plan(out=tmp_path, preset="smoke", notebooks=("multi_gpu",), nodes="2", **hands)

    assert asked == [([1, 2], nodes)]
