"""Arms that are compared but do not fit into memory together, with workers that only pretend to need some."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

import pytest

from fake_runs import FakeRun
from trainspeed.conduct.alive_together import AliveTogether
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.schedule import schedule
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import NotAllTogether
from trainspeed.core.result import RunResult, Turn
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import Trial
from trainspeed.worker.gang import Gang

TURNS = tuple(Turn(round=number, place=0, start_s=1.0, epoch_s=(1.0,)) for number in range(4))
GOOD = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(2.0, *[1.0] * 5), turns=TURNS))
OOM = RunOutcome(status=Status.OOM, reason="no memory")


class HoldingRun(FakeRun):
    """Holds memory until it has ended."""

    def __init__(self, outcome: RunOutcome, worker: SmallWorker, needs: int) -> None:
        super().__init__(outcome)
        self._worker, self._needs = worker, needs
        if self.outcome is None:
            worker.held += needs

    def finish(self) -> None:
        self._worker.held -= self._needs
        super().finish()

    def stop(self) -> None:
        self._worker.held -= self._needs
        super().stop()


@dataclass
class SmallWorker:
    """Has some memory, of which a run takes as much as its batch size; keeps the batch sizes that it began."""

    memory: int
    held: int = 0
    begun: list[int] = field(default_factory=list)
    versions: dict = field(default_factory=dict)
    alive: bool = True

    def wait_until_ready(self) -> None:
        pass

    def begin(self, request, timeout_s) -> HoldingRun:
        needs = request.trial.batch_size
        self.begun.append(needs)
        return HoldingRun(OOM if self.held + needs > self.memory else GOOD, self, needs)

    def close(self) -> None:
        pass


@pytest.fixture
def measure(measure_planned):
    """A function that measures a block of batch sizes with so much memory; every later one goes on."""
    return lambda worker, *batch_sizes, **changes: measure_planned(worker, group_of(*batch_sizes, **changes))


class OtherNode:
    """A second node that follows whatever it is asked to."""

    nodes, addresses, gang = 2, (), Gang(addresses=("10.0.0.1", "10.0.0.2"), port=1)

    def begin(self, request, limit_s):
        return self

    def follow(self, run):
        pass

    def ended(self, outcome):
        return outcome


@pytest.fixture
def measure_planned(tmp_path):
    """A function that measures some planned runs with so much memory; every later one goes on."""
    runners: list[Runner] = []

    def measure(worker, planned):
        runners[:] = runners or [
            Runner(
                ledger=Ledger(tmp_path),
                session="s1",
                study="layout",
                device="cpu",
                machine={},
                start=lambda *_: worker,
                timeout_s=9,
                gangs=OtherNode(),
            )
        ]
        return runners[0].measure_group(planned)

    return measure


def group_of(*batch_sizes, layouts=("channels_last",), controls=(), bf16=()):
    trials = tuple(
        Trial(
            framework="torch",
            model="cnn10",
            layout=layout,
            images_per_epoch=1024,
            batch_size=size,
            epochs=3,
            precision="bf16" if size in bf16 else "fp32",
        )
        for size in batch_sizes
        for layout in layouts
    )
    twice = tuple(trial for trial in trials if trial.batch_size in controls)
    both = TrialSet(trials=trials, controls=twice, blocks=1, factors=("batch_size", "layout", "precision"))
    return schedule([both], seed=0)


def across_nodes(*batch_sizes, nodes=2):
    """Return a block of one device and, at each batch size, of as many nodes."""
    alone = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_last",
        images_per_epoch=1024,
        batch_size=8,
        epochs=3,
    )
    spread = [
        replace(alone, batch_size=size, devices=nodes, nodes=nodes, strategy="ddp") for size in batch_sizes
    ]
    factors = ("batch_size", "devices", "nodes", "strategy")
    return schedule([TrialSet(trials=(alone, *spread), blocks=3, factors=factors)], seed=0)


def subgroups(runs):
    """Subgroup -> the batch sizes that were alive together."""
    found: dict[int, set[int]] = {}
    for run in runs:
        found.setdefault(run.subgroup, set()).add(run.trial.batch_size)
    return found


def notes(runs):
    return {note for run in runs for note in run.notes}


def test_what_fits_together_is_one_group_without_a_note(measure):
    runs = measure(SmallWorker(memory=100), 8, 16, 32)

    assert subgroups(runs) == {0: {8, 16, 32}}
    assert notes(runs) == set()


def test_a_group_that_does_not_fit_takes_turns_in_halves_and_each_run_says_so(measure):
    runs = measure(SmallWorker(memory=32), 8, 9, 15, 16)

    assert [run.status for run in runs] == [Status.OK] * 4
    assert [len(sizes) for sizes in subgroups(runs).values()] == [2, 2]
    assert notes(runs) == {NotAllTogether(arms=4, together=2)}
    assert all(run.turns and run.group == 0 for run in runs)


def test_two_subgroups_were_not_alive_with_each_other(measure):
    runs = measure(SmallWorker(memory=32), 8, 9, 15, 16)

    alive_with = {run.alive_with for run in runs}
    assert len(alive_with) == 2


def test_only_what_does_not_fit_in_smaller_groups_runs_one_after_the_other(measure):
    runs = measure(SmallWorker(memory=17), 13, 14, 15, 16)

    assert sorted(map(len, subgroups(runs).values())) == [1] * 4
    assert notes(runs) == {NotAllTogether(arms=4, together=1)}


def test_later_blocks_begin_with_the_groups_that_fit(measure):
    worker = SmallWorker(memory=32)
    first = measure(worker, 8, 9, 15, 16)
    worker.begun.clear()
    second = measure(worker, 8, 9, 15, 16)

    assert subgroups(second) == subgroups(first)
    assert len(worker.begun) == 4, "none was begun in vain"


def test_one_that_does_not_even_fit_alone_leaves_and_the_others_are_together_again(measure):
    worker = SmallWorker(memory=60)
    first = measure(worker, 8, 16, 32, 64)
    second = measure(worker, 8, 16, 32, 64)

    assert {run.trial.batch_size: run.status for run in first} == {
        **dict.fromkeys((8, 16, 32), Status.OK),
        64: Status.OOM,
    }
    assert subgroups(second) == {0: {8, 16, 32}}
    assert notes(second) == set()


def test_nothing_is_lost_or_measured_twice_however_much_memory_there_is(measure, tmp_path):
    runs = measure(SmallWorker(memory=40), 1, 2, 3, 20, 30, 39, 40)

    assert sorted(run.trial.batch_size for run in runs) == [1, 2, 3, 20, 30, 39, 40]
    assert [run.key for run in Ledger(tmp_path).read()[0]] == [run.key for run in runs]


def test_halves_keep_those_together_that_differ_least(measure):
    """In whatever order the block has them."""
    layouts = ("channels_first", "channels_last")
    runs = measure(SmallWorker(memory=32), 8, 9, layouts=layouts, bf16=(9,))

    assert sorted(map(sorted, subgroups(runs).values())) == [[8], [9]]


def test_a_control_is_parted_before_a_comparison_is(measure):
    """Its second half is data of no verdict."""
    runs = measure(SmallWorker(memory=24), 8, 9, controls=(9,))

    together = [
        {one.label, other.label} for one, other in combinations(runs, 2) if one.alive_with == other.alive_with
    ]
    assert together == [{Role.DATA, Role.CONTROL}]


def test_only_one_arm_of_several_nodes_is_alive_at_a_time(measure_planned):
    """A node follows one run at a time: the follower of a second one would never begin."""
    block = [one for one in across_nodes(16, 32, 64) if one.block == 0]
    runs = measure_planned(SmallWorker(memory=1000), block)

    assert [run.status for run in runs] == [Status.OK] * 4
    assert sorted(map(sorted, subgroups(runs).values())) == [[8, 16], [32], [64]]
    assert notes(runs) == {NotAllTogether(arms=4, together=2), NotAllTogether(arms=4, together=1)}


def test_a_single_arm_of_several_nodes_stays_in_turns(measure_planned):
    block = [one for one in across_nodes(16) if one.block == 0]
    runs = measure_planned(SmallWorker(memory=1000), block)
    assert (subgroups(runs), notes(runs)) == ({0: {8, 16}}, set())


def test_the_same_arm_of_several_nodes_stays_in_turns_in_every_block():
    planned = across_nodes(16, 32, 64)
    blocks = [[one for one in planned if one.block == number] for number in range(3)]
    groups = [AliveTogether().groups(order) for block in blocks for order in (block, block[::-1])]

    assert len({frozenset(one.trial.batch_size for one in first) for first, *_ in groups}) == 1
    assert {len(of_block) for of_block in groups} == {3}


def test_what_is_alive_with_an_arm_of_several_nodes_is_halved_where_memory_is_short(measure_planned):
    block = [one for one in across_nodes(16, 20) if one.block == 0]
    runs = measure_planned(SmallWorker(memory=20), block)
    assert sorted(map(sorted, subgroups(runs).values())) == [[8], [16], [20]]
