"""By which variables ranks find one another, whoever starts them."""

from __future__ import annotations

import errno
import socket

import psutil
import pytest

from trainspeed.sensors import network
from trainspeed.worker.backends import rank_variables, torchrun
from trainspeed.worker.backends.rank_variables import meeting_point, of_slurm, own_interface
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.gang import Gang

SECOND = Gang(addresses=("10.0.0.5", "10.0.0.6"), port=4000, node=1, interface="eth1")
TASK = {
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
    "SLURM_NTASKS": "8",
    "SLURM_NNODES": "4",
    "SLURM_JOB_ID": "123456",
    "SLURM_JOB_NODELIST": "gpu[07-09,12]",
}


def test_ranks_of_one_node_meet_there():
    here = meeting_point(2, None)

    assert here.pop("MASTER_PORT").isdecimal()
    assert here == {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0"}


def test_ranks_do_not_wait_for_one_another_over_a_loopback_interface_that_is_down(monkeypatch):
    """Each run hung for 300 s, and then said to raise timeout_s."""

    class WithoutWays(socket.socket):
        def connect(self, address):
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(network.socket, "socket", WithoutWays)

    with pytest.raises(Unsupported, match=r"loopback interface .* is down: .*`ip link set lo up`$"):
        meeting_point(2, None)
    assert meeting_point(4, SECOND)["MASTER_ADDR"] == "10.0.0.5", "nodes meet elsewhere"


def test_ranks_of_several_nodes_meet_at_the_first_and_each_uses_its_own_interface():
    assert meeting_point(4, SECOND) == {
        "MASTER_ADDR": "10.0.0.5",
        "MASTER_PORT": "4000",
        "WORLD_SIZE": "4",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "1",
        "GLOO_SOCKET_IFNAME": "eth1",
        "NCCL_SOCKET_IFNAME": "=eth1",
    }


def test_srun_s_variables_become_those_of_torchrun():
    set_here = of_slurm(TASK)

    assert {name: value for name, value in set_here.items() if name != "MASTER_PORT"} == {
        "RANK": "5",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "8",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "2",
        "MASTER_ADDR": "gpu07",
    }


def test_the_port_is_the_same_on_all_nodes_and_another_for_each_job_and_step():
    ports = [
        of_slurm(TASK | changed)["MASTER_PORT"]
        for changed in (
            {"SLURM_PROCID": "0", "SLURM_NODEID": "0"},
            {},
            {"SLURM_JOB_ID": "123457"},
            {"SLURM_STEP_ID": "1"},
        )
    ]

    assert ports[0] == ports[1] and len({*ports}) == 3
    assert all(1024 < int(port) < 32768 for port in ports)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, r"cannot read \S+trial.json \(No such file or directory\)\.$"),
        ("{", r"trial.json is no trial: "),
        ("[]", r"trial.json is no trial: "),
        ('{"framework": "torch"}', r"trial.json is no trial: Object missing required field"),
    ],
)
def test_a_rank_that_has_no_trial_says_so_in_one_line(tmp_path, monkeypatch, text, told):
    """It was a traceback of each rank."""
    trial = tmp_path / "trial.json"
    if text is not None:
        trial.write_text(text)
    monkeypatch.setattr("sys.argv", ["torchrun", str(trial)])
    with pytest.raises(SystemExit, match=told) as ended:
        torchrun.main()
    assert "\n" not in str(ended.value)
    monkeypatch.setattr("sys.argv", ["torchrun"])
    with pytest.raises(SystemExit, match=r"^trainspeed: name one file"):
        torchrun.main()


def test_of_a_step_on_fewer_nodes_than_the_job_the_step_counts():
    step = {"SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_NODELIST": "gpu[08,12]"}
    set_here = of_slurm(TASK | step)

    assert (set_here["WORLD_SIZE"], set_here["LOCAL_WORLD_SIZE"]) == ("6", "3")
    assert set_here["MASTER_ADDR"] == "gpu08"


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu7", "gpu7"),
        ("gpu7,gpu9", "gpu7"),
        ("gpu[7]", "gpu7"),
        ("gpu[007-120],cpu1", "gpu007"),
        ("rack2-[10,12-14]-ib,other", "rack2-10-ib"),
        ("a.b-c.example", "a.b-c.example"),
    ],
)
def test_the_ranks_of_srun_meet_on_its_first_node(nodes, first):
    assert of_slurm(TASK | {"SLURM_JOB_NODELIST": nodes})["MASTER_ADDR"] == first


def test_what_is_set_already_stays():
    assert "MASTER_ADDR" not in of_slurm(TASK | {"MASTER_ADDR": "10.0.0.5"})
    assert of_slurm(TASK | {"RANK": "0"}) == {}
    assert of_slurm({}) == {}
    assert own_interface({"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "eth0"}) == {}


def test_gloo_uses_the_interface_on_the_way_to_the_meeting_point(monkeypatch):
    monkeypatch.setattr(rank_variables.sys, "platform", "linux")
    monkeypatch.setattr(rank_variables, "address_towards", {"gpu07": "10.0.0.6"}.get)
    monkeypatch.setattr(rank_variables, "interface_of", {"10.0.0.6": "eth1"}.get)

    assert own_interface({"MASTER_ADDR": "gpu07"}) == {"GLOO_SOCKET_IFNAME": "eth1"}
    assert own_interface({"MASTER_ADDR": "gpu08"}) == {}
    assert own_interface({"MASTER_ADDR": "127.0.0.1"}) == {"GLOO_SOCKET_IFNAME": "lo"}


# What this machine says of its network.


def loopback():
    """Return the interface that has this machine's own address."""
    interfaces = psutil.net_if_addrs().items()
    return next(name for name, entries in interfaces if "127.0.0.1" in [entry.address for entry in entries])


def test_an_interface_is_known_by_its_address():
    assert network.interface_of("127.0.0.1") == loopback()
    assert network.interface_of("203.0.113.7") is None
    assert network.interface_of("") is None


def test_the_way_to_this_machine_itself_begins_at_its_own_address():
    assert network.address_towards("127.0.0.1") == "127.0.0.1"
    assert network.address_towards("no such host") is None


def test_a_free_port_can_be_listened_on():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", network.free_port("127.0.0.1")))
        listener.listen()
