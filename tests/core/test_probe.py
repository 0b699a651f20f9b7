"""A probe as a trial: its JSON, its mistakes, its words, and its line in the ledger."""

import json

import pytest

from study_data import MACHINE
from trainspeed.core.convolution import trial_from_dict
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import read_run
from trainspeed.core.probe import PROBES, Probe
from trainspeed.core.run import Run

PROBE = Probe(framework="torch", name="epoch", devices=2)


def test_json_and_back_gives_the_same_probe():
    data = json.loads(json.dumps(PROBE.as_dict()))
    assert trial_from_dict(data) == PROBE and hash(trial_from_dict(data)) == hash(PROBE)


def test_a_probe_of_an_older_version_has_no_rounds_in_its_line():
    data = {name: value for name, value in PROBE.as_dict().items() if name != "rounds"}
    assert trial_from_dict(data) == PROBE


def test_nothing_of_it_depends_on_the_block():
    assert PROBE.in_block(3) == PROBE.spec == PROBE.graph_key == PROBE
    assert not PROBE.phase.of_model and not PROBE.phase.compared


@pytest.mark.parametrize("wrong", [{"framework": "torhc"}, {"name": "epohc"}, {"devices": 0}, {"rounds": 0}])
def test_a_mistake_is_named(wrong):
    (value,) = wrong.values()
    with pytest.raises(UserError, match=str(value)):
        Probe(**{**PROBE.as_dict(), **wrong})


def test_it_is_described_by_framework_task_and_devices():
    assert PROBE.describe() == ["PyTorch", PROBES["epoch"], "2 devices"]


def test_what_it_measured_comes_back_from_the_ledger():
    values = {"wall_s": (1.0, 2.5), "kernel": "sgemm", "seen": True, "bytes": 2.0**28, "device_s": None}
    run = Run(session="s", study="check", trial=PROBE, block=0, machine=MACHINE, probe=values)
    line = json.dumps(run.as_dict(), allow_nan=False).encode()
    assert read_run(line, {}) == run


def test_a_line_without_a_probe_has_no_values():
    run = Run(session="s", study="check", trial=PROBE, block=0)
    line = run.as_dict()
    del line["probe"]
    assert read_run(json.dumps(line).encode(), {}).probe == {}
