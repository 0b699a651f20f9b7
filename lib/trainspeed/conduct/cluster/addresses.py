"""Where a head is, and which address of this machine leads to it. For the terminal: no address goes into a ledger."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

import psutil

from trainspeed.core.errors import UserError

PORT = 6379  # of a head, where none is named
ANSWER_S = 5.0  # a head in a neighbouring network answers in milliseconds
HOST_AND_PORT = re.compile(r"([\w.-]+)(?::(\d{1,5}))?")
LOOPBACK = "127."


def parse_head(text: str) -> tuple[str, int]:
    """Return the address and port of a head that a user named, such as "10.0.0.5" or "gpu1:6379".

    Raises:
        UserError: It is neither, or no such machine is known.
    """
    found = HOST_AND_PORT.fullmatch(text.strip())
    port = int(found[2] or PORT) if found else 0
    if not 0 < port < 2**16:
        raise UserError(
            "HEAD", text, "must be a machine's address or name, and a port if need be: HEAD=10.0.0.5"
        )
    try:
        return socket.getaddrinfo(found[1], port, socket.AF_INET, socket.SOCK_STREAM)[0][4][0], port
    except OSError:
        raise UserError(
            "HEAD", text, "is not known here: give the address that the head has printed."
        ) from None


def check_answers(address: str, port: int) -> None:
    """Raise a UserError where nothing listens there."""
    try:
        socket.create_connection((address, port), timeout=ANSWER_S).close()
    except OSError as problem:
        why = problem.strerror or "no answer"
        raise UserError(
            f"no head at {address}:{port} ({why}): start it there with `make node`, and open the port between the "
            "machines, see docs/fleet.md."
        ) from None


def any_taken(ports: Iterable[int]) -> bool:
    """Whether a program of this machine listens at one of these ports, on whatever network."""
    for port in ports:
        with socket.socket() as own:
            own.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # what a node that has ended leaves is no program
            try:
                own.bind(("", port))
            except OSError:
                return True
    return False


def own_address(named: str | None, head: tuple[str, int] | None) -> str:
    """Return this machine's address in the fleet's network.

    Args:
        named: What the user gave: an address of this machine, or the name of a network interface.
        head: Address and port of the head; None where this is the head.
    Raises:
        UserError: There is no such one, or there are several and none was named.
    """
    interfaces = _interfaces()
    known = [(name, address) for name, addresses in interfaces.items() for address in addresses]
    listed = ", ".join(f"{name} {address}" for name, address in known) or "no network"
    if named:
        if named in interfaces:
            return interfaces[named][0]
        if named not in (address for _, address in known):
            raise UserError("ADDRESS", named, f"is none of this machine's: it has {listed}.")
        return named
    if head:
        return _address_towards(head)
    outside = [address for _, address in known if not address.startswith(LOOPBACK)]
    if len(outside) > 1:
        raise UserError(f"this machine has several networks: name that of the fleet, ADDRESS=… ({listed})")
    return outside[0] if outside else "127.0.0.1"


def _address_towards(head: tuple[str, int]) -> str:
    """Return the address from which packets to a head are sent; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(head)
        except OSError as problem:
            raise UserError(f"no network leads to the head, {head[0]} ({problem.strerror})") from None
        return way.getsockname()[0]


def _interfaces() -> dict[str, list[str]]:
    """Return the name of each network interface that has one -> its IPv4 addresses."""
    found = {
        name: [one.address for one in entries if one.family == socket.AF_INET]
        for name, entries in psutil.net_if_addrs().items()
    }
    return {name: addresses for name, addresses in found.items() if addresses}
