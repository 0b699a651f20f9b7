"""Where a sentence says that something was not measured, no empty chart stands beside it."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pytest

from trainspeed.core.runs import RunSet
from trainspeed.report.run import NOTEBOOKS
from trainspeed.studies.multi_gpu.scaling import scaling_frame

mpl.use("Agg")
NO_RUNS = SimpleNamespace(
    runs=RunSet(()), coverage=None, machine={}, of=lambda trials: [], role=lambda role: []
)


@pytest.mark.parametrize(
    ("name", "cells", "given"),
    [
        ("switches", ["switches-10"], {"plan": SimpleNamespace(starts={}), "found": []}),
        ("switches", ["switches-12"], {"found": []}),
        ("switches", ["switches-16"], {"found": [], "verdicts": []}),
        ("layout", ["cell-22"], {"frameworks": ["torch"]}),
        (
            "multi_gpu",
            ["ef29da82", "cell-16"],
            {"by_devices": [], "by_nodes": [], "control": [], "expected": scaling_frame([]), "forecasts": []},
        ),
        ("multi_gpu", ["cell-09", "cell-11", "cell-13"], {"runs": RunSet(())}),
        (
            "amp",
            ["cell-20", "cell-23", "roofline-chart", "cell-24"],
            {"variant": RunSet(()), "runs": [], "by_precision": []},
        ),
        ("conv2d", ["cell-22", "782b9d8c"], {"plan": SimpleNamespace(core=(), sweep=())}),
    ],
    ids=[
        "parts of a step",
        "switches",
        "way",
        "frameworks",
        "devices",
        "pipelines alone",
        "roofs of amp",
        "roofs of conv2d",
    ],
)
def test_what_was_not_measured_is_said_and_not_drawn(name, cells, given, capsys):
    found = {cell.id: cell.source for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells}
    (imports,) = (source for source in found.values() if source.endswith("set_theme()"))
    drawn = []
    with plt.rc_context():
        names = {}
        exec(imports, names)
        names |= {"measured": NO_RUNS, **given, "show": lambda drawing, alt: drawn.append(drawing)}
        for cell in cells:
            exec(found[cell], names)

    assert not drawn
    assert "Markdown" in capsys.readouterr().out, "a sentence is shown"


MARKS_OF_SOME_CHARTS = ("dotted", "shaded", "vertical line", "grey band around", "hollow mark has too few")


@pytest.mark.parametrize("name", ["conv2d", "multi_gpu"])
def test_prose_names_no_mark_that_only_some_of_its_charts_have(name):
    """What a chart has drawn, its own note and legend say."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells
    prose = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")

    assert not [mark for mark in MARKS_OF_SOME_CHARTS if mark in prose]
