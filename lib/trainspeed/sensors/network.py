"""This machine's network as ranks on several machines need it: which interface has an address, and a free port."""

from __future__ import annotations

import contextlib
import socket

import psutil

DISCARD_PORT = 9  # to ask for the way to a machine; nothing is sent


def interface_of(address: str) -> str | None:
    """Return the name of this machine's interface that has an IP address; None where none has it."""
    with contextlib.suppress(OSError):  # some containers have no right to ask for addresses
        for name, entries in psutil.net_if_addrs().items():
            if any(entry.address.partition("%")[0] == address for entry in entries):
                return name
    return None


def address_towards(peer: str) -> str | None:
    """Return this machine's address on the way to a peer, be it this machine itself; None where there is no way.

    Args:
        peer: Its name or its IP address.
    """
    try:
        ways = socket.getaddrinfo(peer, DISCARD_PORT, type=socket.SOCK_DGRAM)
    except OSError:
        return None
    for family, kind, protocol, _, target in ways:
        try:
            with socket.socket(family, kind, protocol) as way:
                way.connect(target)
                return way.getsockname()[0]
        except OSError:
            continue
    return None


def free_port(address: str) -> int:
    """Return a TCP port that nobody listens on at an address of this machine.

    Another program may take it before it is used: whoever uses it must cope with that.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
