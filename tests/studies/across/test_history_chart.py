"""The chart and the tables of one machine over time."""

import pandas as pd
import pytest

from sessions_data import day, failed_day, history_of, machine, quiet_day, upgraded_twice
from trainspeed.studies.across.history_chart import MOST_LEGEND, MOST_PANELS, plot_histories
from trainspeed.studies.across.history_tables import changes_table, sessions_table
from trainspeed.studies.across.history_text import change_blocks


def all_drawn(*several):
    ordered, trials = history_of(*several)
    return plot_histories(trials, ordered)


def drawn(*several):
    (figure,) = all_drawn(*several)
    return figure


def of(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_panel_per_trial_says_since_when_it_is_slower():
    figure = drawn(upgraded_twice())
    assert [ax.get_title().replace("\n", " ") for ax in figure.axes] == [
        "PyTorch, resnet50: 1.11 times as fast since A, 1.07 times as fast since B",
        "PyTorch, cnn10: 1.08 times as long since B",
        "PyTorch, vgg16: 1.15 times as long on 2026-11-22, nothing changed",
        "PyTorch, wrn28_10: the same",
    ]
    title = figure.get_suptitle().replace("\n", " ")
    assert (
        title
        == "Of 4 trials over 6 sessions: 1 slower, 1 faster after a change; 1 slower in the newest session alone"
    )
    assert legend(figure) == [
        "A, 2026-11-09: PyTorch 2.13.1 → 2.14.0",
        "B, 2026-11-19: PyTorch 2.14.0 → 2.15.0 and 1 more",
    ]


def test_a_mark_stands_before_the_session_in_which_something_was_new():
    ax = drawn(upgraded_twice()).axes[0]
    assert [line.get_xdata()[0] for line in of(ax, "change")] == [1.5, 3.5]
    assert [text.get_text() for text in of(ax, "letter")] == ["A", "B"]


def test_times_are_relative_to_the_first_session():
    (ax,) = drawn(day(1, 0.05), day(2, 0.06)).axes
    (line,) = of(ax, "times")
    assert list(line.get_ydata()) == pytest.approx([1.0, 1.2])
    assert [text.get_text() for text in of(ax, "first")] == ["first:\n50.1 ms"]


def test_each_machine_has_a_chart_of_its_own_sessions():
    other = machine(cpu="Another CPU")
    figures = all_drawn(
        quiet_day(1),
        quiet_day(2, 3.0, machine=other),
        quiet_day(3, 1.2, "2.15"),
        quiet_day(4, 3.3, machine=other),
    )
    lines = [of(figure.axes[0], "times")[0] for figure in figures]
    assert [list(line.get_xdata()) for line in lines] == [[0, 1], [0, 1]]
    assert [list(line.get_ydata()) for line in lines] == [pytest.approx([1, 1.2]), pytest.approx([1, 1.1])]
    titles = [figure.get_suptitle().replace("\n", " ") for figure in figures]
    assert titles == [
        "Machine 1 (Test CPU, no GPU used): Of 1 trial over 2 sessions: 1 slower after a change",
        "Machine 2 (Another CPU, no GPU used): Of 1 trial over 2 sessions: 1 slower in the newest session alone",
    ]


def test_a_session_with_few_blocks_is_hollow_and_one_that_failed_says_how():
    figure = drawn(day(1), day(2)[:3], failed_day(3, "2.15"))
    ax = figure.axes[0]
    assert [len(line.get_xdata()) for line in of(ax, "hollow")] == [1]
    assert [text.get_text() for text in of(ax, "failure")] == ["OOM"]
    assert ax.get_title() == "PyTorch, cnn10: OOM since A"
    assert (
        figure.get_suptitle().replace("\n", " ") == "Of 1 trial over 3 sessions: 1 failed when last measured"
    )
    assert legend(figure) == ["A, 2026-11-03: PyTorch 2.14.0 → 2.15", "fewer than 6 blocks: no interval"]


def test_every_change_counts_and_has_the_letter_of_the_session_in_which_it_was():
    """PyTorch was upgraded in a session without the trial, and TensorFlow in the next one, which has it."""
    keras = {"framework": "tensorflow", "layout": "channels_last"}
    between = [
        *quiet_day(2, torch="2.15", batch_size=64),
        *quiet_day(2, torch=None, versions={"tensorflow": "2.20"}, **keras),
    ]
    after = [*quiet_day(3, 1.5, "2.15"), *quiet_day(3, torch=None, versions={"tensorflow": "2.21"}, **keras)]
    figure = drawn(quiet_day(1), between, after, quiet_day(4, 1.0, "2.16"))
    panel = next(ax for ax in figure.axes if "PyTorch" in ax.get_title())
    assert [text.get_text() for text in of(panel, "letter")] == ["A", "C"]
    assert panel.get_title().replace("\n", " ") == (
        "PyTorch, cnn10, channels_first: 1.50 times as long since A, 1.50 times as fast since C"
    )
    assert "1 slower, 1 faster after a change" in figure.get_suptitle().replace("\n", " ")


def test_of_many_changes_the_newest_are_named():
    ordered, trials = history_of(*(quiet_day(n, 1.1**n, torch=f"2.{n}") for n in range(1, 13)))
    (figure,) = plot_histories(trials, ordered)
    texts, title = legend(figure), figure.axes[0].get_title().replace("\n", " ")
    assert len(texts) == MOST_LEGEND + 1 and texts[0] == "3 before: see the table"
    assert texts[-1] == "K, 2026-11-12: PyTorch 2.11 → 2.12"
    assert title.startswith("PyTorch, cnn10: 8 before, ") and title.endswith("1.10 times as long since K")
    said = change_blocks(ordered, trials)
    assert said[0].startswith("Since 2026-11-12") and len(said) == 7
    assert said[-1] == "5 earlier changes: see [every trial](#every-trial)."


def test_of_many_trials_the_largest_changes_are_drawn():
    sizes = range(8, 16)
    old, new = (
        [
            run
            for size in sizes
            for run in quiet_day(n, s + size * m, t, batch_size=size, images_per_epoch=size)
        ]
        for n, s, t, m in ((1, 1.0, "2.14", 0.0), (2, 1.0, "2.15", 0.1))
    )
    figure = drawn(old, new)
    assert len(figure.axes) == MOST_PANELS
    assert "batch 15" in figure.axes[0].get_title()
    assert "8 slower after a change (6 are drawn)" in figure.get_suptitle().replace("\n", " ")


def test_where_nothing_changed_the_title_is_the_question():
    assert drawn(day(1), day(2)).get_suptitle() == "Has anything changed over 2 sessions?"


def test_a_year_that_all_share_is_said_once():
    labels = [text.get_text() for text in drawn(day(1), day(2)).axes[-1].get_xticklabels()]
    assert labels == ["11-01", "11-02"]


def test_the_tables_have_every_session_and_every_change():
    ordered, trials = history_of(upgraded_twice())
    table = sessions_table(ordered).data
    assert list(table["mark"]) == ["", "", "A", "", "B", ""]
    assert table["what had changed"][0] == "the first one"
    table = changes_table(trials, ordered).data
    assert len(table) == 12
    row = table[(table["trial"] == "PyTorch, cnn10") & (table["change"] == "B")].iloc[0]
    assert (row["since"], row["it is"], row["speed-up"]) == ("2026-11-19", "slower", "0.93x")
    assert (row["before ms"], row["after ms"]) == ("40.1", "43.3")
    assert not pd.isna(table).any().any()
    ordered, trials = history_of(day(1), failed_day(2, "2.15"))
    row = changes_table(trials, ordered).data.iloc[0]
    assert (row["change"], row["since"], row["it is"]) == ("A", "2026-11-02", "failed: OOM")
