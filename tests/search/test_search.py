"""A search on a made-up machine: what is kept, what is said of the rest, and how it ends."""

from dataclasses import replace

import pytest

import search_world
from search_world import (
    GAINS,
    START,
    World,
    drive,
    kept,
    random_world,
    search_of,
    switch,
    switches,
    world_of,
)
from trainspeed.core.levers.lever import Level, Lever
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role, Status
from trainspeed.judge.comparison import controls
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import Outcome
from trainspeed.search.candidates import Candidates
from trainspeed.search.findings import Decision, Effect
from trainspeed.search.search import Search
from trainspeed.search.sizes import options
from trainspeed.search.switch import Switch

CHILD = Switch(lever="child", value="on", settings=(("child", "on"), ("made_00", "on")))


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)
    monkeypatch.setitem(LEVERS, "child", Lever(name="child", words="child", needs={"made_00": ("on",)}))


@pytest.fixture(scope="module")
def measured(request):
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    search_world.register(patch)
    return drive(search_of(), world_of(silent=frozenset([3]), fails={4: Status.OOM}))


def test_keeps_what_pays_and_says_why_not_of_the_rest(measured):
    assert measured.search.decisions == {
        switch(0): Decision.KEPT_UNCHECKED,
        switch(1): Decision.KEPT_UNCHECKED,
        switch(2): Decision.NOT_FASTER,
        switch(3): Decision.NOT_IN_EFFECT,
        switch(4): Decision.FAILED,
    }


def test_what_was_asked_for_and_not_seen_says_what_was_seen(measured):
    silent, failed = measured.search.findings.feasible[3:]
    assert (silent.effect, silent.seen) == (Effect.UNSEEN, {"made_03": ("off", "planted")})
    assert (failed.effect, failed.status) == (Effect.FAILED, Status.OOM)


def test_what_cannot_be_seen_is_not_taken_for_in_effect():
    """A hook that could not tell leaves the lever out of the recipe, whatever the times say."""
    runs = drive(search_of(), world_of()).runs
    blind = [replace(run, in_effect=run.in_effect | {"made_00": (None, "no such counter")}) for run in runs]
    search = search_of(runs=[run for run in blind if run.role is Role.FEASIBLE])
    assert search.decisions[switch(0)] is Decision.NOT_IN_EFFECT
    assert switch(0) not in search.entered


def test_what_is_not_in_effect_beside_others_is_not_kept(measured):
    """Alone it was; a CUDA graph that another switch makes the compiler skip is no gain."""
    spoiled = [
        replace(run, in_effect=run.in_effect | {"made_01": ("off", "planted")})
        if run.role is Role.RECIPE
        else run
        for run in measured.runs
    ]
    search = replace(measured.search, runs=spoiled)
    assert search.decisions[switch(1)] is Decision.NOT_IN_EFFECT
    assert kept(search) == {0}


def test_claims_are_of_fresh_blocks_alone(measured):
    fresh = [run for run in measured.runs if run.role is Role.RECIPE]
    earlier = {run.trial.seed for run in measured.runs if run.role not in (Role.RECIPE, Role.PLAIN_AGAIN)}
    alone = replace(measured.search, runs=fresh)
    assert alone.confirmation == measured.search.confirmation
    assert not earlier & {run.trial.seed for run in fresh}
    assert measured.search.confirmation.blocks == 9
    assert measured.search.confirmation.total.outcome is Outcome.FASTER


def test_fresh_blocks_have_the_plain_trial_twice(measured):
    """What noise does to a claim is measured in as many blocks."""
    (control,) = controls(measured.runs)
    assert control.baseline == START.spec and control.blocks == 9
    assert control.low < 1 < control.high


def test_leaving_out_claims_hold_all_at_once(measured):
    first, second = measured.search.confirmation.left_out
    assert [first.switches, second.switches] == [(switch(0),), (switch(1),)]
    assert first.time.confidence == second.time.confidence == pytest.approx(0.975)
    assert first.time.outcome is Outcome.FASTER


