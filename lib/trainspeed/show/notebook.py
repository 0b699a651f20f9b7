"""What every notebook shows besides its own question: sentences, verdicts, monitor, doubts.

Puts files and displays together; decides nothing.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown, display
from pandas.io.formats.style import Styler

from trainspeed.core.files import METADATA, VERDICTS, write_atomically
from trainspeed.core.format import NAMES, counted, gigabytes, listed, percent
from trainspeed.core.ledger import shortened
from trainspeed.core.markdown import escape
from trainspeed.core.monitor_csv import read_monitors
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import Measured
from trainspeed.core.spans import active_spans_s, epoch_ends_s, turn_spans_s
from trainspeed.judge.comparison import Verdict, as_json

MOST_FILES = 5  # that a sentence names
SPAN_COLUMNS = ["start", "end", "active", "timed", "others", "name", "framework", "devices", "epoch_ends"]


def show_sentences(
    sentences: Iterable[str],
    *,
    otherwise: str = "",
    verdicts: Iterable[Verdict] = (),
    unmeasured: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Show sentences as a list, as text: see `core.markdown`; `otherwise` where there are none.

    Args:
        verdicts: The verdicts that the sentences are about: the front page links from them to this list, and to the
            very sentence of a verdict.
        unmeasured: What of a search was not measured, as plain values: the front page tells it, too.
    """
    known = [*verdicts]
    anchors = {verdict.sentence: verdict.anchor for verdict in known}
    lines, said = [], []
    for sentence in sentences:
        if anchor := anchors.get(sentence):
            said.append(anchor)
        lines.append(f"- {_anchor(anchor)}{escape(sentence)}")
    about = of_verdicts(known, anchors=said) or (
        {METADATA: {"unmeasured": [*unmeasured]}} if unmeasured else {}
    )
    display(Markdown("\n".join(lines) or otherwise), metadata=about)


def _anchor(name: str | None) -> str:
    """Return what makes a line of Markdown a place that a link may lead to."""
    return f'<span id="{html.escape(name)}"></span>' if name else ""


def of_verdicts(verdicts: Iterable[Verdict], *, anchors: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metadata of an output that shows verdicts: their kinds, by factor and quantity.

    Args:
        anchors: Of the verdicts that have a line of their own in the output.
    """
    kinds = sorted({(verdict.factor, verdict.quantity) for verdict in verdicts})
    return {METADATA: {"verdicts": kinds, "anchors": [*anchors]}} if kinds else {}


def show_blocks(texts: Iterable[str], *, otherwise: str = "") -> None:
    """Show pieces of Markdown one below the other, with what is of a ledger in them escaped; else `otherwise`."""
    display(Markdown("\n\n".join(texts) or otherwise))


def show_table(table: Styler | None) -> None:
    """Show a table from the middle of a cell; nothing where there is none."""
    if table is not None:
        display(table)


def show_folded(name: str, table: Styler | None) -> None:
    """Show a long table folded behind its name, where there is one; plain HTML, so it opens in any browser."""
    if table is None:
        return
    display(HTML(f"<details><summary>{html.escape(name)}</summary>{table.to_html()}</details>"))


def record_verdicts(measured: Measured, verdicts: Sequence[Verdict]) -> None:
    """Write the verdicts of a study into `verdicts.json`, in place of its older ones."""
    path = measured.out / VERDICTS
    others = [element for element in read_elements(path) if element.get("study") != measured.study]
    text = json.dumps([*others, *as_json(verdicts)], indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def read_elements(path: Path) -> list[dict]:
    """Return the elements of `verdicts.json`; none of a damaged file, which is kept under another name."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError:
        path.replace(path.with_suffix(".damaged.json"))
        return []
    return [element for element in data if isinstance(element, dict)] if isinstance(data, list) else []


def monitor_data(measured: Measured) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Return the monitor's samples and the time spans of the runs, as `monitor.plot_monitor` takes them, and doubts.

    Where several nodes measured, those of the one that measured most: which, and where the others' are, is one of the
    sentences.
    """
    nodes = [node for node, _ in Counter(run.node for run in measured.runs).most_common()]
    runs = [run for run in measured.runs if run.node == nodes[0]] if nodes else []
    names = sorted({run.monitor for run in runs if run.monitor})
    samples, doubts = read_monitors(measured.folder, names)
    spans = [_span(run) for run in runs if run.started_at and run.stages_s]
    others = sorted({run.monitor for run in measured.runs if run.monitor} - {*names})
    told = _of_one_node(nodes, others) if len(nodes) > 1 else ()
    return samples, pd.DataFrame(spans, columns=SPAN_COLUMNS), (*told, *shortened(doubts, "more file"))


def _of_one_node(nodes: Sequence[str | None], others: Sequence[str]) -> tuple[str]:
    """Return which of several nodes the chart shows, and in which files what the monitors of the others saw is."""
    what = (
        f"{listed(others[:MOST_FILES])}{' and others' if len(others) > MOST_FILES else ''}"
        if others
        else "no file"
    )
    return (
        f"Measured by {counted(len(nodes), 'node')}: the chart is of {nodes[0] or 'the one without a name'}, which "
        f"measured most. What the monitors of the others saw is in {what}.",
    )


def _span(run: Run) -> dict[str, Any]:
    start = datetime.fromisoformat(run.started_at)
    cores = (run.machine.get("cores") or {}).get("logical")

    def moments(spans_s: Iterable[tuple[float, float]]) -> list[tuple[datetime, ...]]:
        return [tuple(start + timedelta(seconds=moment_s) for moment_s in span) for span in spans_s]

    return {
        "start": start,
        "end": start + timedelta(seconds=sum(run.stages_s.values())),
        "active": moments(active_spans_s(run)),
        "timed": moments(turn_spans_s(run) or active_spans_s(run)),
        "others": [
            (*moments([span])[0], 100 * turn.others_cores / cores)
            for span, turn in zip(turn_spans_s(run), run.turns, strict=True)
            if turn.is_disturbed and cores
        ],
        "name": ", ".join(run.trial.describe(without=("image_size", "precision", "compile"))),
        "framework": run.trial.framework,
        "devices": run.trial.cores if run.machine.get("device") == "cpu" else run.trial.devices_per_node,
        "epoch_ends": [start + timedelta(seconds=moment_s) for moment_s in epoch_ends_s(run)],
    }


def seized_sentences(measured: Measured) -> list[str]:
    """Return how much GPU memory each framework's default allocation took, and how much it needed."""
    if measured.machine.get("device") != "gpu":
        return [
            "There is no GPU whose memory a framework would seize: on a CPU, it takes memory as it needs it."
        ]
    runs = [run for run in measured.runs if run.role is Role.ALLOCATION and run.epoch_s]
    return [_seized(run) for run in runs] or ["No run with the default allocation was measured."]


def _seized(run: Run) -> str:
    framework, memory = NAMES[run.trial.framework], run.gpu_memory
    needed = "not known" if run.peak_memory_bytes is None else gigabytes(run.peak_memory_bytes, 2)
    if memory is None:
        return f"How much {framework} takes by default is not known here; needed: {needed}."
    share = percent(memory.taken_bytes / memory.total_bytes)
    taken = f"{gigabytes(memory.taken_bytes, 2)}, {share} of the GPU"
    return f"{framework} by default takes {taken}; needed: {needed}."
