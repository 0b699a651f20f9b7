"""A search whose first looks others disturbed: they are had again, and what they said is left aside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import search_world
from search_world import START, World, drive, switch, switches
from study_data import MACHINE, make_run
from trainspeed.core.result import Turn
from trainspeed.core.run import Role
from trainspeed.judge.verdict import Outcome
from trainspeed.search.candidates import Candidates
from trainspeed.search.feasible import again_groups, alone_fit
from trainspeed.search.known import Known
from trainspeed.search.search import Search
from trainspeed.search.stages import FEASIBLE_BLOCKS
from trainspeed.search.switch import Switch, plain_trial

SLOWED = 1.8  # times as long takes a trial of two threads, one of whose cores others have
TURNS = 6


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


@dataclass
class Shared(World):
    """A machine on which others have a core while these seeds are measured; lever 0 is one thread, not two.

    Attributes:
        beside: Seeds of the blocks in which they have it all the time.
        partly: Seeds of those in which they have it in half of the turns.
    """

    beside: frozenset[int] = frozenset()
    partly: frozenset[int] = frozenset()

    def run(self, planned):
        found = super().run(planned)
        if not found.epoch_s:
            return found
        one_thread = "made_00" in dict(found.trial.levers)
        turns, seed = [], found.trial.seed
        for number in range(TURNS):
            others = seed in self.beside or (seed in self.partly and number % 2 == 0)
            seconds = found.epoch_s[-1] * (SLOWED if others and not one_thread else 1.0)
            turn = Turn(
                round=number, place=0, start_s=float(number), epoch_s=(seconds,), others_cores=float(others)
            )
            turns.append(turn)
        epoch_s = (found.epoch_s[0], *(turn.epoch_s[0] for turn in turns))
        return replace(found, epoch_s=epoch_s, turns=tuple(turns))


def world_of(*beside, **more):
    gains = {0: -0.4, 1: 0.2}
    return Shared(gains=gains, outliers=0.0, crashes=0.0, beside=frozenset(beside), **more)


def search_of(budget_s=None):
    return Search(START, Candidates(switches=switches(2)), confirm_blocks=6, budget_s=budget_s)


def first_looks(measured):
    return [run.trial.seed for run in measured.runs if run.label == Role.FEASIBLE]


def test_looks_that_others_disturbed_are_had_again_and_the_quiet_ones_tell():
    """Beside them one thread looks 1.2 times as fast, and is two thirds as fast: fresh blocks were of it once."""
    quiet, disturbed = drive(search_of(), world_of()), drive(search_of(), world_of(START.seed))

    assert len({*first_looks(disturbed)}) == len({*first_looks(quiet)}) + 1
    for measured in (quiet, disturbed):
        slower, faster = measured.search.feasible
        assert slower.alone.speedup < 0.8 and faster.alone.speedup > 1.1
        assert measured.search.confirmation.on == (switch(1),)
        assert measured.search.confirmation.total.outcome is Outcome.FASTER


def test_a_look_of_which_enough_turns_were_left_alone_is_had_once():
    quiet, partly = (
        drive(search_of(), world_of(**more)) for more in ({}, {"partly": frozenset([START.seed])})
    )
    assert {*first_looks(partly)} == {*first_looks(quiet)}
    assert partly.search.feasible[0].alone.speedup < 0.8


def test_where_the_second_look_is_disturbed_too_there_is_no_third():
    """A machine that others always use has no quiet look, and what it says is all there is."""
    measured = drive(search_of(), world_of(*range(START.seed, START.seed + 5000)))

    assert len({*first_looks(measured)}) == len({*first_looks(drive(search_of(), world_of()))}) + 1
    assert measured.search.feasible[0].alone.speedup > 1.1


def test_without_time_for_fresh_blocks_behind_it_no_look_is_had_again():
    measured = drive(search_of(), world_of(START.seed))
    looks = [run for run in measured.runs if run.trial.seed == START.seed and run.label == Role.FEASIBLE]
    per_run_s = sum(run.busy_s for run in looks) / len(looks)
    for runs, again in (
        (26, 1),
        (24, 0),
    ):  # 3 looks, 3 again, 2 together, 18 in fresh blocks; a tenth to spare
        search = replace(search_of(1.1 * per_run_s * runs), runs=looks)
        labels = [part.label for part in search.wanted() if part.trials[0].seed != START.seed]
        assert labels.count(Role.FEASIBLE) == again, (runs, labels)
    found = search.feasible
    assert again_groups(search.known, found, FEASIBLE_BLOCKS, disturbed=True)
    assert not again_groups(search.known, found, FEASIBLE_BLOCKS)


ALL, ONE = ("threads", "all"), ("threads", "one")
PLAIN = plain_trial(
    "torch", "cnn10", batch_size=16, images_per_epoch=64, epochs=3, dataset="digits", levers=(ALL,)
)
THREAD = Switch(lever="threads", value="one", settings=(ONE,))
BF16 = Switch(lever="precision", value="bf16", fields=(("precision", "bf16"),))


@pytest.mark.parametrize(
    ("others", "device", "tells"),
    [(1.0, "cpu", {BF16}), (0.0, "cpu", {BF16, THREAD}), (1.0, "gpu", {BF16, THREAD})],
)
def test_beside_others_what_runs_on_fewer_cores_tells_nothing(others, device, tells):
    """A look that there is no time to have again would choose what is confirmed. On a GPU's host cores hardly count."""

    def look(trial):
        turns = [
            Turn(round=n, place=0, start_s=float(n), epoch_s=(1.0,), others_cores=others) for n in range(4)
        ]
        own = {"turns": tuple(turns), "machine": MACHINE | {"device": device}, "label": Role.FEASIBLE}
        own |= {"in_effect": dict.fromkeys(("threads", "precision"), ("one", "as asked"))}
        return make_run(trial=trial, study="switches", **own)

    looks = [look(trial) for trial in (PLAIN, THREAD.on(PLAIN), BF16.on(PLAIN))]
    known = Known(PLAIN, (THREAD, BF16), looks)

    assert {switch for arm in known.arms(Role.FEASIBLE) for switch in arm.on} == tells
    assert {*alone_fit(known, known.switches).log} == tells
    search = Search(PLAIN, Candidates(switches=(THREAD, BF16)), runs=looks)
    words = "undecided, as other processes had a core in its only look"
    assert (str(search.decisions[THREAD]) == words) == (THREAD not in tells)
    assert search.decisions[THREAD].is_open or THREAD in tells
