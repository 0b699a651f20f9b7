"""Nodes that train together, here two runs of one worker that meet at this machine's own address."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from study_data import tiny_trial
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.run import Status
from trainspeed.sensors.machine import logical_cores
from trainspeed.sensors.network import free_port, interface_of
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.gang import Gang

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]

LOCALHOST = "127.0.0.1"
SHARED = {"devices": 2, "batch_size": 16, "images_per_epoch": 64, "epochs": 3}
ONE_NODE = {
    "torch": tiny_trial(strategy="ddp", **SHARED),
    # With little to compile.
    "jax": tiny_trial(
        framework="jax", strategy="data_parallel", model="cnn_keras", **SHARED | {"image_size": 12}
    ),
}
TWO_NODES = {framework: replace(trial, nodes=2) for framework, trial in ONE_NODE.items()}
ASKED = ("turns", "evaluate", "inspect")  # of node 0 alone
SUMS = {"torch": "probes.gang_sums", "jax": "probes.jax_sums"}


def learned(folder: Path) -> dict[int, dict[str, float]]:
    """Return rank, or node of JAX -> how many epochs it trained, its loss, and the sum of its weights."""
    return {int(path.stem): json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.fixture(scope="module")
def on_one_node(shared_worker, tmp_path_factory):
    """A function that returns what two devices of one node learn, and how accurate their model is."""

    @cache
    def on_one_node(framework):
        folder = tmp_path_factory.mktemp("one node")
        environment = {"TRAINSPEED_TEST_OUT": str(folder)}
        outcome = shared_worker(framework).run(
            ONE_NODE[framework], environment=environment, plant=SUMS[framework], evaluate=True
        )
        assert outcome.status == Status.OK, outcome.reason
        return learned(folder), outcome.result.test_accuracy

    return on_one_node


def begun(worker, **told):
    """Return the two runs of a trial on two nodes, begun: node 0's takes turns, and the other follows it."""
    trial = TWO_NODES[worker.framework]
    gang = Gang(addresses=(LOCALHOST,) * 2, port=free_port(LOCALHOST), interface=interface_of(LOCALHOST))
    return [
        worker.begin(trial, gang=replace(gang, node=node), **dict.fromkeys(ASKED, node == 0), **told)
        for node in (0, 1)
    ]


def end_of(run, *turns: TakeTurn) -> RunOutcome:
    run.rests()
    for turn in turns:
        run.take_turn(turn)
    run.finish()
    return run.end()


@pytest.mark.parametrize("framework", ONE_NODE)
def test_two_nodes_learn_what_two_devices_of_one_learn(shared_worker, tmp_path, on_one_node, framework):
    """Node 0 rests after two epochs, and so does the other, which knows of no turns."""
    environment = {"TRAINSPEED_TEST_OUT": str(tmp_path)}
    leads, follows = begun(shared_worker(framework), environment=environment, plant=SUMS[framework])
    outcome = end_of(leads, TakeTurn(epochs=1))

    assert (outcome.status, outcome.reason) == (Status.OK, None)
    assert [len(turn.epoch_s) for turn in outcome.result.turns] == [1]
    assert follows.end().status == Status.OK
    expected, accuracy = on_one_node(framework)
    if framework == "torch":
        assert len({rank["loss"] for rank in expected.values()}) == 2, "each rank has images of its own"
    # JAX adds up in another order over gloo than within a process.
    rounding = 0 if framework == "torch" else 1e-6
    for node, sums in learned(tmp_path).items():
        assert sums == pytest.approx(expected.get(node, expected[0]), rel=rounding, abs=0)
    assert [*sorted(learned(tmp_path))] == [0, 1]
    assert outcome.result.test_accuracy == accuracy
    assert outcome.result.layers and outcome.result.effective_layout
    assert not shared_worker(framework).processes()


@pytest.mark.parametrize(
    ("action", "status", "reason"),
    [
        ("die", Status.CRASHED, "on another node a rank ended without a word"),
        ("run out of memory", Status.OOM, "rank 1: MemoryError: cannot allocate memory in ./lib"),
    ],
)
def test_a_node_that_fails_ends_the_run_with_its_words(shared_worker, action, status, reason):
    """They come without that node's own names and paths, which no other one knows."""
    worker = shared_worker("torch")
    leads, follows = begun(
        worker, environment={"TRAINSPEED_TEST_RANK": action}, plant="probes.failing_ranks", timeout_s=60
    )
    outcome = end_of(leads)

    assert outcome.status == status and reason in outcome.reason
    assert outcome.failure.stage == "train"
    assert follows.end().status in (Status.CRASHED, status)
    assert not worker.processes()


def test_a_trial_for_several_nodes_needs_them(shared_worker):
    outcome = shared_worker("torch").run(TWO_NODES["torch"])

    assert (outcome.status, outcome.reason) == (
        Status.UNSUPPORTED,
        "it is for 2 nodes, not for 1: measure it with a fleet",
    )


def test_tensorflow_says_why_it_does_not_train_on_several_nodes(shared_worker):
    mirrored = tiny_trial(framework="tensorflow", strategy="mirrored", nodes=2, **SHARED)
    outcome = shared_worker("tensorflow").run(mirrored)

    assert outcome.status == Status.UNSUPPORTED
    assert "MultiWorkerMirroredStrategy" in outcome.reason


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_the_same_training_runs_under_a_launcher_on_two_nodes(shared_worker, tmp_path, on_one_node, launcher):
    """Both ranks are the first of their node: the rank among all is their share of the images."""
    trial = tmp_path / "trial.txt"
    trial.write_text(json.dumps(ONE_NODE["torch"].as_dict()))
    environment = {"TRAINSPEED_TEST_OUT": str(tmp_path)}
    shared_worker("torch").probed("probes.launched_ranks", launcher, trial, environment=environment)

    assert learned(tmp_path) == on_one_node("torch")[0]
