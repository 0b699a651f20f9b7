"""The way from plain to best: how its bars look."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from trainspeed.show.waterfall import REST, STEP, TOTAL, WAY_COLUMNS, alt_of, plot_way


@pytest.mark.parametrize(
    ("ends", "color", "hatch"),
    [
        ((1.03, 1.17), "#56b4e9", None),
        ((1.01, 1.17), "#ffffff", None),
        ((None, None), "#ffffff", None),
        ((0.90, 1.01), "#ffffff", None),
        ((0.80, 0.97), "#e69f00", "//"),
    ],
    ids=["faster", "within the margin", "without an interval", "perhaps slower", "slower"],
)
def test_a_bar_has_the_colour_of_a_gain_only_where_its_interval_says_so(ends, color, hatch):
    after = sum(ends) / 2 if ends[0] else 1.1
    before = 1.2
    low, high = (before * end if end else None for end in ends)
    rows = [
        ("PyTorch, cnn10", "+ fused optimizer", STEP, before, before * after, low, high),
        ("PyTorch, cnn10", "all together", TOTAL, 1.0, before * after, low, high),
    ]

    figure = plot_way(pd.DataFrame(rows, columns=WAY_COLUMNS))

    (bar,) = (patch for patch in figure.axes[0].patches if patch.get_gid() == STEP)
    assert (to_hex(bar.get_facecolor()), bar.get_hatch()) == (color, hatch)


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([TOTAL], "bar: all together; line: interval"),
        ([STEP], "bar: all together; line: interval"),
        ([STEP, TOTAL], "bar: what a step loses without that switch, all others on; line: interval"),
        (
            [STEP, REST, TOTAL],
            "bar: what a step loses without that switch, all others on; line: interval; dotted: what they do only "
            "together, or more than once",
        ),
    ],
)
def test_how_to_read_it_speaks_of_the_bars_that_are_drawn(kinds, said):
    ends = {STEP: (1.1, 1.3), TOTAL: (1.1, 1.3), REST: (None, None)}
    rows = [("PyTorch, cnn10", kind, kind, 1.0, 1.2, *ends[kind]) for kind in kinds]
    way = pd.DataFrame(rows, columns=WAY_COLUMNS)
    figure = plot_way(way)

    (note,) = (text for text in figure.axes[0].texts if text.get_gid() == "note")
    assert note.get_text().replace("\n", " ") == said
    drawn = (
        "a bar for each part that was left out, and all together"
        if len(kinds) > 1
        else "a bar for all together"
    )
    assert alt_of(way) == f"Speed-up over the plain setting: {drawn}, with the interval."
    searches = pd.DataFrame(
        [("all that was kept", place, TOTAL, 1.0, 1.2, None, None) for place in "ab"], columns=WAY_COLUMNS
    )
    assert alt_of(searches) == "Speed-up over the plain setting: a bar for all together in each search."


def test_bars_that_are_white_or_hatched_are_explained():
    rows = [("a", "+ one", STEP, 1.0, 1.0, 0.9, 1.1), ("a", "+ two", STEP, 1.0, 0.8, 0.7, 0.9)]
    figure = plot_way(pd.DataFrame(rows, columns=WAY_COLUMNS))

    (note,) = (text for text in figure.axes[0].texts if text.get_gid() == "note")
    assert note.get_text().replace("\n", " ").endswith("hollow: undecided; hatched: slower with it")


def test_where_there_are_only_totals_their_colour_says_what_was_found():
    ends = {"a": (1.1, 1.3), "b": (0.95, 1.3)}
    rows = [("all that was kept", place, TOTAL, 1.0, 1.2, *own) for place, own in ends.items()]
    bars = plot_way(pd.DataFrame(rows, columns=WAY_COLUMNS)).axes[0].patches
    assert [to_hex(bar.get_facecolor()) for bar in bars if bar.get_gid() == TOTAL] == ["#56b4e9", "#ffffff"]
