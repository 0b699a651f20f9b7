import socket
from collections import namedtuple

import pytest

from trainspeed.conduct.cluster import addresses
from trainspeed.conduct.cluster.addresses import any_taken, check_answers, own_address, parse_head
from trainspeed.core.errors import UserError

Address = namedtuple("Address", "family address")


@pytest.fixture
def networks(monkeypatch):
    """What networks this machine has: set `networks` to name -> addresses, with spaces between."""
    found = {"lo": "127.0.0.1", "eth0": "10.0.0.5"}
    given = lambda: {n: [Address(socket.AF_INET, one) for one in text.split()] for n, text in found.items()}  # noqa: E731
    monkeypatch.setattr(addresses.psutil, "net_if_addrs", given)
    return found


@pytest.mark.parametrize("text", ["10.0.0.5", "10.0.0.5:6379", " 10.0.0.5 "])
def test_a_head_is_an_address_with_or_without_a_port(text):
    assert parse_head(text) == ("10.0.0.5", 6379)


@pytest.mark.parametrize("text", ["", "10.0.0.5:0", "10.0.0.5:99999", "10.0.0.5:x", "http://10.0.0.5", "a b"])
def test_what_is_no_address_is_told_in_one_line(text):
    with pytest.raises(UserError, match=r"^HEAD .* must be a machine's address or name") as problem:
        parse_head(text)
    assert "\n" not in str(problem.value)


def test_a_name_that_is_not_known_is_told(monkeypatch):
    def unknown(*_):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(addresses.socket, "getaddrinfo", unknown)
    with pytest.raises(UserError, match=r"'gpu9'.* is not known here"):
        parse_head("gpu9")


def test_a_port_where_nothing_listens_is_no_head():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address, port = listening.getsockname()
        with pytest.raises(UserError, match=rf"no head at 127.0.0.1:{port} \(Connection refused\)"):
            check_answers(address, port)
        listening.listen()
        check_answers(address, port)
        assert any_taken([port])
    assert not any_taken([port]), "once it has ended"


@pytest.mark.parametrize("named", ["10.0.0.5", "eth0"])
def test_a_machines_address_may_be_named_by_its_interface(networks, named):
    assert own_address(named, None) == "10.0.0.5"


def test_of_an_interface_with_two_addresses_either_may_be_named(networks):
    networks["eth0"] = "10.0.0.5 10.1.0.5"
    assert own_address("10.1.0.5", None) == "10.1.0.5"
    assert own_address("eth0", None) == "10.0.0.5"
    with pytest.raises(UserError, match=r"several networks: .* eth0 10.0.0.5, eth0 10.1.0.5"):
        own_address(None, None)


def test_an_address_that_this_machine_does_not_have_is_told_with_those_that_it_has(networks):
    with pytest.raises(
        UserError, match=r"10.0.0.9.* is none of this machine's: it has lo 127.0.0.1, eth0 10.0.0.5"
    ):
        own_address("10.0.0.9", None)


def test_the_head_of_one_network_need_not_be_told_its_address(networks):
    assert own_address(None, None) == "10.0.0.5"


def test_the_head_of_two_networks_asks_which(networks):
    networks["ib0"] = "10.1.0.5"
    with pytest.raises(UserError, match=r"several networks: name that of the fleet, ADDRESS=…"):
        own_address(None, None)


def test_a_machine_without_a_network_is_a_fleet_of_its_own(networks):
    del networks["eth0"]
    assert own_address(None, None) == "127.0.0.1"


def test_a_nodes_address_is_the_one_from_which_its_head_is_reached():
    assert own_address(None, ("127.0.0.1", 6379)) == "127.0.0.1"
