"""What the benchmark makes of searches, on numbers alone: nothing is searched, and no program is started."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from search_findings import LAST, whole
from study_data import make_run, make_trial
from test_bench import BENCHMARKS, load
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.runs import RunSet
from trainspeed.search.switch import combined


@pytest.fixture
def searches(monkeypatch, tmp_path):
    """searches.py, which imports others of its folder; none of them stays imported."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    module = load("searches")
    module.real_search = module.search
    monkeypatch.setattr(module, "search", lambda framework, **_: whole())
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "find_interpreter", lambda framework: "python")
    yield module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


def best(searches, measure):
    """Return the rows on the best of each framework's search."""
    return [
        row for name, part in searches.parts(measure).items() if name.startswith("best ") for row in part()
    ]


BY_HAND = {"by hand, compiled": 0.8, "by hand, bf16": 0.85, "by hand, bf16, compiled": 0.9}


def measured(**seconds):
    """Return what stands for `run.turns_of`: so many seconds an epoch in each of 14 sets, of those that are started."""

    def measure(programs, *, sets, **turns):
        _, trials, *by_hand = programs.args
        asked = {*trials, *(by_hand[0] if by_hand else ["by hand"])}
        return {name: [value] * (14 if sets > 1 else 8) for name, value in seconds.items() if name in asked}

    return measure


def test_the_best_of_a_search_is_judged_by_the_script_that_was_written_by_hand(searches):
    slower = best(searches, measured(plain=1.0, found=0.8, **{"by hand": 0.7}, **BY_HAND))
    assert [row.split(" | ")[-1] for row in slower] == ["|", "|", "NO |"] * 2
    assert "the script (by hand) / plain | 1.429 (" in slower[1]
    assert (
        slower[0].startswith("| torch: the best of a search of 30 min 00 s (channels_last, ")
        and "1.250 (" in slower[0]
    )
    assert best(searches, measured(plain=1.0, found=0.7, **{"by hand": 0.7}, **BY_HAND))[-1].endswith("yes |")


def test_slow_scripts_are_dropped_by_a_set_that_counts_for_nothing_else(searches):
    """So a set has three programs, where one script is clearly the fastest."""
    asked, seconds = [], {"plain": 1.0, "found": 0.8, "by hand": 0.9, **BY_HAND, "by hand, bf16": 0.6}

    def measure(programs, *, sets, **turns):
        asked.append((sets, *measured(**seconds)(programs, sets=sets)))
        return measured(**seconds)(programs, sets=sets)

    rows = best(searches, measure)
    assert [set(names[1:]) for names in asked[:2]] == [
        {"by hand", *BY_HAND},
        {"plain", "found", "by hand, bf16"},
    ]
    assert [names[0] for names in asked] == [1, 20, 1, 20]
    assert "the script (by hand, bf16) / plain | 1.667 (" in rows[1]


def test_the_best_of_a_search_is_judged_by_each_script_that_may_be_the_best(searches):
    """One set has them the wrong way round; what is much slower in it is not measured again."""
    asked, others = [], {"plain": 1.0, "found": 0.62, "by hand": 0.9, "by hand, compiled": 0.9}

    def measure(programs, *, sets, **turns):
        bf16, compiled = (0.60, 0.61) if sets == 1 else (0.62, 0.60)
        scripts = {"by hand, bf16": bf16, "by hand, bf16, compiled": compiled}
        asked.append(measured(**others, **scripts)(programs, sets=sets))
        return asked[-1]

    rows = best(searches, measure)
    assert {*asked[1]} == {"plain", "found", "by hand, bf16", "by hand, bf16, compiled"}
    assert "the script (by hand, bf16) / plain | 1.613 (" in rows[1]
    assert (
        rows[2].endswith("yes |")
        and "the script (by hand, bf16, compiled) without caches of graphs" in rows[3]
    )
    assert "| 0.968 (" in rows[4] and rows[4].endswith("NO |"), "as fast as one of them is not enough"


@pytest.mark.parametrize(("start_s", "sets"), [(5, 9), (25, 6)])
def test_a_model_of_a_library_has_its_own_script_and_fewer_sets_where_nine_take_too_long(
    searches, monkeypatch, start_s, sets
):
    """By the time alone in which four scripts started and took 8 turns of 2 s."""
    chosen_s = 4 * (start_s + 8 * 2.0)
    clock = iter((0.0, 220.0, 220.0 + chosen_s))
    monkeypatch.setattr(searches.time, "monotonic", lambda: next(clock))
    asked, seconds = [], {"plain": 1.0, "found": 0.8, "by hand": 0.7, **BY_HAND, "by hand, bf16": 0.6}
    seconds = {name: own_s / 10 for name, own_s in seconds.items()}

    def measure(programs, *, sets, **turns):
        asked.append((sets, programs.args[0].script))
        return measured(**seconds)(programs, sets=sets)

    rows = searches.parts(measure)["zoo torch"]()
    assert asked == [(1, "best_timm.py"), (sets, "best_timm.py")]
    assert rows[1].startswith("| torch, timm/resnet18: the script (by hand, bf16) / plain | 1.667 (")


