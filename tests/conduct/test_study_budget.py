"""A study within its time: workers that only pretend, and a clock that they move on."""

from __future__ import annotations

from collections import Counter

import pytest

from asking_study import RUN_S, Asking, part_of
from trainspeed.conduct import study
from trainspeed.conduct.context import Context, recorded
from trainspeed.conduct.groups import groups_of
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.coverage import append_coverage, read_coverage
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger, append_line
from trainspeed.core.run import Role
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import grid
from trainspeed.show.coverage import coverage_sentences, left_out_table


def measured(out, budget_s, *parts, more=None, spare=None, more_is_core=False, **options):
    context = Context(id=options.pop("id", "s1"), out=out, **options)
    plan = Plan(others=parts, more=more, spare=spare, more_is_core=more_is_core)
    return study.measure("s", plan, timeout_s=1, interval_s=1, budget_s=budget_s, context=context)


def sizes(runs) -> Counter:
    return Counter(run.trial.batch_size for run in runs)


def test_without_a_limit_all_is_measured_and_nothing_is_said_of_time(clocked, tmp_path):
    runs = measured(tmp_path, None, part_of(8, 4, blocks=7))

    assert sizes(runs) == {8: 7, 4: 7}
    assert runs.coverage is None and coverage_sentences(None) == []
    assert not (tmp_path / "coverage.jsonl").exists()


def test_what_there_is_no_time_for_is_not_measured_and_is_on_record(clocked, tmp_path):
    runs = measured(tmp_path, 6 * RUN_S, part_of(8, 4, blocks=9))

    assert sizes(runs) == {8: 6}
    coverage = runs.coverage
    assert (coverage.budget_s, coverage.spent_s) == (60.0, 60.0)
    assert [(group.blocks, group.most, group.arms[0].batch_size) for group in coverage.groups] == [
        (6, 9, 8),
        (0, 9, 4),
    ]
    assert coverage_sentences(coverage) == [
        "Time: 1 min 00 s of 1 min 00 s that it was given: the core comparisons had 6 of at most 9 blocks.",
        "No time for 1 of 2 groups of trials that take turns (1 of them of the core): PyTorch, cnn10, batch 4 "
        "(1 trial). Give it more (`budget_s = 180  # in the parameters cell, then run all again`).",
    ]
    table = left_out_table(coverage).data
    assert len(table) == 1 and "batch 4" in str(table.iloc[0].to_dict())


@pytest.mark.parametrize(("in_report", "blocks"), [(False, 5), (True, 6)])
def test_in_a_report_what_gets_slower_ends_its_six_blocks_and_the_next_notebooks_share_less(
    clocked, tmp_path, fake_clock, in_report, blocks
):
    ends = clocked.ends

    def slower(request):
        fake_clock.advance(0.1 * RUN_S if len(clocked.requests) > 2 else 0.0)
        return ends(request)

    clocked.ends = slower

    runs = measured(tmp_path, 6 * RUN_S, part_of(8, blocks=9), in_report=in_report)

    assert sizes(runs) == {8: blocks}


@pytest.mark.parametrize(("last", "blocks"), [(False, {8: 9, 4: 9}), (True, {8: 12, 4: 9})])
def test_in_a_report_the_last_notebook_alone_uses_what_decides_not_all_of_its_comparisons(
    clocked, tmp_path, last, blocks
):
    parts = part_of(8, blocks=15), part_of(4, blocks=15)
    runs = measured(tmp_path, 22 * RUN_S, *parts, in_report=True, last=last)

    assert sizes(runs) == blocks


def test_rendering_shows_the_same_record(clocked, tmp_path):
    runs = measured(tmp_path, 6 * RUN_S, part_of(8, 4, blocks=9))

    assert recorded("s", Context(id="s2", out=tmp_path, render_from=tmp_path)).coverage == runs.coverage


def test_a_damaged_record_is_no_record(clocked, tmp_path):
    coverage = measured(tmp_path, 6 * RUN_S, part_of(8)).coverage
    path = tmp_path / "coverage.jsonl"
    path.write_text(path.read_text()[:-20])

    assert read_coverage(tmp_path, {"s": "s1"}) == {}
    append_coverage(tmp_path, coverage)
    assert read_coverage(tmp_path, {"s": "s1"}) == {"s": coverage}
    assert read_coverage(tmp_path, {"s": "s0"}) == {}


def test_a_resumed_study_has_what_is_left_of_its_time(clocked, tmp_path):
    """Each of its runs has a `busy_s` of 2 s in the ledger."""
    whole = measured(tmp_path / "a", None, part_of(8, blocks=12))
    for run in whole.runs[:7]:
        append_line(tmp_path / "b/runs.jsonl", run.as_dict())
    clocked.requests.clear()

    runs = measured(tmp_path / "b", 7 * 2.0 + 3 * RUN_S, part_of(8, blocks=12), resume=True)

    assert [run.block for run in runs] == [*range(9)]
    assert len(clocked.requests) == 2


def test_what_depends_on_results_gets_time_before_a_seventh_block(clocked, tmp_path):
    more = Asking([part_of(2, blocks=6)])

    runs = measured(tmp_path, 15 * RUN_S, part_of(8, blocks=15), more=more)

    assert sizes(runs) == {8: 9, 2: 6}


