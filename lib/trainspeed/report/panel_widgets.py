"""The widgets of the panel: a field for each parameter, and *Measure*. Knows what may be chosen, not what it does.

*Measure* writes the values into the parameters cell, so that the notebook says what was measured, and runs it and what
is below. A kernel cannot do that; `make lab` lets a script in the page do it (`--expose-app-in-browser`). Elsewhere
the lines are shown, to be pasted.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ipywidgets
from IPython import get_ipython
from IPython.display import display

from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import (
    DATASETS,
    FRAMEWORKS,
    LAYOUTS,
    PIPELINES,
    PRECISIONS,
    SINGLE,
    STRATEGIES,
    USER_DATA,
)
from trainspeed.report.executed_cell import executed_cell
from trainspeed.report.parameter_text import as_typed, read_typed, with_values
from trainspeed.report.parameters import TAG, Parameter, check_parameters, parse

STRATEGY_NAMES = tuple(dict.fromkeys(s for of in STRATEGIES.values() for s in of if s != SINGLE))
# Parameter -> what it may be, or what its items may be, where that is a short list.
CHOICES: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("frameworks", "fit_frameworks", "pipeline_frameworks", "turn_frameworks"), FRAMEWORKS),
    **dict.fromkeys(("layouts", "article_layouts"), LAYOUTS),
    **dict.fromkeys(("precisions", "survey_precisions"), PRECISIONS),
    **dict.fromkeys(("pipelines", "crossed_pipelines", "pipeline"), PIPELINES),
    "strategies": STRATEGY_NAMES,
    "compared": ("strong", "weak"),
    "compile": (False, True),
    "dataset": tuple(name for name in DATASETS if name != USER_DATA),
}
# Parameters that most readers want to change; the others are folded, under the headings of the cell.
FIRST = (
    "frameworks",
    "libraries",
    "models",
    "keras_models",
    "batch_sizes",
    "batch_size",
    "images",
    "budget_s",
)
NAME_WIDTH, FIELD_WIDTH = "14em", "32em"
INTRODUCTION = (
    "Choose, then <b>Measure</b>: the values go into the cell above, and it and all cells below run."
)
PASTE = (
    "Where nothing runs now (JupyterLab was not started by <code>make lab</code>), put this into the cell above, and "
    "run it and all below."
)
EDITED = "The parameters cell was edited, and not run since then. Write the panel's values over it?"
WRONG = "var(--jp-error-color1, #b00020)"
CODE = re.compile(r"`([^`]+)`")
OTHERS = "All other parameters"
WRITE_AND_RUN = """
for (const panel of window.jupyterapp?.shell.widgets("main") ?? []) {
  if (panel.sessionContext?.session?.kernel?.id !== %(kernel)s) continue;
  const cells = panel.content.widgets;
  const place = cells.findIndex((cell) => (cell.model.getMetadata("tags") ?? []).includes(%(tag)s));
  if (place < 0) continue;
  const cell = cells[place].model.sharedModel;
  if (cell.getSource().trimEnd() !== %(before)s.trimEnd() && !confirm(%(edited)s)) continue;
  cell.setSource(%(source)s);
  panel.content.deselectAll();
  panel.content.activeCellIndex = place;
  window.jupyterapp.shell.activateById(panel.id);
  window.jupyterapp.commands.execute("notebook:run-all-below");
  panel.content.activeCellIndex = place;  // which is at the end now: the progress is here
  panel.content.scrollToItem?.(place);
}
"""


@dataclass(frozen=True)
class Field:
    """A parameter with its widgets.

    Attributes:
        row: Its name, what is chosen or typed, and its help.
        read: Returns the value; raises a UserError where it cannot be read.
    """

    parameter: Parameter
    row: ipywidgets.Widget
    read: Callable[[], Any]


class ParameterPanel:
    """The widgets of a notebook's parameters.

    Attributes:
        box: All of them, to be displayed.
        measure: The button.
        message: What is wrong with the values, or what to do with the lines.
    """

    def __init__(self, notebook: str, source: str, run: Callable[[str], None]) -> None:
        """Make a panel.

        Args:
            source: Text of the parameters cell.
            run: Is called with its text as it is to be, when the values are right.
        """
        self._notebook, self._source, self._run = notebook, source, run
        self._known = parse(source, notebook)
        self.fields = {name: _field(parameter) for name, parameter in self._known.items()}
        self.measure = ipywidgets.Button(description="Measure", icon="play", button_style="primary")
        self.measure.on_click(lambda _: self.clicked())
        self.message = ipywidgets.HTML()
        rows = [self.fields[name].row for name in self._first]
        self.box = ipywidgets.VBox(
            [ipywidgets.HTML(INTRODUCTION), *rows, self._folded(), self.measure, self.message]
        )
        self.box.add_class("trainspeed-panel")

    @property
    def _first(self) -> list[str]:
        return [name for name in self._known if name in FIRST]

    def _folded(self) -> ipywidgets.Accordion:
        """Return the other parameters, under the headings of the cell."""
        groups: dict[str, list[ipywidgets.Widget]] = {}
        for name, field in self.fields.items():
            if name not in FIRST:
                groups.setdefault(field.parameter.group or OTHERS, []).append(field.row)
        boxes = [ipywidgets.VBox(rows) for rows in groups.values()]
        return ipywidgets.Accordion(children=boxes, titles=tuple(groups))

    def values(self) -> dict[str, Any]:
        """Return the chosen values by name.

        Raises:
            UserError: One cannot be read, or has not the type of its parameter.
        """
        try:
            values = {name: field.read() for name, field in self.fields.items()}
        except UserError as problem:
            raise UserError(f"{self._notebook}: {problem}") from None
        check_parameters(self._notebook, self._known, values)
        return values

    def clicked(self) -> None:
        """Measure with the chosen values, or say in one line what is wrong with them."""
        self.message.value = ""  # what was said of an earlier click
        try:
            source = with_values(self._source, self.values())
        except UserError as problem:
            self.message.value = (
                f'<span role="alert" style="color: {WRONG}">{html.escape(str(problem))}</span>'
            )
            return
        self.message.value = f"{PASTE}<pre>{html.escape(source)}</pre>"
        self._run(source)


def display_panel(notebook: str) -> None:
    """Display the panel of a notebook below its parameters cell; where it cannot show that cell, one line says why."""
    ran = get_ipython().history_manager
    history = [*zip(ran.input_hist_parsed, ran.input_hist_raw, strict=True)]
    try:
        before = executed_cell(ROOT / f"notebooks/{notebook}.ipynb", history)
    except UserError as problem:
        display(ipywidgets.HTML(f"No panel: {html.escape(str(problem))}."))
        return
    script = ipywidgets.Output()

    def run(source: str) -> None:
        names = {"kernel": _kernel_id(), "tag": TAG, "before": before, "edited": EDITED, "source": source}
        code = WRITE_AND_RUN % {name: json.dumps(text) for name, text in names.items()}
        script.outputs = (
            {"output_type": "display_data", "data": {"application/javascript": code}, "metadata": {}},
        )
        script.outputs = ()  # a notebook that is opened again is not to run by itself

    panel = ParameterPanel(notebook, before, run)
    panel.box.children = (*panel.box.children, script)
    display(panel.box)


def _kernel_id() -> str:
    """Return the kernel's id in Jupyter, as its connection file has it."""
    from ipykernel.connect import get_connection_file

    return Path(get_connection_file()).stem.removeprefix("kernel-")