def test_bars_multiply_to_the_total(measured):
    product = 1.0
    for bar in measured.search.findings.waterfall:
        product *= bar.speedup
    assert product == pytest.approx(measured.search.confirmation.total.speedup)


def test_a_whole_search_lacks_nothing_and_wants_nothing(measured):
    assert measured.search.findings.left_out == ()
    assert measured.search.wanted() == []


def test_is_drawn_again_without_its_budget():
    _, search = random_world(7)
    world = world_of(gains={0: 0.2, 5: 0.1, 6: 0.05})
    short = drive(replace(search, budget_s=200.0), world)
    assert len(short.runs) * world.run_s <= 240
    assert replace(short.search, budget_s=None).findings == short.search.findings
    assert short.search.findings.left_out


@pytest.mark.parametrize(("budget_s", "sure"), [(1.0, set()), (60.0, {0}), (120.0, {0}), (300.0, {0, 1})])
def test_ends_whatever_the_budget_and_spends_it_on_what_is_large(budget_s, sure):
    found = drive(search_of(12, budget_s=budget_s), world_of(seed=1))
    assert (
        found.search.wanted({(part.label, t) for sets in found.asked for part in sets for t in part.trials})
        == []
    )
    assert sure <= kept(found.search) <= {0, 1}
    # The fresh blocks are asked for whole: how many of them there is time for, the timetable says.
    searching = [run for run in found.runs if run.role not in (Role.RECIPE, Role.PLAIN_AGAIN)]
    assert len(searching) * world_of().run_s <= max(
        budget_s, 20.0
    )  # a first look, and whether it goes together


def test_nothing_is_claimed_without_fresh_blocks():
    found = drive(search_of(), world_of(), fits=lambda one: one.label not in (Role.RECIPE, Role.PLAIN_AGAIN))
    assert found.search.confirmation is None
    assert found.search.decisions[switch(0)] is Decision.UNCONFIRMED
    assert found.search.kept == ()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_a_search_that_is_resumed_finds_the_same(measured, share):
    begun = measured.runs[: int(share * len(measured.runs))]
    world = world_of(silent=frozenset([3]), fails={4: Status.OOM})
    again = drive(search_of(), world, begun)
    assert {run.key for run in again.runs} == {run.key for run in measured.runs}
    assert again.search.decisions == measured.search.decisions


def test_one_that_crashed_once_has_another_chance():
    search = search_of()
    first = drive(search, world_of(), fits=lambda one: one.label == Role.FEASIBLE).runs
    crashed = [
        replace(run, status=Status.CRASHED, reason="killed", epoch_s=(), in_effect={})
        if dict(run.trial.levers) == {"made_00": "on"}
        else run
        for run in first
    ]
    found = drive(search, world_of(), crashed)
    assert found.search.decisions[switch(0)] is Decision.KEPT_UNCHECKED


def test_values_of_a_lever_are_raced_and_the_winner_enters(monkeypatch):
    monkeypatch.setitem(LEVERS, "made_00", Lever(name="made_00", words="lever 0", values=("on", "more")))
    both = (switch(0), switch(0, "more"), *switches(4)[1:])
    found = drive(Search(START, Candidates(switches=both)), world_of())
    (race,) = found.search.races
    assert race.entered in ((switch(0),), (switch(0, "more"),))
    assert Decision.LOST_RACE in (found.search.decisions[one] for one in both[:2])
    assert len(found.search.kept) == 2


def test_a_switch_comes_with_what_it_needs():
    found = drive(Search(START, Candidates(switches=(*switches(4), CHILD))), child_world())
    assert CHILD in found.search.kept
    assert dict(found.search.findings.best.levers) == {"made_00": "on", "child": "on", "made_01": "on"}


class child_world(World):
    """A machine on which the child pays, where its parent is on."""

    def __init__(self):
        super().__init__(gains=GAINS, outliers=0.0, crashes=0.0)

    def run(self, planned):
        names = dict(planned.trial.levers)
        without = tuple(setting for setting in planned.trial.levers if setting[0] != "child")
        run = super().run(replace(planned, trial=replace(planned.trial, levers=without)))
        faster = 0.9 if "child" in names else 1.0
        seen = run.in_effect | ({"child": ("on", "planted")} if "child" in names else {})
        return replace(
            run, trial=planned.trial, in_effect=seen, epoch_s=tuple(faster * s for s in run.epoch_s)
        )


