"""What the layout notebook asks of its runs: which pairs, and what they mean in words.

Pure functions on runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from trainspeed.core import layer_table
from trainspeed.core.format import NAMES, counted, listed, model_of
from trainspeed.core.markdown import escape
from trainspeed.core.result import layouts_text
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.comparison import Verdict, compare, ratios
from trainspeed.judge.text import size_of, what_decides
from trainspeed.judge.verdict import Outcome
from trainspeed.search.switch import DEFAULT_LAYOUT
from trainspeed.snippets import code

FIRST, LAST = "channels_first", "channels_last"
LAYOUT_QUESTION = "Does channels_last train faster than channels_first?"
FRAMEWORK_QUESTION = "Which framework trains faster, at the same layout?"


def layout_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return channels_last over channels_first for every framework, model, batch size and precision."""
    return _ordered(compare(runs, "layout", FIRST, LAST, question=LAYOUT_QUESTION, quantity=quantity))


def _ordered(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts with the most blocks first, then by framework, model and batch size."""

    def sort_key(verdict: Verdict) -> tuple:
        trial = verdict.baseline
        return -verdict.blocks, FRAMEWORKS.index(trial.framework), trial.model, trial.batch_size

    return sorted(verdicts, key=sort_key)


def framework_pairs(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return (baseline, candidate) for each two frameworks that ran; torch is a baseline where it ran."""
    ran = {run.trial.framework for run in runs if run.status == Status.OK}
    return list(combinations(sorted(ran, key=["torch", *FRAMEWORKS].index), 2))


def framework_ratios(runs: Sequence[Run]) -> pd.DataFrame:
    """Return one row per block and pair of frameworks: how many times as fast the second one is."""
    pairs = framework_pairs(runs)
    return pd.DataFrame([row for pair in pairs for row in ratios(runs, "framework", *pair)])


def how_to_read_frameworks(trend: pd.DataFrame) -> str:
    """Return how to read the chart of frameworks against one another, and what it shows, in how many blocks.

    Args:
        trend: As returned by `framework_ratios`.
    """
    blocks = trend.groupby("model", sort=False)["block"].nunique()
    shown = listed(
        [f"{escape(model_of(model))} ({counted(number, 'block')})" for model, number in blocks.items()]
    )
    return f"How to read the chart: where it is more than 1, the framework named first is faster. Shown: {shown}."


def framework_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return framework against framework, layout by layout."""
    pairs = framework_pairs(runs)
    return _ordered([v for p in pairs for v in compare(runs, "framework", *p, question=FRAMEWORK_QUESTION)])


def executed_layout_sentences(runs: Sequence[Run]) -> list[str]:
    """Return what really ran: a framework that runs one layout for both is comparing transposes."""
    layouts_run: dict[tuple[str, bool], dict[str, set[str]]] = {}
    for run in runs:
        if run.effective_layout:
            key = run.trial.framework, run.trial.compile
            arms = layouts_run.setdefault(key, {FIRST: set(), LAST: set()})
            arms[run.trial.layout].add(layouts_text(run.effective_layout))
    as_asked, sentences = [], []
    for (framework, compiled), arms in sorted(layouts_run.items()):
        name = NAMES[framework] + (" (compiled)" if compiled else "")
        first, last = (" or ".join(sorted(layouts)) or "not found out" for layouts in arms.values())
        if arms == {FIRST: {FIRST}, LAST: {LAST}}:
            as_asked.append(name)
        elif arms[FIRST] == arms[LAST] and len(arms[FIRST]) == 1:
            sentences.append(
                f"{name}: both arms ran their convolutions as {first}, whatever was asked for. A "
                "difference between them is the price of transposing and of the other layers, not of the "
                "convolutions."
            )
        else:
            sentences.append(f"{name}: {FIRST} ran as {first}, {LAST} ran as {last}.")
    if as_asked:
        told = f"{listed(as_asked)}: the convolutions ran in the layout that was asked for, in both arms."
        sentences.insert(0, told)
    return sentences


def missing_layout_sentences(runs: Sequence[Run]) -> list[str]:
    """Return, for each framework that trained in one layout and cannot train in the other here, why."""
    sentences = []
    for framework in FRAMEWORKS:
        own = [run for run in runs if run.trial.framework == framework]
        trained = {run.trial.layout for run in own if run.status is Status.OK}
        lacking = [run for run in own if run.trial.layout not in trained and run.status is Status.UNSUPPORTED]
        if len(trained) == 1 and lacking:
            name, layout = NAMES[framework], lacking[0].trial.layout
            sentences.append(
                f"**{name}** cannot train with {layout} here, so that there is nothing to compare: "
                f"{escape(lacking[0].reason)}."
            )
    return sentences


def layers_by_model(runs: Sequence[Run]) -> dict[str, dict[str, Sequence]]:
    """Return "framework, model" -> layout -> layer table, of the runs that recorded one."""
    tables: dict[str, dict[str, Sequence]] = defaultdict(dict)
    for run in sorted((r for r in runs if r.layers), key=lambda r: (r.trial.model, r.trial.layout)):
        name = f"{NAMES[run.trial.framework]}, {model_of(run.trial.model)}"
        tables[name].setdefault(run.trial.layout, run.layers)
    return tables


def forgotten_sentence(runs: Sequence[Run]) -> str:
    """Return which layers forgot the layout, over all models whose layers were recorded."""
    recorded = [run for run in runs if run.layers]
    if not recorded:
        return "No layer table was recorded."
    unsaid = ("batch_size", "image_size", "precision", "compile")
    layers = {
        f"{layer} ({', '.join(run.trial.describe(without=unsaid))})"
        for run in recorded
        for layer in layer_table.forgotten(run.layers)
    }
    if layers:
        return f"These layers forgot the layout: {'; '.join(sorted(layers))}."
    models = len({(run.trial.framework, run.trial.model, run.trial.layout) for run in recorded})
    return f"No layer forgot the layout, in {models} models looked at (framework × model × layout)."


def layout_settings(verdicts: Sequence[Verdict]) -> list[str]:
    """Return, for each framework, what to switch on as Markdown: what was decided, and it has not by itself."""
    texts = []
    for framework in FRAMEWORKS:
        own = [v for v in verdicts if v.baseline.framework == framework]
        if own and not any(v.outcome in (Outcome.FASTER, Outcome.SLOWER) for v in own):
            sure = escape("; ".join(f"{v.label}: {size_of(v)}" for v in own if v.low is not None))
            nothing = f"**{NAMES[framework]}**: no layout was decided to be faster by itself"
            texts.append(f"{nothing}{f' ({sure})' if sure else what_decides(own)}; keep what you have there.")
        for layout, outcome in ((LAST, Outcome.FASTER), (FIRST, Outcome.SLOWER)):
            wins = [v for v in own if v.outcome == outcome]
            if wins:
                gains = [(v.label, v.speedup if outcome == Outcome.FASTER else 1 / v.speedup) for v in wins]
                if layout == DEFAULT_LAYOUT[framework]:
                    faster = f"**{NAMES[framework]}**: {layout} is faster ({escape(code.gains_text(gains))})"
                    texts.append(f"{faster}, and what it has by itself: leave it so.")
                    continue
                lines = code.lines("layout", framework=framework, layout=layout)
                texts.append(code.faster_block(framework, layout, gains, lines))
    return texts
