"""The look: colours and shapes never stand alone, and a figure leaves with its alt text."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from trainspeed.show import theme
from trainspeed.show.fitting import NARROW, SVG

mpl.use("Agg")


@pytest.fixture(autouse=True)
def own_style():
    """Undo the style and close the figures after each test."""
    with mpl.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def displayed(monkeypatch):
    """Collect what is displayed, with its metadata."""
    calls = []
    monkeypatch.setattr(theme, "display", lambda data, *, raw, metadata: calls.append((data, metadata)))
    return calls


def test_frameworks_and_outcomes_share_no_colour():
    """A blue triangle in the forest plot cannot be read as PyTorch."""
    outcomes = {style["color"] for style in theme.OUTCOME_STYLES.values()}
    assert len(outcomes) == 4
    assert not outcomes & set(theme.FRAMEWORK_COLOURS.values())


def test_a_thin_line_of_any_library_is_seen_on_white():
    """The fastest one was the palest, with a contrast of 2.3; WCAG 2.2, 1.4.11, wants 3 of what carries meaning."""
    colours = theme.FRAMEWORK_COLOURS | theme.CPU_LIBRARY_COLOURS
    assert len({*colours.values()}) == len(colours)
    for name, colour in colours.items():
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in mpl.colors.to_rgb(colour)
        ]
        luminance = sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        assert 1.05 / (luminance + 0.05) >= 3, name


def test_no_sign_is_by_colour_alone():
    """Outcomes differ by marker as well, layouts by line style and marker."""
    assert len({style["marker"] for style in theme.OUTCOME_STYLES.values()}) == 4
    first, last = theme.LAYOUT_STYLES["channels_first"], theme.LAYOUT_STYLES["channels_last"]
    assert first["linestyle"] != last["linestyle"] and first["marker"] != last["marker"]


def test_names_are_written_as_their_makers_write_them():
    """An unknown framework or status keeps its own name."""
    assert [theme.framework_name(name) for name in ("torch", "mxnet")] == ["PyTorch", "mxnet"]
    assert [theme.status_name(name) for name in ("oom", "timeout")] == ["OOM", "timeout"]


def test_the_theme_sets_a_white_grid_and_readable_letters():
    """No text is smaller than 9 points and a figure is as wide as a printed page's text."""
    theme.set_theme()
    assert plt.rcParams["axes.grid"] and plt.rcParams["axes.facecolor"] == "white"
    sizes = [
        plt.rcParams[name] for name in ("font.size", "axes.labelsize", "xtick.labelsize", "legend.fontsize")
    ]
    assert min(*sizes, theme.SMALL_PT) >= 9
    assert plt.rcParams["figure.figsize"][0] == 6.5


def test_figures_are_retina_only_in_ipython(monkeypatch):
    """Outside IPython there is no display to set up, and the theme still works."""
    formats = []
    monkeypatch.setattr(theme, "set_matplotlib_formats", formats.append)
    theme.set_theme()
    monkeypatch.setattr(theme, "get_ipython", object)
    theme.set_theme()
    assert formats == ["retina"]


def test_show_hands_over_the_alt_text_and_closes_the_figure(displayed):
    """An open figure would be shown a second time at the end of the cell."""
    theme.show(plt.figure(), "Time per epoch.")
    ((_, metadata),) = displayed
    assert metadata[SVG]["alt"] == "Time per epoch."
    assert plt.get_fignums() == []


def test_the_title_is_in_the_text_for_those_who_cannot_see_it(displayed):
    for title in ("channels_last:\nfaster", "Which is faster?"):
        plt.figure().suptitle(title)
        theme.show(plt.gcf(), "Time per epoch.")
    assert [metadata[SVG]["alt"] for _, metadata in displayed] == [
        "channels_last: faster. Time per epoch.",
        "Which is faster? Time per epoch.",
    ]


def test_a_figure_is_shown_as_wide_as_a_page_and_for_a_narrow_screen(displayed):
    theme.show(plt.figure(), "Time per epoch.")
    ((data, metadata),) = displayed
    assert data[SVG].startswith("<?xml") and data[NARROW].startswith("data:image/svg+xml;base64,")
    widths = [metadata[mime]["width"] for mime in (SVG, NARROW)]
    assert widths == pytest.approx([100 * theme.WIDE_IN, 100 * theme.NARROW_IN])


def test_show_takes_axes_too(displayed):
    """A plot that returns an Axes is shown as its figure."""
    theme.set_theme()
    _, ax = plt.subplots()
    ax.set_xlabel("times as fast")
    theme.show(ax, "Speed-ups.")
    assert "times as fast</text>" in displayed[0][0][SVG]


@pytest.mark.parametrize("alt", [(), ("  ",)])
def test_show_refuses_a_figure_without_alt_text(displayed, alt):
    """A blind reader gets a sentence for every figure."""
    with pytest.raises(ValueError, match="alt is empty"):
        theme.show(plt.figure(), *alt)
    assert displayed == []


def test_what_a_users_own_matplotlibrc_sets_does_not_count():
    plain = "lines.linewidth", "text.usetex", "axes.spines.top", "savefig.transparent"
    theme.set_theme()
    usual = {name: mpl.rcParams[name] for name in plain}
    mpl.rcParams.update({"lines.linewidth": 9.0, "text.usetex": True, "savefig.transparent": True})

    theme.set_theme()

    assert {name: mpl.rcParams[name] for name in plain} == usual
    assert mpl.get_backend().lower() == "agg"