def test_what_hurts_accuracy_is_not_kept():
    found = drive(search_of(), world_of(accuracy=0.8, points={1: -3.0})).search
    assert found.decisions[switch(0)] is Decision.KEPT
    assert found.decisions[switch(1)] is Decision.HURTS
    assert found.confirmation.equality is Equality.WORSE


def test_what_hurts_accuracy_is_not_promising_where_the_set_is_not_faster():
    """More fresh blocks could not bring it into the recipe."""
    found = drive(search_of(), world_of(accuracy=0.8, points={1: -3.0})).search
    total = replace(found.confirmation.total, outcome=Outcome.UNDECIDED)
    again = replace(found)
    again.__dict__["confirmation"] = replace(found.confirmation, total=total)

    assert again.decisions[switch(1)] is Decision.HURTS and again.decisions[switch(0)] is Decision.UNCONFIRMED


def test_accuracy_is_not_checked_where_nothing_was_learned():
    found = drive(search_of(), world_of(accuracy=0.12)).search
    assert found.confirmation.equality is Equality.UNCHECKED
    assert found.decisions[switch(0)] is Decision.KEPT_UNCHECKED


def test_nothing_to_try_wants_nothing():
    search = Search(START, Candidates())
    assert search.wanted() == []
    assert search.findings.kept == ()
    assert search.findings.best == START


def failing(run):
    return replace(run, status=Status.UNSUPPORTED, reason="it is not installed", epoch_s=(), in_effect={})


def test_a_framework_that_is_missing_is_told_with_the_reason():
    """Most switches were not tried, as the plain trial failed: more time would not help."""
    first = [failing(run) for run in drive(search_of(12), world_of()).runs[:3]]
    search = search_of(12, runs=first)
    assert Decision.OPEN in search.decisions.values()
    assert search.findings.failure == "unsupported: it is not installed"


def test_where_each_switch_fails_the_first_reason_is_told():
    found = drive(search_of(2), world_of(fails={0: Status.OOM, 1: Status.TIMEOUT})).search
    assert found.findings.failure in ("oom: for a test", "timeout: for a test")


def test_where_a_switch_ran_or_nothing_yet_no_failure_is_told(measured):
    assert measured.search.findings.failure is None
    assert search_of().findings.failure is None


def test_one_read_at_import_that_is_slower_alone_lost_no_race(monkeypatch):
    """Two of these enter the screen; the others come in with the elimination, if they are not slower alone."""
    for number in range(3):
        lever = Lever(name=f"made_{number:02}", words=f"lever {number}", level=Level.ENVIRONMENT)
        monkeypatch.setitem(LEVERS, lever.name, lever)
    found = drive(search_of(), world_of()).search
    assert found.races == ()
    assert found.decisions[switch(2)] is Decision.NOT_FASTER_ALONE


def test_a_run_with_a_lever_that_is_not_tried_is_none_of_the_search(measured):
    """As a lever that an older search had: without it, such a run would count as one of the plain trial."""
    runs = measured.runs
    other = [replace(run, trial=run.trial.pulled("made_09", "on")) for run in runs if not run.trial.levers]
    assert len(replace(measured.search, runs=[*runs, *other]).known.ran) == len(measured.search.known.ran)


def test_slow_ways_are_measured_and_never_kept():
    slow = switch(2)
    search = Search(START, Candidates(switches=switches(2), already_on=(slow,)), slow_blocks=6)
    found = drive(search, world_of()).search
    (lost,) = found.findings.slow_ways
    assert lost.alone.outcome is Outcome.SLOWER
    assert kept(found) == {0, 1}


@pytest.mark.parametrize(("asked", "counted"), [(1, 1), (9, 9), (15, 9)])
def test_more_fresh_blocks_than_are_usual_make_no_stage_smaller(asked, counted):
    assert max(sizes.confirm for sizes in options(8, asked)) == counted
