"""Whether nodes that shared blocks are as fast as one another: by made-up runs of the A/A control."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.run import Role
from trainspeed.judge.nodes import node_doubts


def control(node, epoch_s, blocks=range(6)):
    return [
        make_run(epoch_s + block / 1000, block=block, label=label, node=node)
        for block in blocks
        for label in (Role.CONTROL, Role.CONTROL_AGAIN)
    ]


def test_a_slower_node_is_named_with_how_much():
    doubts = node_doubts([*control("a10g-1", 0.5, range(8)), *control("a10g-2", 0.55)])

    assert len(doubts) == 1
    assert doubts[0].startswith("a10g-2 is 10 % slower than a10g-1 at the A/A control (")


@pytest.mark.parametrize(
    "runs",
    [
        [*control("a10g-1", 0.5), *control("a10g-2", 0.502)],  # within the margin
        [*control("a10g-1", 0.5), *control("a10g-2", 0.6, range(2))],  # too few for an interval
        [
            *control("a10g-1", 0.5, range(3)),
            *control("a10g-2", 0.6, range(3)),
        ],  # both arms of a block are one
        [*control(None, 0.5), *control(None, 0.6)],  # no fleet
    ],
)
def test_equal_nodes_too_few_runs_and_one_machine_are_no_doubt(runs):
    assert node_doubts(runs) == []
