"""How many blocks of each group the record of a session tells."""

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


def ran(*trials, block):
    return [make_run(trial=trial.in_block(block), block=block, label="recipe") for trial in trials]


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
