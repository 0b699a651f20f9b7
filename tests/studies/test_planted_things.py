"""An exception in each chart and table of a page, one after the other: all else of the page is still there.

In this process, from made-up runs. `tests/report/test_whole_page.py` has those of the other notebooks in real kernels.
"""

from __future__ import annotations

import json
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pytest
from bs4 import BeautifulSoup

from guarded_notebook import Calls, GuardedNotebook
from planted import drawing
from sessions_data import upgraded_twice
from study_data import make_run
from switches_ledger import VALUES, executed, whole_ledger
from trainspeed.core.files import METADATA
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Role, Status
from trainspeed.report.execute import gaps_in
from trainspeed.report.export import export_html
from trainspeed.report.parameters import resolve_parameters
from trainspeed.report.run import NOTEBOOKS
from trainspeed.studies.switches import introductions

mpl.use("Agg")
ACROSS = "trainspeed.studies.across"
WITHIN = {  # what is shown piece by piece: the function that makes a piece
    "history": {(f"{ACROSS}.history_chart", "_plot_machine")},
    "compare": {(f"{ACROSS}.tables", "against_tables")},
}
# What the made-up runs have nothing for.
HOW_TO_READ = {
    text for name, text in vars(introductions).items() if name.isupper()
}  # a table that is not there
NOT_SHOWN = {
    "switches": {"left_out_table", "results_table", "plot_interactions"},
    "check": {"left_out_table"},
}


def switches(out, patch):
    whole_ledger(executed(patch, out)["plan"], out)
    return resolve_parameters(["switches"], NOTEBOOKS, preset="smoke")["switches"] | VALUES


def check(out, patch):
    about = {"study": "check", "tf32": (), "started_at": "2026-11-20T10:00:00+00:00"}
    labels = (Role.CONTROL, Role.CONTROL_AGAIN)
    Ledger(out).append(
        *(make_run(block=block, label=label, **about) for block in range(6) for label in labels)
    )
    return resolve_parameters(["check"], NOTEBOOKS, preset="smoke")["check"]


def history(out, patch):
    """Sessions of two machines."""
    runs = upgraded_twice()
    Ledger(out).append(*runs)
    gpu = [{"name": "NVIDIA H100", "uuid": "2", "memory_bytes": 80 * 10**9}]
    other = [
        replace(run, machine={**run.machine, "gpus": gpu}, session=f"{run.session[:-4]}efgh") for run in runs
    ]
    Ledger(out / "other").append(*other)
    return of_folders(patch, out, out / "other")


def compare(out, patch):
    """Two studies of two jobs, with a failure."""
    for name, seconds in (("old", 2.0), ("new", 1.0)):
        about = {"dataset": "digits", "image_size": 32, "peak_memory_bytes": 10**8, "test_accuracy": 0.5}
        for study, model in (("layout", "cnn10"), ("amp", "vgg16")):
            runs = [make_run(seconds + b / 100, block=b, study=study, model=model, **about) for b in range(6)]
            Ledger(out / name).append(*runs)
        status = {"old": {"status": Status.OOM, "reason": "12 GB"}, "new": {}}[name]
        Ledger(out / name).append(make_run(batch_size=128, images_per_epoch=128, dataset="digits", **status))
    return of_folders(patch, out / "old", out / "new")


def of_folders(patch, *folders):
    listed = folders[0] / "paths.json"
    listed.write_text(json.dumps([str(folder / "runs.jsonl") for folder in folders]))
    patch.setenv("TRAINSPEED_COMPARE", str(listed))
    return {"runs": [folder.name for folder in folders]}


