"""A notebook's parameters to click, for a reader in JupyterLab; nothing anywhere else. Says only where."""

from __future__ import annotations

import importlib.util

from trainspeed.conduct.context import current, in_notebook


def show_parameters(notebook: str) -> None:
    """Show the parameters of a notebook as widgets, below the cell that has them.

    Nothing is shown in a report, outside a notebook, and where ipywidgets is not installed: then the cell is all there
    is, and all that is needed.
    """
    if in_notebook() and current().by_hand and importlib.util.find_spec("ipywidgets"):
        from trainspeed.report.panel_widgets import display_panel

        display_panel(notebook)