def _field(parameter: Parameter) -> Field:
    choices = CHOICES.get(parameter.name, ())
    if parameter.kind == "list" and choices:
        return _boxes(parameter, choices)
    if parameter.kind == "bool":
        widget = ipywidgets.Checkbox(value=parameter.default)
        return _labelled(parameter, widget, lambda: widget.value)
    if parameter.default in choices:
        widget = ipywidgets.Dropdown(options=choices, value=parameter.default)
        return _labelled(parameter, widget, lambda: widget.value)
    empty = "empty" if parameter.kind == "list" else "None" if parameter.optional else ""
    widget = ipywidgets.Text(value=as_typed(parameter, parameter.default), placeholder=empty)
    return _labelled(parameter, widget, lambda: read_typed(parameter, widget.value))


def _labelled(parameter: Parameter, widget: ipywidgets.DOMWidget, read: Callable[[], Any]) -> Field:
    widget.description, widget.style.description_width = parameter.name, NAME_WIDTH
    widget.layout.width, widget.layout.flex = FIELD_WIDTH, "none"
    return Field(parameter, _row(widget, parameter), read)


def _boxes(parameter: Parameter, choices: Sequence[Any]) -> Field:
    """Return a box for each item that a list may have; those that it has come first, as their order counts."""
    boxes = {
        item: ipywidgets.Checkbox(
            value=item in parameter.default,
            description=str(item),
            indent=False,
            layout={"width": "max-content"},
        )
        for item in dict.fromkeys((*parameter.default, *choices))
    }
    name = ipywidgets.Label(
        parameter.name, layout={"width": NAME_WIDTH, "justify_content": "flex-end", "flex": "none"}
    )
    together = ipywidgets.HBox(
        list(boxes.values()),
        layout={"flex_flow": "row wrap", "grid_gap": "0 1em", "flex": "0 1 auto", "margin": "0 0 0 8px"},
    )
    row = _row(name, parameter, together)
    return Field(parameter, row, lambda: [item for item, box in boxes.items() if box.value])


def _row(first: ipywidgets.Widget, parameter: Parameter, *others: ipywidgets.Widget) -> ipywidgets.HBox:
    text = CODE.sub(r"<code>\1</code>", html.escape(parameter.help))
    told = ipywidgets.HTML(f'<small style="display: block; line-height: 1.4">{text}</small>')
    told.layout = {"flex": "1 1 10em", "margin": "2px 2px 2px 1em"}
    return ipywidgets.HBox([first, *others, told], layout={"align_items": "baseline"})
