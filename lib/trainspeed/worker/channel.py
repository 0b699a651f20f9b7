"""Lines over a Unix socket with a deadline: how the runner talks with a worker, and with each of its runs."""

from __future__ import annotations

import select
import socket
import time

PIECE_BYTES = 65536


class Channel:
    """One end of a connection; a line may bring the end of another connection along."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._buffer, self._passed = connection, b"", []
        self._readable = select.poll()  # not epoll, which a forked child would share with its parent
        self._readable.register(connection, select.POLLIN)

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Return both ends of a new connection."""
        one, other = socket.socketpair()
        return cls(one), cls(other)

    @classmethod
    def at(cls, descriptor: int) -> Channel:
        """Return the end that this process was given as an open file descriptor."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """Return the file descriptor, to wait for lines of several channels."""
        return self._connection.fileno()

    def send(self, line: bytes, passing: Channel | None = None) -> None:
        """Send a line, which ends with a newline.

        Args:
            passing: Open in the other process, too, from this line on.
        Raises:
            OSError: The other end is closed.
        """
        if passing is None:
            self._connection.sendall(line)
            return
        sent = socket.send_fds(self._connection, [line], [passing.fileno()])
        self._connection.sendall(line[sent:])

    def receive(self, deadline: float | None = None) -> bytes | None:
        """Return the next line without its end; None when time is up or the other end is closed.

        Args:
            deadline: As `time.monotonic()` tells; None waits for ever.
        """
        while b"\n" not in self._buffer:
            left_ms = None if deadline is None else max(0.0, 1000 * (deadline - time.monotonic()))
            if not self._readable.poll(left_ms):
                return None
            try:
                data, descriptors, _, _ = socket.recv_fds(self._connection, PIECE_BYTES, maxfds=1)
            except ConnectionResetError:
                return None
            self._passed += descriptors
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def passed(self) -> Channel:
        """Return the channel that came with the line received last."""
        return Channel.at(self._passed.pop(0))

    def hung_up(self) -> bool:
        """Return whether the other end is closed in every process."""
        return any(event & select.POLLHUP for _, event in self._readable.poll(0))

    def close(self) -> None:
        """Close this end in this process."""
        self._connection.close()
