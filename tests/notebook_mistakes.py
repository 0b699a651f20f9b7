"""What a notebook says of parameters that cannot be, by its own cells, without a kernel."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest

from trainspeed.core.errors import PlanOnly, UserError
from trainspeed.report.parameters import TAG, resolve_parameters
from trainspeed.report.run import NOTEBOOKS


def mistake_in(name: str, parameters: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the UserError that ends the notebook as it plans, which is before anything is measured.

    The kernel, the exit code and the one line that is printed are the same for every UserError.

    Args:
        parameters: A line of YAML, on top of the smoke preset.
        folder: Where a report would be written.
    """
    file = folder / "mine.yaml"
    file.write_text(f"{name}: {{{parameters}}}")
    variables = {
        "TRAINSPEED_PLAN": str(folder / "plan.json"),
        "TRAINSPEED_DEVICE": "cpu",
        "TRAINSPEED_OUT": str(folder / "out"),
    }
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    names: dict[str, object] = {}
    try:
        with plt.rc_context():
            values = resolve_parameters([name], NOTEBOOKS, preset="smoke", params=file)[name]
            for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells:
                if cell.cell_type == "code":
                    exec(cell.source, names)
                    if TAG in cell.metadata.get("tags", []):
                        names |= values
    except UserError as problem:
        return str(problem)
    except PlanOnly:
        return "no mistake: it would be measured"
    raise AssertionError(f"{name} measures nothing")