class Page:
    """A notebook as it is, and what is drawn in it."""

    def __init__(self, name, make, out, patch):
        self.name, self.out = name, out
        values = make(out, patch)
        for variable, value in {
            "TRAINSPEED_DEVICE": "cpu",
            "TRAINSPEED_OUT": out,
            "TRAINSPEED_REPORT": 1,
            "TRAINSPEED_RENDER": out,
        }.items():
            patch.setenv(variable, str(value))
        self.calls = Calls(drawing(name) | WITHIN.get(name, set()))
        self.calls.__enter__()
        self.made = GuardedNotebook(name, str(out), values)
        self.drawn_in = {}  # number of a cell -> function -> how often it is called there
        for index in range(len(self.made.notebook.cells)):
            self.calls.count = {}
            self.made.run(index)
            self.drawn_in[index] = dict(self.calls.count)
        self.whole = self.made.shown

    def again(self, *cells, raises):
        """Run cells again; return what they show with a function raising in them."""
        self.calls.count, self.calls.raises = {}, raises
        self.made.run(*cells)
        return self.made.shown

    def close(self):
        self.made.close()
        self.calls.__exit__()


@pytest.fixture(scope="module", params=[switches, check, history, compare], ids=lambda make: make.__name__)
def page(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, plt.rc_context():
        patch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 2)
        patch.setattr("trainspeed.sensors.machine.core_quota", lambda: None)
        made = Page(
            request.param.__name__, request.param, tmp_path_factory.mktemp(request.param.__name__), patch
        )
        yield made
        made.close()


def without_errors(shown):
    return [
        text for text in shown if not text.startswith(("RuntimeError: planted", "Not shown, as this failed"))
    ]


def test_every_chart_and_table_is_drawn_where_nothing_is_planted(page):
    assert not [text for texts in page.whole.values() for text in texts if "Error: " in text]
    drawn = {name for calls in page.drawn_in.values() for _, name in calls}
    asked = {name for _, name in page.calls.functions}
    assert asked - drawn == NOT_SHOWN.get(page.name, set())


def test_an_exception_in_one_thing_costs_that_thing_alone(page):
    """Of each function in turn, and of each of its calls, as charts and tables of one kind may be several."""
    planted = 0
    for cell, calls in page.drawn_in.items():
        for function, count in calls.items():
            for number in range(1, count + 1):
                shown = page.again(cell, raises=lambda f, n, at=(function, number): (f, n) == at)[cell]
                errors = [text for text in shown if text.startswith("RuntimeError: planted")]
                assert errors == [f"RuntimeError: planted in {function[1]}"], (cell, function)
                left, whole = without_errors(shown), page.whole[cell]
                missing = [text for text in whole if text not in left]
                assert [text for text in whole if text in left] == left, (cell, function)
                assert len(missing) - len({*missing} & HOW_TO_READ) <= 1, (cell, function, missing)
                planted += 1
        page.again(cell, raises=lambda f, n: False)
    assert planted >= 2 and page.made.shown == page.whole


def test_with_all_of_them_planted_every_sentence_verdict_and_a_banner_are_there(page, tmp_path):
    verdicts = page.out / "verdicts.json"
    recorded = verdicts.read_text() if verdicts.exists() else None
    verdicts.unlink(missing_ok=True)

    sources = [cell.source for cell in page.made.notebook.cells]
    cells = [index for index, calls in page.drawn_in.items() if calls or "record_verdicts" in sources[index]]
    page.again(*cells, raises=lambda function, number: True)

    if recorded is not None:
        assert json.loads(verdicts.read_text()) == json.loads(recorded)
    gaps = gaps_in(page.made.notebook, str)
    assert {gap["error"] for gap in gaps} == {
        f"RuntimeError: planted in {name}" for calls in page.drawn_in.values() for _, name in calls
    }
    page.made.notebook.metadata[METADATA] = {
        "title": page.name,
        "status": "incomplete",
        "gaps": gaps,
        "cell": None,
    }
    nbformat.write(page.made.notebook, tmp_path / "planted.ipynb")
    export_html(tmp_path / "planted.ipynb", tmp_path / "planted.html", pictures=tmp_path)
    soup = BeautifulSoup((tmp_path / "planted.html").read_text(), "html.parser")
    (banner, *_) = soup.select(".banner")
    for item, gap in zip(banner.select("li"), gaps, strict=True):
        place = soup.find(id=item.a["href"].removeprefix("#"))
        assert gap["error"] in [line.get_text() for line in place.select(".error-line")]
