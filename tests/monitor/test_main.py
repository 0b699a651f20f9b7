"""The monitor: its schedule, its command line, and how it ends."""

import os
import pty
import signal
import subprocess
import sys
import time
from itertools import islice

import psutil
import pytest

from trainspeed.core.monitor_csv import read_monitor
from trainspeed.monitor import __main__ as monitor

MONITOR = (sys.executable, "-m", "trainspeed.monitor")
PATIENCE_S = 20  # far beyond any real duration: only a hang reaches it


class FakeTime:
    """A clock that moves only when told, and a wait that moves it."""

    def __init__(self):
        self.now = 1000.0
        self.waits = []

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds
        return False


def eventually(condition):
    """Wait for a real process to get so far."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def has_rows(path, count):
    return path.exists() and path.read_text().count(",host,") >= count


def test_samples_do_not_drift_with_the_time_they_take():
    clock = FakeTime()
    times = []

    for _ in islice(monitor.ticks(5.0, clock.wait, clock=clock), 4):
        times.append(clock.now - 1000)
        clock.now += 0.7  # what a sample takes

    assert times == pytest.approx([0.0, 5.0, 10.0, 15.0])
    assert clock.waits == pytest.approx([4.3] * 3)


def test_a_sample_that_takes_too_long_leaves_out_the_ticks_it_missed():
    clock = FakeTime()
    times = []

    for tick in islice(monitor.ticks(1.0, clock.wait, clock=clock), 3):
        times.append((tick, clock.now - 1000))
        clock.now += 2.5 if tick == 0 else 0.0

    assert times == [(0, 0.0), (3, pytest.approx(3.0)), (4, pytest.approx(4.0))]


def test_tenths_of_a_second_leave_out_no_tick():
    """0.1 has no exact binary form: a rounding error must not look like a missed tick."""
    clock = FakeTime()

    assert list(islice(monitor.ticks(0.1, clock.wait, clock=clock), 200)) == list(range(200))


def test_sampling_ends_when_the_wait_says_so():
    answers = iter([False, False, True])

    assert list(monitor.ticks(1.0, lambda _: next(answers), clock=FakeTime())) == [0, 1, 2]


def test_a_file_that_is_not_a_monitors_is_never_written_to(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")

    assert monitor.main(["--out", str(path), "--", "true"]) == 2
    assert path.read_text() == "my notes\n"
    assert "is not a monitor's file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--interval", "0", "--out", "x"], 2, "--interval (=0) must be a number of seconds, at least 0.01."),
        (["--interval", "-1", "--out", "x"], 2, "--interval (=-1) must be"),
        (["--interval", "nan", "--out", "x"], 2, "--interval (=nan) must be"),
        (["--interval", "inf", "--out", "x"], 2, "--interval (=inf) must be"),
        (["--interval", "fast", "--out", "x"], 2, "--interval (=fast) must be"),
        (["--cores", "two", "--out", "x"], 2, "--cores (=two) must be numbers of CPU cores"),
        (["--cores", "2,", "--out", "x"], 2, "--cores (=2,) must be"),
        (["--cores", "", "--out", "x"], 2, "--cores (=) must be"),
        (["--cores", "-1", "--out", "x"], 2, "--cores (=-1) must be"),
        ([], 2, "arguments are required: --out"),
        (["--out", "x", "true"], 2, "unrecognized arguments: true. Put a command after --"),
        (["--out", "x", "--"], 2, "nothing follows --"),
        (["--out", "x", "--until-stdin-closes", "--", "true"], 2, "stdin is the command's"),
        (["--out", "/dev/null/x", "--", "true"], 2, "cannot write --out /dev/null/x: Not a directory"),
        (["--out", "x", "--", "no-such-command-here"], 127, "command not found: no-such-command-here"),
    ],
)
def test_wrong_input_is_one_clear_line(arguments, code, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert monitor.main(arguments) == code

    errors = capsys.readouterr().err
    assert message in errors
    assert errors.startswith("monitor: ")
    assert errors.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_ends_the_samples_but_not_the_command(capsys):
    code = monitor.main(["--out", "/dev/full", "--", sys.executable, "-c", "raise SystemExit(3)"])

    assert code == 3
    assert "cannot write /dev/full any more (No space left on device)" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_ends_a_monitor_that_is_alone():
    assert monitor.main(["--out", "/dev/full", "--interval", "60"]) == 1


def test_runs_around_a_command_and_exits_with_its_code(tmp_path):
    path = tmp_path / "deep" / "gpu.csv"
    command = (*MONITOR, "--interval", "0.05", "--out", str(path), "--", sys.executable, "-c")

    passed = subprocess.run((*command, "pass"), timeout=PATIENCE_S)
    failed = subprocess.run((*command, "raise SystemExit(7)"), timeout=PATIENCE_S)

    assert (passed.returncode, failed.returncode) == (0, 7)
    frame, _ = read_monitor(path)
    assert (frame["device"] == "host").sum() >= 4, "each has a sample before the command and one after"


def test_a_command_killed_by_a_signal_gives_the_code_that_shells_give(tmp_path):
    command = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"

    assert monitor.main(["--out", str(tmp_path / "x.csv"), "--", sys.executable, "-c", command]) == 137


def test_sends_signals_on_to_the_command(tmp_path):
    """A command that saves its work on SIGUSR1 and on SIGTERM gets both, and ends as it likes."""
    path = tmp_path / "gpu.csv"
    ready = tmp_path / "ready"
    script = (
        "import signal, pathlib, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('saved', flush=True))\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "while True: signal.pause()\n"
    )
    process = subprocess.Popen(
        (*MONITOR, "--interval", "1e10", "--out", str(path), "--", sys.executable, "-c", script),
        stdout=subprocess.PIPE,
        text=True,
    )
    eventually(ready.exists)

    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "saved\n"
    process.send_signal(signal.SIGTERM)

    assert process.wait(PATIENCE_S) == 5
    process.stdout.close()


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    """The command under `nohup python -m trainspeed.monitor` outlives its terminal."""
    script = "import os, signal; os.kill(os.getppid(), signal.SIGHUP); print(signal.getsignal(signal.SIGHUP))"

    result = subprocess.run(
        (*MONITOR, "--out", str(tmp_path / "x.csv"), "--", sys.executable, "-c", script),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    assert (result.returncode, result.stdout.strip()) == (0, str(signal.SIG_IGN))


def test_ctrl_c_reaches_the_command_once(tmp_path):
    """The terminal interrupts monitor and command alike: a second signal would break off its clean-up."""
    script = (
        "import signal, time\n"
        "count = []\n"
        "signal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
        "print('ready', flush=True)\n"
        "while not count: time.sleep(0.01)\n"
        "time.sleep(0.2)\n"
        "print(f'interrupted {len(count)} times', flush=True)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        arguments = (*MONITOR, "--out", str(tmp_path / "x.csv"), "--", sys.executable, "-c", script)
        os.execv(sys.executable, arguments)
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1024)

    os.write(terminal, b"\x03")
    while b"times" not in shown:
        shown += os.read(terminal, 1024)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)

    assert b"interrupted 1 times" in shown
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_alone_it_samples_until_told_to_stop(tmp_path, number):
    path = tmp_path / "gpu.csv"
    process = subprocess.Popen(
        (*MONITOR, "--interval", "0.05", "--out", str(path)),
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # SIGINT may be ignored around the tests
    )
    eventually(lambda: has_rows(path, 3))

    process.send_signal(number)

    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    assert path.read_text().endswith("\n")


def test_stops_when_stdin_closes(tmp_path):
    """The pipe of a runner that died closes by itself, whatever killed it."""
    path = tmp_path / "gpu.csv"
    arguments = (*MONITOR, "--interval", "60", "--until-stdin-closes", "--out", str(path))
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE)
    eventually(lambda: has_rows(path, 1))

    process.stdin.close()

    assert process.wait(PATIENCE_S) == 0
    assert has_rows(path, 2), "the last sample is taken at the end, not at the next minute"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_dies_with_a_parent_that_was_killed(tmp_path):
    path = tmp_path / "gpu.csv"
    script = (
        "import subprocess, sys, os, time\n"
        f"arguments = {[*MONITOR, '--interval', '60', '--out', str(path)]!r}\n"
        "child = subprocess.Popen([*arguments, '--parent', str(os.getpid())])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen((sys.executable, "-c", script), stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(parent.stdout.readline()))
    eventually(lambda: has_rows(path, 1))
    assert child.is_running()

    parent.kill()
    parent.wait(PATIENCE_S)
    parent.stdout.close()

    eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_does_not_start_under_a_parent_that_is_gone(tmp_path):
    """The parent may die before the child asks the kernel to be told."""
    arguments = (*MONITOR, "--out", str(tmp_path / "x.csv"), "--parent", "999999999")

    assert subprocess.run(arguments, timeout=PATIENCE_S).returncode == -signal.SIGKILL


def test_the_monitor_loads_no_heavy_library():
    """It runs beside the measurement, and in environments without pandas."""
    script = (
        "import sys, trainspeed.monitor.__main__, trainspeed.sensors.machine\n"
        "print(sorted({'numpy', 'pandas', 'torch', 'tensorflow', 'jax'} & set(sys.modules)))"
    )

    result = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert result.stdout.strip() == "[]", result.stderr
