"""The search ends, whatever fails; resumed or rendered it says the same; in any world it keeps what gains."""

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recipe_world import ORDER, PLANTED, SWITCHES, World, decisions, drive, greedy, kept, search_of, start_of
from trainspeed.core.run import Role, Status
from trainspeed.studies.summary.recipe import Decision, Search, continued
from trainspeed.studies.summary.switches import Switch

ALL = tuple(SWITCHES)


# What fails.


def failing(factor, status, blocks=range(100), label=None):
    """Return a `fails` for the trials that have a switch on, in these blocks."""

    def fails(planned):
        on = factor is None or factor in World().on(planned.trial)
        return status if on and planned.block in blocks and (label in (None, planned.label)) else None

    return fails


@pytest.mark.parametrize(
    "status", [Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED, Status.CRASHED, Status.INVALID]
)
@pytest.mark.parametrize("blocks", [range(6), [3]])
def test_a_switch_that_fails_is_left_out_and_the_search_goes_on(status, blocks):
    measured = drive(search_of(*ORDER), replace(PLANTED, fails=failing("layout", status, blocks)))

    assert kept(measured.search) == ["precision", "devices"]
    step = measured.search.steps[1]
    assert (step.decision, step.reason) == (Decision.FAILED, f"{status}: for a test")
    assert measured.search.total().speedup == pytest.approx(1.5 * 1.4, rel=0.01)


@pytest.mark.parametrize("status", [Status.OOM, Status.CRASHED])
def test_it_ends_where_the_plain_trial_fails(status):
    measured = drive(search_of(*ORDER), replace(PLANTED, fails=failing(None, status)))
    assert set(decisions(measured.search).values()) == {Decision.FAILED}
    assert measured.search.confirming is None
    assert measured.rounds == len(ORDER)


def test_it_ends_where_the_framework_is_missing_and_the_other_search_goes_on():
    both = [search_of(*ORDER), search_of("precision", start=start_of("tensorflow"))]
    measured = drive(both, replace(PLANTED, missing=("torch",)))

    assert [run.trial.framework for run in measured.runs].count("torch") == 1
    assert measured.searches[0].total() is None
    assert kept(measured.searches[1]) == ["precision"]


@pytest.mark.parametrize("status", [Status.OOM, Status.CRASHED])
def test_it_ends_where_the_confirmation_fails(status):
    measured = drive(search_of("layout"), replace(PLANTED, fails=failing(None, status, label=Role.RECIPE)))
    assert kept(measured.search) == ["layout"]
    assert measured.search.total().speedup is None
    assert measured.search.failed.status == status
    assert measured.search.wanted() == []


def test_a_batch_that_the_devices_cannot_share_is_told_and_not_measured():
    three = Switch(factor="devices", fields=(("devices", 3), ("strategy", "ddp")))
    search = Search(start_of(), [three, SWITCHES["layout"]], 6)
    measured = drive(search, PLANTED)

    assert kept(measured.search) == ["layout"]
    assert measured.search.steps[0].reason.startswith("batch_size (=16) must be divisible by devices (=3)")
    assert {run.trial.devices for run in measured.runs} == {1}


# Resumed and rendered.


@pytest.mark.parametrize("end", [0, 1, 7, 12, 13, 30, 55, 71, 10_000])
def test_a_resumed_search_ends_as_if_it_had_not_been_interrupted(end):
    whole = drive(search_of(*ORDER), PLANTED)
    resumed = drive(search_of(*ORDER), PLANTED, done=whole.runs[:end])
    assert resumed.search.steps == whole.search.steps
    assert {run.key for run in resumed.runs} == {run.key for run in whole.runs}
    half_a_pair = end % 2 if end < len(whole.runs) else 0
    assert len(resumed.planned) == max(0, len(whole.runs) - end) + half_a_pair, (
        "a pair is measured in one start"
    )


def test_what_crashed_and_was_measured_again_counts_once():
    """A crash is tried again when a session is resumed, and then decides nothing."""
    crashed = drive(search_of("layout"), replace(PLANTED, fails=failing("layout", Status.CRASHED, [2])))
    assert kept(crashed.search) == []
    again = drive(search_of("layout"), PLANTED, done=crashed.runs)
    assert kept(again.search) == ["layout"]
    assert again.search.total().blocks == 6


def test_the_order_of_the_runs_does_not_matter():
    whole = drive(search_of(*ORDER), PLANTED)
    shuffled = random.Random(1).sample(whole.runs, len(whole.runs))
    assert continued([search_of(*ORDER)], shuffled)[0].steps == whole.search.steps


def test_a_switch_that_is_not_tried_any_more_hides_no_other():
    """A page may be rendered where there are fewer devices: a step is found by its factor, not its number."""
    measured = drive(
        Search(
            start_of(),
            [Switch(factor="devices", fields=(("devices", 3), ("strategy", "ddp"))), SWITCHES["layout"]],
            6,
        ),
        PLANTED,
    )
    rendered = continued([search_of("layout")], measured.runs)[0]
    assert kept(rendered) == ["layout"]


def test_a_plain_trial_may_leave_its_data_set_open():
    """`study.measure` names it: that of the model's own file, for example."""
    search = search_of("layout", start=start_of(dataset="auto"))
    runs = [replace(r, trial=replace(r.trial, dataset="own")) for r in drive(search, PLANTED).runs]
    assert kept(continued([search], runs)[0]) == ["layout"]


# Any world.


@settings(derandomize=True, max_examples=150, deadline=None)
@given(data=st.data())
def test_in_any_world_it_keeps_what_a_search_without_noise_keeps_and_ends(data):
    factors = data.draw(st.permutations(ALL)), data.draw(st.integers(0, len(ALL)))
    search = search_of(*factors[0][: factors[1]], blocks=data.draw(st.integers(6, 9)))
    sizes = st.sampled_from([0.6, 0.9, 1.0, 1.1, 1.3, 2.0])
    pairs = st.tuples(st.sampled_from(ALL), st.sampled_from(ALL)).filter(lambda pair: pair[0] < pair[1])
    world = World(
        times=data.draw(st.dictionaries(st.sampled_from(ALL), sizes)),
        together=data.draw(st.dictionaries(pairs, sizes, max_size=3)),
        seed=data.draw(st.integers(0, 9)),
    )
    keeps, gains = greedy(world, search)
    assume(not any(1.0 < gain < 1.06 for gain in gains))
    measured = drive(search, world)

    assert kept(measured.search) == keeps
    assert measured.rounds <= len(search.switches) + 1


@settings(derandomize=True, max_examples=150, deadline=None)
@given(data=st.data())
def test_in_any_world_in_which_runs_fail_it_ends(data):
    search = search_of(*data.draw(st.permutations(ALL)), blocks=data.draw(st.integers(1, 7)))
    statuses = [None] * data.draw(st.integers(0, 40)) + [s for s in Status if s != Status.OK]
    seed = data.draw(st.integers(0, 1000))

    def fails(planned):
        return random.Random(f"{seed}:{planned.key}").choice(statuses)

    measured = drive(search, replace(PLANTED, fails=fails))
    assert measured.rounds <= len(search.switches) + 1
    assert all(not step.decision.keeps or step.time.low > 1.02 for step in measured.search.steps)
