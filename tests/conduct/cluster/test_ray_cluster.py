"""What of Ray is switched off in a driver; nothing is connected here: `test_ray_fleet.py` does that."""

from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from trainspeed.conduct.cluster import ray_cluster
from trainspeed.core.errors import UserError


@pytest.fixture
def connected(monkeypatch):
    """Whether Ray was connected, in place of connecting it."""
    calls = []
    monkeypatch.setattr(ray_cluster.ray, "init", lambda **how: calls.append(how))
    return calls


def test_a_driver_runs_none_of_what_prints_the_errors_of_ray(connected, monkeypatch):
    """The name is that of the pinned version: with another one, look for where it prints them."""
    listener = getattr(ray_cluster.ray._private.worker, ray_cluster.LISTENER)
    monkeypatch.setattr(
        ray_cluster.ray._private.worker, ray_cluster.LISTENER, listener
    )  # put back at the end
    ray_cluster.RayCluster("127.0.0.1:6379")
    worker_without_a_connection = object()
    ray_cluster.ray._private.worker.listen_error_messages(worker_without_a_connection, None)
    assert len(connected) == 1


@pytest.mark.parametrize("private", [None, SimpleNamespace(), SimpleNamespace(worker=SimpleNamespace())])
def test_another_version_without_that_name_is_connected_as_it_is(connected, monkeypatch, private):
    monkeypatch.setattr(ray_cluster.ray, "_private", private)
    ray_cluster.RayCluster("127.0.0.1:6379")
    assert len(connected) == 1
    assert not hasattr(getattr(private, "worker", None), ray_cluster.LISTENER)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "No node info found matching attributes: '10.0.0.7'",
            "^no node of that head runs on this machine: ",
        ),
        ("Connection refused", "^the head no longer answers, or has another token"),
    ],
)
def test_why_there_is_no_connection_is_told_without_an_address(monkeypatch, said, told):
    """Started where no node runs, the command was said to have another token, or a head that is gone."""

    def refuse(**how):
        raise ConnectionError("Failed to connect to Ray cluster at 10.0.0.5:6379") from RuntimeError(said)

    monkeypatch.setattr(ray_cluster.ray, "init", refuse)
    with pytest.raises(UserError, match=told) as problem:
        ray_cluster.RayCluster("10.0.0.5:6379")
    assert "10.0.0" not in str(problem.value)


def test_a_node_that_is_lost_as_it_begins_may_be_one_behind_a_firewall(monkeypatch):
    """To Ray both are the same."""

    def lose(reference, timeout):
        raise ray_cluster.RayActorError

    monkeypatch.setattr(ray_cluster.ray, "get", lose)
    actor = SimpleNamespace(ready=SimpleNamespace(remote=lambda: None))
    with pytest.raises(
        UserError, match=r"^a10g-1 was lost as it began: .* or the head cannot reach its ports"
    ):
        ray_cluster._wait_for(actor, "a10g-1")
