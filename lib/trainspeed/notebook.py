"""What every notebook shows beside its own question: sentences, verdicts, monitor, doubts.

Puts files and displays together; decides nothing.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
from IPython.display import HTML, Markdown, display
from pandas.io.formats.style import Styler

from trainspeed.comparison import Verdict, as_json
from trainspeed.files import write_atomically
from trainspeed.monitor_frame import no_samples, read_monitor
from trainspeed.run import Run
from trainspeed.schedule import DEFAULT_ALLOCATION
from trainspeed.study import Measured
from trainspeed.wording import NAMES, describe

VERDICTS = "verdicts.json"
SPAN_COLUMNS = ["start", "end", "name", "framework", "epoch_ends"]


def say(sentences: Iterable[str], *, otherwise: str = "") -> None:
    """Show sentences as a list; `otherwise` where there are none."""
    lines = [f"- {sentence}" for sentence in sentences]
    display(Markdown("\n".join(lines) or otherwise))


def show_blocks(texts: Iterable[str], *, otherwise: str = "") -> None:
    """Show pieces of Markdown below each other."""
    display(Markdown("\n\n".join(texts) or otherwise))


def show_table(table: Styler) -> None:
    """Show a table from the middle of a cell."""
    display(table)


def show_folded(tables: Mapping[str, Styler]) -> None:
    """Show long tables behind their names, to open one by one; plain HTML, so it works in any browser."""
    parts = (
        f"<details><summary>{html.escape(name)}</summary>{table.to_html()}</details>"
        for name, table in tables.items()
    )
    display(HTML("\n".join(parts)))


def table(rows: Sequence[dict]) -> pd.DataFrame:
    """Return rows as a frame."""
    return pd.DataFrame(rows)


def record(measured: Measured, verdicts: Sequence[Verdict]) -> None:
    """Write the verdicts of a study into `verdicts.json`, in place of its older ones."""
    path = measured.out / VERDICTS
    others = [element for element in read_elements(path) if element.get("study") != measured.study]
    text = json.dumps([*others, *as_json(verdicts)], indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def read_elements(path: Path) -> list[dict]:
    """Return the elements of `verdicts.json`; a damaged file is kept under another name, and none returned."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError:
        path.replace(path.with_suffix(".damaged.json"))
        return []
    return [element for element in data if isinstance(element, dict)] if isinstance(data, list) else []


def monitor_data(measured: Measured) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the monitor's samples, the runs' spans (see `plots.plot_monitor`) and what was missing."""
    frames, missing = [], []
    for name in sorted({run.monitor for run in measured.runs if run.monitor}):
        path = measured.folder / name
        if path.exists():
            samples, comments = read_monitor(path)
            frames.append(samples)
            missing += comments
    rows = [_span(run) for run in measured.runs if run.started_at and run.stages_s]
    spans = pd.DataFrame(rows, columns=SPAN_COLUMNS)
    samples = pd.concat(frames, ignore_index=True) if frames else no_samples()
    return samples, spans, missing


def _span(run: Run) -> dict:
    start = datetime.fromisoformat(run.started_at)
    trained = start + timedelta(seconds=run.stages_s.get("start", 0) + run.stages_s.get("build", 0))
    ends, now = [], trained
    for seconds in run.epoch_s:
        now += timedelta(seconds=seconds)
        ends.append(now)
    return {
        "start": start,
        "end": start + timedelta(seconds=sum(run.stages_s.values())),
        "name": ", ".join(describe(run.trial, without=("image_size", "precision", "compile"))),
        "framework": run.trial.framework,
        "epoch_ends": ends,
    }


def seized_sentences(measured: Measured) -> list[str]:
    """Return how much GPU memory each framework's default allocation took, beside what it needed.

    Taken is what the monitor saw on the fullest GPU during that run, less what was in use before.
    """
    runs = [run for run in measured.runs if run.label == DEFAULT_ALLOCATION and run.epoch_s]
    if measured.machine.get("device") != "gpu":
        return ["Not measured here: there is no GPU. On a CPU, frameworks take memory as they need it."]
    samples, _, _ = monitor_data(measured)
    sentences = []
    for run in runs:
        span = _span(run)
        gpus = samples[samples["device"] != "host"]
        before = gpus[gpus["utc"] < span["start"]].groupby("device")["memory_used_bytes"].last()
        during = gpus[gpus["utc"].between(span["start"], span["end"])]
        taken = (during.groupby("device")["memory_used_bytes"].max() - before).max()
        total = during["memory_total_bytes"].max()
        need = run.peak_memory_bytes
        needed = "not known" if need is None else f"{need / 1e9:.2f} GB"
        seized = "not sampled" if pd.isna(taken) else f"{taken / 1e9:.2f} GB, {taken / total:.0%} of the GPU"
        name = NAMES[run.trial.framework]
        sentences.append(f"{name} by default takes {seized}; needed: {needed}.".replace("%", " %"))
    return sentences or ["No run with the default allocation was measured."]
