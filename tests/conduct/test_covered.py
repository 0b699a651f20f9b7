"""How many blocks of each group the record of a session tells."""

import math
from dataclasses import replace

from study_data import make_run, make_trial
from trainspeed.conduct.covered import covered
from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.timetable import Timetable

PLAIN, FAST, LESS = (make_trial(batch_size=size) for size in (1, 2, 4))


def group(*trials, blocks=2):
    members = tuple(
        tuple(Planned(block=b, label="recipe", trial=t.in_block(b)) for t in trials) for b in range(blocks)
    )
    return PlannedGroup(name="fresh", core=True, around=False, blocks=members)


def ran(*trials, block, seconds=1.0):
    return [
        make_run(trial=trial.in_block(block), block=block, label="recipe", stages_s={"train": seconds})
        for trial in trials
    ]


def test_what_one_group_measured_is_no_block_of_another_that_has_the_same_arms_and_more():
    """Of a search: plain against all together, and once more with what leaves one out."""
    both, wider = group(PLAIN, FAST), group(PLAIN, FAST, LESS)
    table = Timetable(groups=[wider, both], block_s=lambda group: 1.0)

    def blocks(runs):
        return [one.blocks for one in covered("s", "layout", table, runs, budget_s=1, spent_s=1).groups]

    runs = [*ran(PLAIN, FAST, block=0), *ran(PLAIN, FAST, block=1)]
    assert blocks(runs) == [0, 2]
    assert blocks([*runs, *ran(LESS, block=1)]) == [1, 2]
    assert blocks([]) == [0, 0]


def test_the_time_to_ask_for_is_enough_for_what_the_core_lacks():
    """A control of one block was to have three times its study's time, and needed five times that for six blocks."""
    begun, late = group(PLAIN, FAST, blocks=6), group(LESS, blocks=6)
    table = Timetable(groups=[begun, late], block_s=lambda group: 1.0)
    runs = ran(PLAIN, FAST, block=0, seconds=50.0)

    coverage = covered("s", "layout", table, runs, budget_s=100.0, spent_s=110.0)

    assert [one.block_s for one in coverage.groups] == [100.0, None]
    assert coverage.ampler_minutes(6) == math.ceil((110 + 5 * 100) / 60)
    assert replace(coverage, groups=coverage.groups[1:]).ampler_minutes(6) == 5
