"""The words with which a node is started, and what is said where it cannot be; `test_ray_fleet.py` starts some."""

import os
import signal
import socket
import subprocess
import time

import pytest

from trainspeed.conduct.cluster import credentials, ray_node
from trainspeed.conduct.cluster.node import check_come
from trainspeed.conduct.cluster.ray_node import command, start_node, why_refused
from trainspeed.core.errors import UserError

OTHER_VERSIONS = """RuntimeError: Version mismatch: The cluster was started with:
    Ray: 2.60.0
    Python: 3.11.7
This process on node 10.0.0.9 was started with:
    Ray: 2.60.0
    Python: 3.12.1
"""


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setattr(credentials, "FOLDER", tmp_path / "folder")
    monkeypatch.delenv(credentials.TEXT_VARIABLE, raising=False)
    monkeypatch.delenv(credentials.PATH_VARIABLE, raising=False)
    program = tmp_path / "ray"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(ray_node, "_program", lambda: str(program))
    return tmp_path


def value(words, option):
    return words[words.index(option) + 1]


def test_a_node_offers_all_its_cores_under_its_name():
    words = command("a10g", "10.0.0.5:6379", "10.0.0.6", measures=True, cpus=8)
    assert value(words, "--num-cpus") == "8"
    assert value(words, "--resources") == '{"trainspeed-a10g": 1}'
    assert value(words, "--address") == "10.0.0.5:6379"
    assert "--num-gpus" not in words and "--head" not in words


def test_a_head_offers_nothing_unless_it_is_to_measure():
    words = command("", None, "10.0.0.5", measures=False, cpus=8)
    assert value(words, "--num-cpus") == "0" and value(words, "--num-gpus") == "0"
    assert "--head" in words and "--resources" not in words
    assert value(command("a10g", None, "10.0.0.5", measures=True, cpus=8), "--num-cpus") == "8"


@pytest.mark.parametrize("head", [None, "10.0.0.5:6379"])
def test_what_disturbs_or_tells_others_is_off_and_ports_are_those_of_the_documentation(head):
    words = command("a10g", head, "10.0.0.6", measures=True, cpus=8)
    assert value(words, "--include-log-monitor") == "false" and "--disable-usage-stats" in words
    assert int(value(words, "--object-store-memory")) < 100e6
    ports = [int(value(words, word)) for word in words if word.endswith("-port")]
    assert len(ports) >= 5 and all(6379 <= port <= 6499 for port in ports)


@pytest.mark.parametrize("name", ["", "a b", "-x", "a/b", "..", "ü", "a" * 41, 'a"'])
def test_a_machine_has_a_name_that_fits_a_folder_and_a_page(name):
    with pytest.raises(UserError, match=r"^AS .* must be a machine's name in fleet.yaml"):
        start_node(name, "10.0.0.5", None, measures=True)


def test_an_environment_without_ray_is_told_the_pinned_one(home):
    """Any other version than the head's would be refused next."""
    (home / "ray").unlink()
    with pytest.raises(
        UserError, match=r"not installed here: `make node` does it; .* pip install -e '\.\[fleet\]'"
    ):
        start_node("a10g", "10.0.0.5", None, measures=True)


def test_a_node_without_a_token_is_refused_before_anything_is_reached(monkeypatch):
    monkeypatch.setattr(ray_node.addresses, "check_answers", lambda *_: pytest.fail("was reached"))
    with pytest.raises(UserError, match=r"no token in"):
        start_node("a10g", "10.0.0.5", None, measures=True)


def test_a_head_that_does_not_answer_is_told():
    credentials.make_token()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(UserError, match=r"no head at 127.0.0.1"):
            start_node("a10g", f"127.0.0.1:{silent.getsockname()[1]}", None, measures=True)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "ray.exceptions.AuthenticationError: RPC error: InvalidAuthToken: 10.0.0.5",
            "the head has another token",
        ),
        (
            "cluster has Ray version 2.60.0 but local Ray version is 2.59.0",
            "the head runs Ray 2.60.0; here are Ray 2.59",
        ),
        (OTHER_VERSIONS, "the head runs Ray 2.60.0, Python 3.11.7; here are Ray 2.60.0, Python 3.12.1"),
        (
            "ConnectionError: Ray is trying to start at 10.0.0.5:6379, but is already running",
            "runs on this machine",
        ),
        (
            "Timed out waiting for file /tmp/ray/session_2026/metrics_agent_port_67b4 at 10.0.0.5",
            "Ray's own services took too long to start",
        ),
        (
            "Exception: The current node timed out during startup. This could happen because some of the raylet",
            "a busy machine or from a cold disk: `make node` again",
        ),
    ],
)
def test_a_refusal_is_one_line_of_ours(said, told):
    why = why_refused(said)
    assert told in why and "\n" not in why and "10.0.0" not in why


