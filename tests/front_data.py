"""A made-up report folder for the tests of the front page: runs, verdicts, notebooks and their pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import conv2d_data
from study_data import make_pair
from trainspeed.comparison import Verdict, as_json, compare, controls
from trainspeed.conv2d_verdicts import library_verdicts
from trainspeed.front_page import STUDIES
from trainspeed.ledger import Ledger
from trainspeed.run import Run

SESSION = "20261120T100000Z-abcd"  # that of the made-up runs
OLDER = "20261001T100000Z-abcd"
# Study -> what is compared in it.
PAIRS = {
    "layout": ("layout", ("channels_first", "channels_last")),
    "amp": ("precision", ("fp32", "bf16")),
    "multi_gpu": ("pipeline", ("arrays", "in_model")),
}


def runs_of(study: str, ratio: float = 1.3, *, blocks: int = 6, **more) -> list[Run]:
    """Return the runs of a pair whose candidate is about so many times as fast as its baseline."""
    if study == "conv2d":
        return conv2d_data.world(blocks=blocks, torch=4.0 / ratio)
    factor, values = PAIRS[study]
    ratios = [ratio * (1 + 0.001 * block) for block in range(blocks)]
    return make_pair(factor, values, ratios, study=study, **{"test_accuracy": 0.9, **more})


def verdicts_of(runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts of such runs: on time, on accuracy where they have one, and on controls."""
    study = runs[0].study
    if study == "conv2d":
        return library_verdicts(runs, conv2d_data.CORE)
    factor, values = PAIRS[study]
    about = {"question": "Does it train faster?"}
    on_time = compare(runs, factor, *values, **about)
    return [*on_time, *compare(runs, factor, *values, quantity="accuracy", **about), *controls(runs)]


def write_report(
    out: Path,
    runs: Iterable[Run] = (),
    *,
    studies: Sequence[str] = STUDIES,
    verdicts: Sequence[Verdict] | None = None,
) -> list[Verdict]:
    """Write ledger, verdicts, notebooks and pages of a report; return the verdicts, those of the runs by default."""
    out.mkdir(exist_ok=True)
    runs = list(runs)
    for run in runs:
        Ledger(out).append(run)
    if verdicts is None:
        of = [[run for run in runs if run.study == study] for study in dict.fromkeys(r.study for r in runs)]
        verdicts = [verdict for mine in of for verdict in verdicts_of(mine)]
    (out / "verdicts.json").write_text(json.dumps(as_json(verdicts)))
    for study in studies:
        write_notebook(out, study)
        write_page(out, study)
    return list(verdicts)


def write_notebook(out: Path, name: str, **ending) -> None:
    """Write a notebook that says how it ended; one that failed under its own name."""
    told = {"title": f"The question of {name}", "status": "ok", "error": None, "seconds": 60.0}
    told |= {"session": SESSION, "preset": "quick", "rendered": False, **ending}
    out.mkdir(exist_ok=True)
    suffix = "" if told["status"] == "ok" else ".failed"
    (out / f"{name}{suffix}.ipynb").write_text(json.dumps({"cells": [], "metadata": {"trainspeed": told}}))


def write_page(out: Path, name: str, anchors: Sequence[str] = ("speed-up", "verdict", "accuracy")) -> None:
    """Write a page with these places that links can name."""
    (out / f"{name}.html").write_text("".join(f'<h2 id="{anchor}">x</h2>' for anchor in anchors))
