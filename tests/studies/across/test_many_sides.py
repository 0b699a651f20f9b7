"""A thousand sides cost ten times what a hundred cost: nothing compares each with each."""

from collections import Counter

import pytest

from sides_data import blocks, common_of
from trainspeed.studies.across import answers, facts, jobs, pairs, ranking, tables
from trainspeed.studies.across.common import unmatched_sentences

BATCHES = (16, 32)


def sides(count):
    """Return as many sides, the later the slower, each with a trial of its own."""
    return {
        f"n{number:03}": [
            run
            for batch_size in (*BATCHES, 33 + number)
            for run in blocks(1 + number, batch_size=batch_size, images_per_epoch=2048, session=f"s{number}")
        ]
        for number in range(count)
    }


@pytest.fixture
def judged(monkeypatch):
    """How often a pair of sides was judged, by each module."""
    calls = Counter()
    for module in (jobs, pairs, ranking):
        judge = module.judge_unpaired

        def counting(*seconds, name=module.__name__, judge=judge):
            calls[name] += 1
            return judge(*seconds)

        monkeypatch.setattr(module, "judge_unpaired", counting)
    return calls


def compared(count):
    common = common_of(**sides(count))
    prices = dict.fromkeys(common.sides, 1.0)
    found = jobs.find_jobs(common, prices)
    order = jobs.best_first(common, found)
    answers.answer_blocks(found)
    pairs.against_first(common)
    return common, found, order


@pytest.mark.parametrize("count", [10, 40])
def test_the_work_grows_with_the_number_of_sides(judged, count):
    compared(count)

    assert judged[pairs.__name__] == len(BATCHES) * (count - 1)
    for module in (jobs, ranking):
        assert judged[module.__name__] <= 2 * count, (
            "by speed and by price: against the reference, or with the best"
        )


def test_what_is_said_and_shown_of_very_many_sides_does_not_grow_with_them():
    common, found, order = compared(40)
    known = {side: facts.facts(runs) for side, runs in common.runs.items()}
    shown = tables.shown_sides(order, common.first)

    assert len(shown) == tables.MOST_SIDES
    assert facts.difference_sentences(known) == []
    assert len(answers.answer_blocks(found)) <= 4
    assert len(pairs.decided_sentences(pairs.against_first(common))) == pairs.MOST_SENTENCES + 1
    assert len(unmatched_sentences(common)) == len(common.sides) - 1