def test_what_depends_on_results_and_has_no_time_is_on_record_and_not_asked_for_ever(clocked, tmp_path):
    runs = measured(
        tmp_path, 6.9 * RUN_S, part_of(8, blocks=15), more=Asking([part_of(2, blocks=6)], for_ever=True)
    )

    assert sizes(runs) == {8: 6}
    assert [group.blocks for group in runs.coverage.groups] == [6, 0]


# Time that is left over.


def next_ones(runs):
    """Return what is worth measuring in spare time, the most useful first."""
    return [part_of(size, blocks=12) for size in (16, 4, 2)]


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        (8, {8: 8}),  # nothing of the rest would have 6 blocks
        (15, {8: 8, 16: 6}),
        (24, {8: 8, 16: 9, 4: 6}),
        (60, {8: 8, 16: 12, 4: 12, 2: 12}),
    ],
)
def test_time_that_a_study_does_not_need_goes_to_what_is_useful_next(clocked, tmp_path, blocks, found):
    """As much of it as gives an interval: the front page finds nothing to confirm on many machines."""
    runs = measured(tmp_path, blocks * RUN_S, part_of(8, blocks=8), spare=next_ones)

    assert sizes(runs) == found
    assert runs.coverage.left_out == (), "it was never promised"


def test_spare_time_comes_after_what_results_ask_for(clocked, tmp_path):
    runs = measured(
        tmp_path, 20 * RUN_S, part_of(8, blocks=6), more=Asking([part_of(1, blocks=6)]), spare=next_ones
    )

    assert sizes(runs) == {8: 6, 1: 6, 16: 6}


def test_spare_time_comes_after_the_ninth_blocks_of_what_is_decided(clocked, tmp_path):
    runs = measured(tmp_path, 14 * RUN_S, part_of(8, blocks=9), spare=next_ones, more_is_core=True)

    assert sizes(runs) == {8: 9}, "the spare set would take the rest, and 8 be left with 8 blocks"


def test_without_a_limit_there_is_no_spare_time(clocked, tmp_path):
    assert sizes(measured(tmp_path, None, part_of(8, blocks=8), spare=next_ones)) == {8: 8}


def test_a_resumed_study_goes_on_with_its_spare_time(clocked, tmp_path):
    whole = measured(tmp_path / "a", 24 * RUN_S, part_of(8, blocks=8), spare=next_ones)
    for run in whole.runs[:10]:
        append_line(tmp_path / "b/runs.jsonl", run.as_dict())
    clocked.requests.clear()

    runs = measured(tmp_path / "b", 10 * 2.0 + 13 * RUN_S, part_of(8, blocks=8), spare=next_ones, resume=True)

    assert sizes(runs) == sizes(whole)
    assert len(clocked.requests) == 13


@pytest.mark.parametrize("budget_s", [0, -1.0])
def test_no_time_at_all_is_refused(clocked, tmp_path, budget_s):
    with pytest.raises(UserError, match=r"budget_s \(="):
        measured(tmp_path, budget_s, part_of(8))
    assert Ledger(tmp_path).read() == ((), ())


# The groups.

TRIALS = grid(
    framework=["tensorflow", "torch"],
    model=["cnn10", "wrn28_1"],
    layout=["channels_first", "channels_last"],
    batch_size=8,
    images_per_epoch=16,
    epochs=3,
)


def test_the_first_comparison_of_each_framework_gets_time_first():
    part = TrialSet(trials=TRIALS, blocks=3, factors=("layout",), controls=(TRIALS[4],))

    groups = groups_of([part], ["core"], [True], seed=0)

    assert [(group.framework, group.blocks[0][0].trial.model, len(group.blocks[0])) for group in groups] == [
        ("tensorflow", "cnn10", 2),
        ("torch", "cnn10", 3),
        ("tensorflow", "wrn28_1", 2),
        ("torch", "wrn28_1", 2),
    ]
    assert all(group.most == 3 and [b[0].block for b in group.blocks] == [0, 1, 2] for group in groups)


def test_two_sets_with_equal_settings_are_groups_of_their_own():
    core, rest = TRIALS[:1], TRIALS[1:2]
    sets = [TrialSet(trials=trials, blocks=2, factors=("layout",)) for trials in (core, rest)]

    groups = groups_of(sets, ["core", "survey"], [True, False], seed=0)

    assert [(group.name, group.core, group.most) for group in groups] == [
        ("core", True, 2),
        ("survey", False, 2),
    ]


def test_an_anchor_runs_once_more_beside_the_sizes_that_are_compared_with_it():
    small, large = (part_of(size).trials[0] for size in (8, 16))
    sets = [
        TrialSet(trials=(small,), blocks=2),
        TrialSet(trials=(large,), anchors=(small,), blocks=1, factors=("batch_size",)),
    ]

    core, line = groups_of(sets, ["core", "sizes"], [True, False], seed=0)

    assert core.most == 2
    assert {(run.label, run.trial.batch_size) for run in line.blocks[0]} == {("", 16), (Role.ANCHOR, 8)}


def test_an_anchor_is_no_data(clocked, tmp_path):
    (small,) = part_of(8).trials
    line = TrialSet(trials=(), anchors=(small,), blocks=1)

    runs = measured(tmp_path, None, part_of(8), line)

    assert [run.label for run in RunSet(runs.runs).data()] == [""]
    assert len(runs) == 2
