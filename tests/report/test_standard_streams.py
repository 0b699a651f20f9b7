"""The standard streams of a command: a lost one, and one that is closed."""

import errno
import os
import signal
import subprocess
import sys

import pytest

import trainspeed.report.interruption
from trainspeed.report.interruption import Interruption
from trainspeed.report.run import report
from trainspeed.report.standard_streams import LastingStream

WITHOUT = """
import os, sys
for number in {closed}:
    os.close(number)
for number in {closed}:
    setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as Python finds them so
from trainspeed.report.standard_streams import keep_standard_streams
keep_standard_streams()
print("heard or not", flush=True), print("this too", file=sys.stderr, flush=True)
sys.exit(7 if min(os.pipe()) > 2 and all(map(os.get_inheritable, range(3))) else 1)
"""
NARROW = """
from trainspeed.report.standard_streams import keep_standard_streams
keep_standard_streams()
print("100×100 …")
"""


class Refusing:
    """A stream that every write fails on."""

    def __init__(self, number):
        self._number = number

    def write(self, text=""):
        raise OSError(self._number, os.strerror(self._number))

    flush = write


@pytest.fixture
def unread():
    """A pipe whose reader has gone, as of `make report | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", closefd=False) as stream:
        yield stream
    os.close(write)


@pytest.mark.parametrize("lost", [Refusing(errno.EIO), Refusing(errno.EPIPE)], ids=["terminal", "pipe"])
def test_a_report_is_whole_where_nobody_reads_what_it_prints(kernels, folder, out, monkeypatch, lost):
    """It ended after the notebook that ran, and called the terminal a folder that cannot be written to."""
    monkeypatch.setattr(sys, "stdout", LastingStream(lost))

    assert report(out=out, folder=folder) == 0

    assert kernels.names == ["amp", "layout", "summary"]
    assert (out / "index.html").is_file()


def test_a_full_disk_is_no_lost_terminal():
    with pytest.raises(OSError, match="No space left"):
        print("x", file=LastingStream(Refusing(errno.ENOSPC)), flush=True)


def test_a_command_whose_pipe_nobody_reads_ends_as_it_would(unread):
    """Python itself would end with another exit code, as it could not write what it still holds."""
    command = [sys.executable, "-m", "trainspeed"]
    ends = [
        subprocess.run([*command, *words], stdout=unread, stderr=unread, check=False).returncode
        for words in (["--help"], ["render", "--from", "/no such folder"])
    ]

    assert ends == [0, 2]


def test_a_letter_that_a_terminal_does_not_have_ends_no_command():
    """A plan of convolutions ended at the "×" of its first line where the terminal had ASCII alone."""
    told = subprocess.run(
        [sys.executable, "-c", NARROW],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )

    assert told.stdout == b"100?100 ?\n"


@pytest.mark.parametrize("closed", [(0,), (1, 2), (0, 1, 2)], ids=str)
def test_nothing_gets_the_number_of_a_standard_stream_that_is_closed(closed):
    """A kernel took a pipe of its own with the number 0 for its standard input, and closed it."""
    command = [sys.executable, "-c", WITHOUT.format(closed=closed)]

    assert subprocess.run(command, check=False, capture_output=True).returncode == 7


def test_a_terminal_that_goes_twice_kills_no_kernel_that_is_ending(monkeypatch):
    """The shell says so to its jobs, and the system to those that have the terminal when the shell has ended."""
    sent = []
    monkeypatch.setattr(
        trainspeed.report.interruption.os, "killpg", lambda group, number: sent.append(number)
    )
    with Interruption() as interruption:
        interruption.kernel_started(1)
        for number in (signal.SIGHUP, signal.SIGHUP):
            signal.raise_signal(number)

        assert (interruption.asked, sent) == (True, [signal.SIGINT])
        signal.raise_signal(signal.SIGINT)
        assert sent == [signal.SIGINT, signal.SIGKILL]
