"""Run the project's notebooks in a real JupyterLab, as a reader does, with real frameworks and the smoke preset.

python tests/run_all_in_lab.py FOLDER [NOTEBOOK…]

Prints a line for each notebook: whether a bar was seen and is gone, what failed, which cells showed something last.
FOLDER gets the notebooks as they were saved, the ledger, and a picture of each. Takes minutes; what of it runs among
the tests is in `tests/lab`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent))

from browser_helper import browser
from lab_helper import Lab, errors_in, place_of, server
from trainspeed.core.files import COMPARE, SUMMARY, notebook_names
from trainspeed.core.paths import ROOT
from trainspeed.report.parameter_text import with_values
from trainspeed.report.parameters import TAG, read_file

NOTEBOOKS = ROOT / "notebooks"
LATER = (SUMMARY, COMPARE)  # what they show, the others have measured
BUDGET_S = 60.0  # of a notebook; a search on a busy machine would go on for a quarter of an hour
LONG_MS = 900_000  # for a notebook


def copy_of(name: str, folder: Path, out: Path) -> None:
    """Write a notebook with the parameters of the smoke preset; one that compares has what is measured here."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    cell = next(cell for cell in notebook.cells if TAG in cell.metadata.get("tags", []))
    values = read_file(NOTEBOOKS / "presets/smoke.yaml", NOTEBOOKS).get(name, {})
    if "budget_s" in values:
        values = values | {"budget_s": BUDGET_S}
    recorded = sorted(str(path) for path in (ROOT / "data/measured").iterdir())
    values = {"runs": [str(out), *recorded]} if name == COMPARE else values
    cell.source = with_values(cell.source, values)
    nbformat.write(notebook, folder / f"{name}.ipynb")


def run(lab: Lab, name: str, folder: Path) -> str:
    """Restart and run all cells of a notebook; return what was seen, in a line."""
    begun = time.monotonic()
    lab.open(name)
    last = max(place for place, cell in enumerate(lab.cells()) if cell["cell_type"] == "code")
    lab.restart_and_run_all()
    bar = lab.page.locator("progress")
    if name not in LATER:
        bar.first.wait_for(state="attached", timeout=LONG_MS)
    lab.wait_for_run(last, timeout_ms=LONG_MS)
    cells, seconds = lab.cells(), time.monotonic() - begun
    lab.save()
    explored = next((n for n, cell in enumerate(cells) if cell["id"] == "explore-text"), len(cells))
    showing = [cell["id"] for cell in cells[:explored] if cell["cell_type"] == "code" and cell["outputs"]]
    lab.select(place_of(cells, showing[-1]))
    lab.page.screenshot(path=folder / f"{name}.png")
    return (
        f"{name}: {seconds:.0f} s; bars left: {bar.count()}; failed: {errors_in(cells) or 'nothing'}; "
        f"last before Explore: {', '.join(showing[-3:])}"
    )


def main(folder: Path, *names: str) -> None:
    """Run the notebooks one after another, what shows their runs last."""
    names = names or tuple(sorted(notebook_names(NOTEBOOKS), key=lambda name: (name in LATER, name)))
    out = folder / "out"
    (folder / "notebooks").mkdir(parents=True)
    for name in names:
        copy_of(name, folder / "notebooks", out)
    environment = {"TRAINSPEED_OUT": str(out), "PYTHONPATH": str(ROOT / "lib")}
    with server(folder, folder / "notebooks", environment, startup="") as address, browser() as started:
        lab = Lab(started.new_page(), address)
        for name in names:
            print(run(lab, name, folder), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
