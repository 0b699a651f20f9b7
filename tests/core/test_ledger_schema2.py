"""A line of schema 2 is of one machine, which had no name: what it says of nodes was ignored, and still is."""

import json

import pytest

from study_data import make_run
from trainspeed.core.ledger_line import read_run, what_is_wrong
from trainspeed.core.run import SCHEMA
from trainspeed.core.trial import Trial


def line_of(schema, *, trial=None, **changed):
    """Return a line of two ranks of ddp, with these changes of the line and of its trial."""
    run = make_run(strategy="ddp", devices=2).as_dict()
    written = Trial.as_dict(make_run(strategy="ddp", devices=2).trial) | (trial or {})
    return json.dumps({**run, "schema": schema, **changed, "trial": written}).encode()


@pytest.mark.parametrize(
    "more", [{}, {"node": "a10g-2"}, {"node": 7}, {"trial": {"nodes": 2}}, {"trial": {"nodes": "x"}}]
)
@pytest.mark.parametrize("schema", [1, 2])
def test_a_line_from_before_there_were_nodes_reads_as_it_did(schema, more):
    run = read_run(line_of(schema, notes=[], effective_layout=None, effective_precision=None, **more), {})

    assert run == make_run(strategy="ddp", devices=2)
    assert (run.node, run.trial.nodes, run.schema) == (None, 1, SCHEMA)


def test_a_line_without_the_fields_is_read():
    line = json.loads(line_of(2))
    del line["node"], line["trial"]["nodes"]

    assert read_run(json.dumps(line).encode(), {}) == make_run(strategy="ddp", devices=2)


def test_a_line_of_now_has_both():
    run = read_run(line_of(SCHEMA, node="a10g-2", trial={"nodes": 2}), {})

    assert (run.node, run.trial.nodes, run.trial.devices_per_node) == ("a10g-2", 2, 1)


@pytest.mark.parametrize(
    "node", ["a10g", "a10g-0", "a10g-01", "10.0.0.5:6379", "a/b-1", "<b>-1", "x\n-1", "-1", 7, ""]
)
def test_a_node_is_the_name_of_a_machine_of_the_fleet_and_a_number(node):
    with pytest.raises(ValueError) as caught:
        read_run(line_of(SCHEMA, node=node), {})

    assert what_is_wrong(caught.value).startswith("node: ")
