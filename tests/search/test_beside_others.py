"""A search beside other processes, which have one of two cores: what takes one thread tells nothing then."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import pytest

from search_world import drive
from study_data import make_run
from trainspeed.core.result import Turn
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.trial import Trial
from trainspeed.search.candidates import Candidates
from trainspeed.search.feasible import SEEDS_APART, alone_fit, feasible
from trainspeed.search.findings import Decision
from trainspeed.search.known import Known
from trainspeed.search.search import Search
from trainspeed.search.sizes import costs_of, long_switches
from trainspeed.search.switch import Switch, plain_trial
from trainspeed.studies.switches.answer import answer_sentences
from trainspeed.studies.switches.views import effect_rows

FIELDS = {"batch_size": 16, "images_per_epoch": 64, "epochs": 3, "dataset": "digits"}
PLAIN = plain_trial("torch", "cnn10", levers=(("threads", "all"),), **FIELDS)
BF16 = Switch(lever="precision", value="bf16", fields=(("precision", "bf16"),))
DEVICES = Switch(lever="devices", value="2", fields=(("devices", 2), ("strategy", "ddp")))
BF16_TRIAL = replace(PLAIN, precision="bf16")
ALWAYS = range(100_000)
SLOWED = 1.8  # times as long takes a trial of two threads, one of whose cores others have
TURNS = 6
RUN_S = 2.4
SHORT_RUNS = 32  # looks, 18 runs in fresh blocks, and a few more


def threads(value: str) -> Switch:
    return Switch(lever="threads", value=value, settings=(("threads", value),))


@dataclass
class Machine:
    """A machine of two cores, one of which others have at some seeds.

    Attributes:
        beside: Seeds of the blocks in which they have it in all turns.
        partly: Seeds of those in which they have it in half of the turns.
        roles: Of the runs beside which they are.
        crashes: Seed and switch of runs that crash.
        gains: Logarithm of the speed-up of each switch on a quiet machine.
    """

    beside: object = ()
    partly: object = ()
    roles: tuple[Role, ...] = (Role.FEASIBLE, Role.RACE)
    crashes: tuple[tuple[int, Switch], ...] = ()
    gains: dict[Switch, float] = field(default_factory=lambda: {BF16: 0.2, DEVICES: -0.2})

    def run(self, planned) -> Run:
        """Return what a run gives."""
        trial, seed, role = planned.trial, planned.trial.seed, Role.of(planned.label)
        on = [switch for switch in (BF16, DEVICES, threads("one"), threads("half")) if switch.is_on(trial)]
        about = {"trial": trial, "label": planned.label, "block": planned.block, "study": "switches"}
        about["stages_s"] = {"start": 0.1, "train": RUN_S - 0.1}
        if any((seed, switch) in self.crashes for switch in on):
            return make_run(status=Status.CRASHED, **about)
        turns = []
        for number in range(TURNS):
            others = role in self.roles and (seed in self.beside or (seed in self.partly and number % 2 == 0))
            seconds = self._seconds(trial, on, others)
            turns.append(_turn(number, seconds, others))
        epoch_s = (1.0, *(turn.epoch_s[0] for turn in turns))
        seen = {name: (value, "planted") for name, value in trial.levers}
        seen |= {"precision": (trial.precision, "planted"), "devices": (str(trial.devices), "planted")}
        seen |= {"strategy": (trial.strategy, "planted")}
        return make_run(**about, epoch_s=epoch_s, turns=tuple(turns), in_effect=seen)

    def _seconds(self, trial: Trial, on: list[Switch], others: bool) -> float:
        few = {*trial.levers} & {("threads", "one"), ("threads", "half")}
        slowed = SLOWED if others and not few else 1.5 if few else 1.0
        return slowed / math.exp(sum(self.gains.get(switch, 0.0) for switch in on))


def _turn(number: int, seconds: float, others: bool) -> Turn:
    return Turn(round=number, place=0, start_s=float(number), epoch_s=(seconds,), others_cores=float(others))


def searched(machine: Machine, *switches: Switch, budget_s: float | None = None):
    """Return what a search of these switches did."""
    found = Search(PLAIN, Candidates(switches=switches), confirm_blocks=6, budget_s=budget_s)
    return drive(found, machine)


def looks(measured, switch: Switch) -> list[int]:
    """Return the seeds of the looks at a switch alone."""
    return [r.trial.seed for r in measured.runs if r.role is Role.FEASIBLE and switch.is_on(r.trial)]


def _timed_run(trial: Trial, took_s: list[float], *, first_s: float = 1.0, settling_s: float = 0.2) -> Run:
    """Return a look with turns that took so long, and two epochs before them."""
    turns = tuple(
        Turn(round=number, place=0, start_s=20.0 * number, end_s=20.0 * number + s, epoch_s=(s,))
        for number, s in enumerate(took_s)
    )
    epoch_s = (first_s, settling_s, *took_s)
    about = {"label": Role.FEASIBLE, "study": "switches", "stages_s": {"train": sum(epoch_s)}}
    return make_run(trial=trial, turns=turns, epoch_s=epoch_s, **about)


@pytest.mark.parametrize("burst", [{}, {"took_s": [*[0.2] * (TURNS - 1), 11.2]}, {"settling_s": 2.6}])
def test_a_burst_makes_no_switch_look_as_long_as_a_compiler(burst):
    """Two threads waited for each other in it for 11 s: fresh blocks were without the best switch for lack of time."""
    usual = [0.2] * TURNS
    runs = [_timed_run(PLAIN, usual), _timed_run(BF16_TRIAL, **{"took_s": usual} | burst)]
    costs = costs_of([feasible(BF16, Known(PLAIN, (BF16,), runs))])

    assert costs.plain_s == pytest.approx(2.4) and long_switches(costs, (BF16,)) == ()
    assert costs.more_s[BF16] == pytest.approx(0.0)


@pytest.mark.parametrize("slow", [0, 1])
def test_of_two_looks_the_one_that_a_burst_made_longer_does_not_count(slow):
    """What compiles takes its time in each of them."""
    usual = [0.2] * TURNS
    firsts_s = [3.0 if number == slow else 0.4 for number in range(2)]
    runs = [
        replace(_timed_run(trial.in_block(number), usual, first_s=first_s), block=number)
        for number, own_s in enumerate(firsts_s)
        for trial, first_s in ((PLAIN, 0.4), (BF16_TRIAL, own_s))
    ]
    costs = costs_of([feasible(BF16, Known(PLAIN, (BF16,), runs))])

    assert costs.more_s[BF16] == pytest.approx(0.0)


@pytest.mark.parametrize("few", ["one", "half"])
def test_what_has_fewer_threads_is_looked_at_again_and_the_quiet_look_tells(few):
    """Beside others one thread looks 1.2 times as fast as two, and is two thirds as fast."""
    measured = searched(Machine(beside=[PLAIN.seed]), BF16, threads(few))

    assert len(looks(measured, threads(few))) == 2 and len(looks(measured, BF16)) == 1
    fast, slow = measured.search.feasible
    assert slow.alone.speedup == pytest.approx(2 / 3) and slow.alone.blocks == 1
    assert fast.alone.speedup == pytest.approx(math.exp(0.2))
    assert measured.search.confirmation.on == (BF16,)
    assert measured.search.decisions[threads(few)] is not Decision.DISTURBED


def test_a_look_of_which_enough_turns_were_left_alone_is_had_once():
    measured = searched(Machine(partly=[PLAIN.seed]), BF16, threads("one"))

    assert len(looks(measured, threads("one"))) == 1
    assert measured.search.feasible[1].alone.speedup == pytest.approx(2 / 3)


def short_search(machine: Machine, *switches: Switch):
    """Return a search without time for a screen or races."""
    return searched(machine, *switches, budget_s=SHORT_RUNS * RUN_S)


@pytest.mark.parametrize("others", [(BF16,), (BF16, DEVICES), (DEVICES,), ()])
def test_beside_others_at_every_look_it_is_undecided_whatever_it_is_raced_with(others):
    """Of several numbers of devices and one thread only one can be on; the row says what it was, not who won."""
    one = threads("one")
    measured = short_search(Machine(beside=ALWAYS, roles=(Role.FEASIBLE,)), *others, one)
    found = measured.search

    assert len(looks(measured, one)) == 2 and not any(
        r.role in (Role.SCREEN, Role.RACE) for r in measured.runs
    )
    assert found.decisions[one] is Decision.DISTURBED and found.decisions[one].is_open
    assert found.feasible[-1].alone is None and one not in alone_fit(found.known, (one,)).log
    assert one not in found.promising
    (row,) = (row for row in effect_rows([found.findings]).to_dict("records") if row["lever"] == "threads")
    assert row["value"] is None or math.isnan(row["value"])


def test_what_takes_as_many_cores_as_the_plain_setting_tells_beside_others_too():
    measured = short_search(Machine(beside=ALWAYS, roles=(Role.FEASIBLE,)), BF16, DEVICES)
    assert [one.alone.speedup for one in measured.search.feasible] == pytest.approx(
        [math.exp(0.2), math.exp(-0.2)]
    )
    assert PLAIN.seed + SEEDS_APART not in looks(measured, BF16), "no look is had again"


def test_what_the_screen_measured_is_decided_by_it():
    measured = searched(Machine(beside=ALWAYS, roles=(Role.FEASIBLE,)), BF16, threads("one"))
    assert measured.search.decisions[threads("one")] is Decision.NOT_FASTER


def test_pairs_of_a_screen_count_beside_others_too():
    found = searched(Machine(beside=ALWAYS, roles=(Role.SCREEN,)), BF16, threads("one")).search
    assert len(found.known.arms(f"{Role.SCREEN}8")) == 16


def test_races_that_others_spoiled_promise_nothing():
    one = threads("one")
    measured = searched(Machine(beside=ALWAYS), BF16, DEVICES, one)
    (race,) = measured.search.races

    assert any(run.role is Role.RACE for run in measured.runs)
    assert [estimate.switches for estimate in race.estimates] == [(DEVICES,)]
    assert measured.search.decisions[one] is Decision.DISTURBED


def test_a_quiet_look_tells_where_the_races_are_spoiled():
    one = threads("one")
    measured = searched(Machine(beside=ALWAYS, roles=(Role.RACE,)), BF16, DEVICES, one)
    found = measured.search

    assert len(looks(measured, one)) == 1
    assert found.feasible[2].alone.speedup == pytest.approx(2 / 3)
    assert {estimate.switches for estimate in found.races[0].estimates} == {(DEVICES,), (one,)}
    assert found.decisions[one] is Decision.EXCLUDED


def test_a_look_that_ended_well_counts_though_the_next_one_crashed():
    one = threads("one")
    again = PLAIN.seed + SEEDS_APART
    measured = searched(Machine(beside=[PLAIN.seed], crashes=((again, one),)), BF16, one)

    assert looks(measured, one)[:2] == [PLAIN.seed, again]
    assert measured.search.feasible[1].enters


def test_a_search_of_nothing_else_says_to_stop_the_others():
    found = short_search(Machine(beside=ALWAYS, roles=(Role.FEASIBLE,)), threads("one")).search

    (sentence,) = answer_sentences([found.findings])
    assert "undecided: 1 switch of 1 was only measured while other processes had a core" in sentence
    assert str(found.decisions[threads("one")]).startswith("undecided, as other processes had a core")


def test_a_search_that_is_resumed_after_any_run_asks_for_the_same():
    machine, switches = Machine(beside=[PLAIN.seed]), (BF16, DEVICES, threads("one"))
    whole = searched(machine, *switches)
    for had in range(0, len(whole.runs), 5):
        found = Search(PLAIN, Candidates(switches=switches), confirm_blocks=6)
        again = drive(found, machine, whole.runs[:had])
        assert {run.key for run in again.runs} == {run.key for run in whole.runs}
        assert again.search.decisions == whole.search.decisions