def test_words_that_are_not_known_are_not_passed_on():
    assert why_refused("Segmentation fault at 10.0.0.5") is None


def test_the_refusal_of_a_head_is_told(home):
    """The program that looks at a head stands for Ray's."""
    credentials.make_token()
    (home / "ray").write_text("#!/bin/sh\necho 'AuthenticationError: at 10.0.0.5' >&2\nexit 1\n")
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        named = f"127.0.0.1:{head.getsockname()[1]}"
        with pytest.raises(UserError, match=r"the head has another token"):
            ray_node.check_head(named)
        (home / "ray").write_text("#!/bin/sh\nexit 3\n")
        with pytest.raises(UserError, match=r"is no head of a fleet"):
            ray_node.check_head(named)
        (home / "ray").write_text("#!/bin/sh\nexit 0\n")
        assert ray_node.check_head(named) == tuple(head.getsockname())


def test_a_head_that_takes_too_long_to_answer_is_said_to_be_busy(monkeypatch):
    """As it is while reports run on it, or here."""
    credentials.make_token()

    def take_too_long(words, timeout, **how):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(ray_node.subprocess, "run", take_too_long)
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        port = head.getsockname()[1]
        with pytest.raises(
            UserError, match=rf"^the head at 127\.0\.0\.1:{port} did not answer within 60 s: .* busy"
        ):
            ray_node.check_head(f"127.0.0.1:{port}")


@pytest.mark.parametrize(("age_s", "told"), [(-60.0, "took too long to start"), (3600.0, "it did not start")])
def test_what_the_engine_only_logs_is_read_unless_an_earlier_start_has_logged_it(
    home, monkeypatch, age_s, told
):
    """The program that stands for Ray's ends at once, without a word."""
    log = home / ray_node.NATIVE_LOG
    log.write_text("Check failed: Timed out waiting for file /tmp/ray/s/metrics_agent_port_67b4\n")
    os.utime(log, times=(time.time() - age_s,) * 2)
    monkeypatch.setattr(ray_node, "LOGS", home)
    monkeypatch.setattr(ray_node, "check_head", lambda named: (named, 6379))
    monkeypatch.setattr(ray_node, "PORTS", {})
    credentials.make_token()
    with pytest.raises(UserError, match=told):
        start_node("a10g", "127.0.0.1", None, measures=True)


@pytest.mark.parametrize("head", [None, "127.0.0.1"])
def test_two_on_one_machine_are_refused_before_the_second_one_is_started(monkeypatch, head):
    monkeypatch.setattr(ray_node, "check_head", lambda named: (named, 6379))
    monkeypatch.setattr(ray_node, "_serve", lambda *_: pytest.fail("was started"))
    credentials.make_token()
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        first.listen()
        monkeypatch.setattr(ray_node, "PORTS", {"node-manager-port": first.getsockname()[1]})
        with pytest.raises(UserError, match=r"runs on this machine already"):
            start_node("a10g", head, "127.0.0.1", measures=True)


def test_before_any_node_has_come_the_command_is_told():
    with pytest.raises(UserError, match=r"no node has come yet: `make node AS=a10g HEAD=…` on each machine"):
        check_come("a10g", 1, [""])


def test_a_node_started_with_nohup_outlives_its_terminal(home, monkeypatch):
    """The program that stands for Ray's is there as the terminal goes, and ends by itself: that is 1, a signal 0."""
    (home / "ray").write_text(f"#!/bin/sh\nkill -HUP {os.getpid()}\necho '{ray_node.STARTED}'\n")
    monkeypatch.setattr(ray_node, "check_head", lambda named: (named, 6379))
    monkeypatch.setattr(ray_node, "PORTS", {})
    credentials.make_token()
    earlier = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert start_node("a10g", "127.0.0.1", None, measures=True) == 1
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, earlier)
