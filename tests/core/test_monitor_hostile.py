"""A ledger may point anywhere for its monitor's file, and the file may hold anything."""

import os
from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

from study_data import make_run
from trainspeed.core import monitor_csv
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import MOST_DOUBTS
from trainspeed.core.monitor_csv import MONITOR_COLUMNS, read_monitor, read_monitors
from trainspeed.core.runs import Measured
from trainspeed.show.monitor import plot_monitor
from trainspeed.show.notebook import monitor_data
from trainspeed.show.theme import set_theme

HEADER = ",".join(MONITOR_COLUMNS) + "\n"
SAMPLE = "2026-11-20T10:00:00+00:00,host,,,50,1000,2000,,,,,,,\n"


@pytest.fixture
def folder(tmp_path):
    """A ledger's folder, and beside it a monitor's file that is none of its business."""
    folder = tmp_path / "report"
    (folder / "monitor").mkdir(parents=True)
    for path in (tmp_path / "beyond.csv", folder / "monitor/own.csv"):
        path.write_text(HEADER + SAMPLE)
    (folder / "monitor/link.csv").symlink_to(tmp_path / "beyond.csv")
    (folder / "monitor/zero.csv").symlink_to("/dev/zero")
    os.mkfifo(folder / "monitor/pipe.csv")
    with (folder / "monitor/huge.csv").open("wb") as file:
        file.truncate(2**40)  # a hole: it takes no room
    return folder


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *[(name, "outside") for name in ("../beyond.csv", "/etc/passwd", "/dev/zero", "monitor/link.csv")],
        *[
            ("monitor/zero.csv", "outside"),
            ("monitor/pipe.csv", "no file"),
            ("monitor", "no file"),
            (".", "no file"),
        ],
        *[
            ("monitor/huge.csv", "larger than 256 MiB"),
            ("a\0b", "cannot be read"),
            ("x" * 5000, "cannot be read"),
        ],
    ],
)
def test_only_a_file_below_the_ledger_is_read(folder, name, why):
    samples, (doubt,) = read_monitors(folder, [name, "monitor/own.csv", "monitor/gone.csv"])

    assert list(samples["load_percent"]) == [50]
    assert why in doubt and doubt.isprintable() and len(doubt) < 250


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("yesterday,host,,,50,,,,,,,,,\n", 0),
        ("9999-01-01T00:00:00+00:00,host,,,50,,,,,,,,,\n", None),
        ("2026-11-20T10:00:01+00:00,,,,50,,,,,,,,,\n", 0),
        ("2026-11-20T10:00:01+00:00,host,,,lots,inf,-1,nan,1e300,,,,,\n", 1),
        (f"2026-11-20T10:00:01+00:00,{'gpu' * 1000},{'<b>' * 1000},,1,,,,,,,{'hot|' * 1000},,\n", 1),
        ("2026-11-20T10:00:01+00:00,\u202egpu0,$\\frac{$,,1,,,,,,,$x$,,\n", 1),
    ],
)
def test_a_line_of_any_kind_costs_no_other_and_is_drawn(folder, line, kept):
    path = folder / "monitor/own.csv"
    path.write_text(HEADER + SAMPLE + line)
    run = make_run(monitor="monitor/own.csv", started_at="2026-11-20T10:00:00+00:00", stages_s={"start": 1.0})

    samples, spans, doubts = monitor_data(Measured((run,), "layout", "s", out=folder, folder=folder))

    assert doubts == () and kept in (None, len(samples) - 1)
    assert samples["device"].str.len().max() <= monitor_csv.SHOWN_LETTERS
    with plt.rc_context():
        set_theme()
        figure = plot_monitor(samples, spans)
        figure.canvas.draw()
        plt.close(figure)


@pytest.mark.parametrize(
    "text", ["", "\0", "a,b\n1,2\n", HEADER + "x" * 200_000 + "\n", "\xff" * 100, HEADER * 3]
)
def test_a_file_that_is_no_monitors_is_named(folder, text):
    (folder / "monitor/odd.csv").write_text(text)

    samples, doubts = read_monitors(folder, ["monitor/odd.csv", "monitor/own.csv"])

    assert list(samples["load_percent"]) == [50] and len(doubts) <= 1


def test_more_devices_than_any_machine_has_are_refused(folder):
    path = folder / "monitor/own.csv"
    path.write_text(
        HEADER + "".join(SAMPLE.replace("host", f"gpu{n}") for n in range(monitor_csv.MOST_DEVICES + 1))
    )

    with pytest.raises(UserError, match="it names 2,049 devices"):
        read_monitor(path)


def test_of_many_wrong_files_the_first_ones_are_named(folder):
    runs = tuple(make_run(block=n, monitor=f"/elsewhere/{n}.csv") for n in range(100))

    _, _, doubts = monitor_data(replace(Measured(runs, "layout", "s", out=folder, folder=folder)))

    assert len(doubts) == MOST_DOUBTS + 1 and doubts[-1] == "80 more files like these."
