"""The way from plain to best: how its bars look."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from trainspeed.show.waterfall import STEP, TOTAL, WAY_COLUMNS, plot_way


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