def test_where_nothing_was_kept_no_ratio_is_told_of_the_plain_setting_to_itself(searches, monkeypatch):
    nothing = whole(kept=(), best=whole().start)
    monkeypatch.setattr(searches, "search", lambda framework, **_: nothing)
    rows = best(searches, measured(plain=1.0, **{"by hand": 0.7}, **BY_HAND))
    assert (
        rows[0]
        == "| torch: the best of a search of 30 min 00 s (nothing kept) / plain | it is the plain setting | printed | |"
    )
    assert rows[2].endswith("NO |"), "the script is still faster than what was found"


def test_a_framework_whose_turns_cannot_be_paired_costs_the_other_nothing(searches):
    def measure(programs, **asked):
        if programs.args[0].framework == "torch":
            raise SystemExit("bench: only 5 rounds could be paired: measure again.")
        return measured(plain=1.0, found=0.7, **{"by hand": 0.7}, **BY_HAND)(programs, **asked)

    rows = best(searches, measure)
    assert "| not measured: bench: only 5 rounds could be paired" in rows[0]
    assert len(rows) == 4 and rows[-1].endswith("yes |")


@pytest.fixture
def apart(searches, monkeypatch):
    """Two searches of which the second keeps less."""
    less = whole(kept=(LAST,), best=combined(whole().start, (LAST,)))
    monkeypatch.setattr(searches, "search", lambda framework, seed, **_: less if seed else whole())
    return searches


@pytest.mark.parametrize(("other", "met"), [(1.02, "yes |"), (1.05, "NO |")])
def test_two_searches_agree_within_three_percent(apart, other, met):
    rows = apart.parts(measured(plain=1.3, one=1.0, two=other, **{"by hand": 0.9}))["seeds torch"]()
    assert len(rows) == 5 and rows[-1].endswith(met)
    assert "as it claims | 1.70" in rows[0] and "1.300 (" in rows[2]


def test_two_searches_that_kept_the_same_set_are_not_timed(searches):
    parts = searches.parts(lambda *_, **__: pytest.fail("it measures a setting against itself"))
    rows = parts["seeds tensorflow"]()
    assert rows[-1] == "| tensorflow: two searches kept the same set | yes | printed | |"
    assert len(rows) == 3


def test_scripts_lower_their_graphs_as_our_runs_do(searches):
    """PyTorch's caches of an earlier script would take that, and what it does to the memory, from its process."""
    programs = searches._programs(searches.JOBS["torch"], {})

    assert {*searches.LOWERS_ANEW.items()} <= {*programs["by hand"]._environment.items()}


def test_all_programs_have_huge_pages_where_one_may_ask_for_them(searches, monkeypatch):
    monkeypatch.setattr(sys.modules["cases"], "huge_pages_mode", lambda: "madvise")
    trials = {"plain": make_trial(), "found": make_trial(precision="bf16")}
    programs = searches._programs(searches.JOBS["torch"], trials)

    asked = LEVERS["huge_pages"].environment["on"]
    assert asked.items() <= programs["by hand"]._environment.items()
    assert [programs[name].environment for name in trials] == [asked, asked]


def test_a_search_that_came_to_its_end_is_kept_for_sets_that_are_measured_anew(searches, monkeypatch):
    job, asked = searches.JOBS["torch"], []

    def measured_runs(study, plan, *, context, **_):
        asked.append(context.id)
        return RunSet((make_run(study=study, session=context.id),))

    monkeypatch.setattr(searches, "measure", measured_runs)
    monkeypatch.setattr(searches, "new_id", lambda: f"20261128T1000{len(asked):02}Z-abcd")
    monkeypatch.setattr(searches, "findings", lambda plan, runs: [[run.session for run in runs]])
    for seed, seconds, resume in (
        (0, 60, False),
        (0, 60, True),
        (1, 60, True),
        (0, 60, False),
        (0, 60, True),
        (0, 20, True),
    ):
        assert searches.real_search(job, seed=seed, budget_s=seconds, resume=resume) == asked[-1:]
    assert len(asked) == 4, "those of seed 0 and 60 s that go on measured nothing"
    fewer = replace(job, levers=searches.SEEDS_JOBS["torch"].levers)
    assert searches.real_search(fewer, seed=0, budget_s=20, resume=True) == asked[-1:] and len(asked) == 5
    assert searches._day(job, 60) == " on 2026-11-28" and searches._day(job, 61) == ""
