"""The widgets of a notebook's parameters, without a browser: see `tests/lab` for one."""

from __future__ import annotations

import nbformat
import pytest

from trainspeed.core.paths import ROOT
from trainspeed.report import panel
from trainspeed.report.panel_widgets import FIRST, ParameterPanel
from trainspeed.report.parameters import TAG, parse, read_notebook

MEASURING = ("layout", "multi_gpu", "amp", "conv2d", "switches", "check", "summary")
CELL = """frameworks: list = ["torch"]  # frameworks <b>
models: list = ["cnn10"]
batch_sizes: list = [16]
compile: list = [False]
# Held equal
dataset: str = "auto"
budget_s: float | None = 180.0
seed: int = 0"""


@pytest.fixture
def run():
    """Collect the texts of parameters cells with which a panel would measure."""
    return []


@pytest.fixture
def shown(run):
    return ParameterPanel("layout", CELL, run.append)


def widget_of(panel, name):
    """Return what is chosen or typed in."""
    return panel.fields[name].row.children[-2]


def box_of(panel, name, label):
    return next(box for box in widget_of(panel, name).children if box.description == label)


def test_what_is_chosen_and_typed_goes_into_the_text(shown, run):
    box_of(shown, "frameworks", "tensorflow").value = True
    box_of(shown, "compile", "True").value = True
    widget_of(shown, "models").value = "cnn10, timm/resnet18"
    widget_of(shown, "batch_sizes").value = "8, 16"
    widget_of(shown, "dataset").value = "digits"
    widget_of(shown, "budget_s").value = ""
    shown.clicked()

    values = {name: known.default for name, known in parse(run[0], "layout").items()}
    assert values == {
        "frameworks": ["torch", "tensorflow"],
        "models": ["cnn10", "timm/resnet18"],
        "batch_sizes": [8, 16],
        "compile": [False, True],
        "dataset": "digits",
        "budget_s": None,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("batch_sizes", "8, x", "layout: batch_sizes[1] must be int, got &#x27;x&#x27; (str)"),
        ("seed", "", "layout: seed must be int, got None (NoneType)"),
        ("budget_s", "soon", "layout: budget_s must be float, got &#x27;soon&#x27; (str)"),
        ("batch_sizes", "<b>[", "layout: batch_sizes: &#x27;&lt;b&gt;[&#x27; cannot be read as a list"),
        (
            "batch_sizes",
            "2001-99-99",
            "layout: batch_sizes: &#x27;2001-99-99&#x27; cannot be read as timestamp: in quotes it is text",
        ),
        ("budget_s", "1e400", "got &#x27;1e400&#x27; (str): write a finite number<"),
        ("budget_s", "1:30", "layout: budget_s: YAML reads 1:30 as 90: write 90 where you mean that"),
    ],
)
def test_a_wrong_value_is_one_line_and_measures_nothing(shown, run, name, typed, said):
    widget_of(shown, name).value = typed
    shown.clicked()

    assert said in shown.message.value and "\n" not in shown.message.value and run == []


def test_the_lines_are_shown_for_where_nothing_can_write_them(shown, run):
    widget_of(shown, "seed").value = "7"
    shown.clicked()

    assert "seed: int = 7</pre>" in shown.message.value and "frameworks &lt;b&gt;" in shown.message.value


@pytest.mark.parametrize("name", MEASURING)
def test_every_notebook_that_measures_has_a_panel_of_all_its_parameters(name):
    cells = nbformat.read(ROOT / f"notebooks/{name}.ipynb", 4).cells
    place = next(place for place, cell in enumerate(cells) if TAG in cell.metadata.get("tags", []))
    after = cells[place + 1]
    known = read_notebook(ROOT / f"notebooks/{name}.ipynb")
    own = ParameterPanel(name, cells[place].source, lambda text: None)

    assert after.metadata.tags == ["remove_cell"] and f'panel.show_parameters("{name}")' in after.source
    assert own.values() == {parameter: one.default for parameter, one in known.items()}
    assert known.keys() & FIRST


@pytest.mark.parametrize(
    ("kernel", "in_report", "shown"), [(True, "", 1), (True, "1", 0), (False, "", 0), (False, "1", 0)]
)
def test_only_a_reader_in_a_notebook_is_shown_a_panel(monkeypatch, kernel, in_report, shown):
    names = []
    monkeypatch.setattr("trainspeed.report.panel_widgets.display_panel", names.append)
    monkeypatch.setattr(panel, "in_notebook", lambda: kernel)
    monkeypatch.setenv("TRAINSPEED_REPORT", in_report)

    panel.show_parameters("layout")

    assert names == ["layout"] * shown
