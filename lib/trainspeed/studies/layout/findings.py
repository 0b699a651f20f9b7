"""What the layout notebook asks of its runs: which pairs, and what they mean in words.

Pure functions on runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from trainspeed.core import layer_table
from trainspeed.core.names import NAMES, model_of
from trainspeed.core.result import layouts_text
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.comparison import Verdict, compare, ratios
from trainspeed.judge.verdict import Outcome, expected_false
from trainspeed.snippets import code

FIRST, LAST = "channels_first", "channels_last"
LAYOUT_QUESTION = "Does channels_last train faster than channels_first?"
FRAMEWORK_QUESTION = "Which framework trains faster, at the same layout?"


def layout_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return channels_last over channels_first for every framework, model, batch size and precision."""
    return _ordered(compare(runs, "layout", FIRST, LAST, question=LAYOUT_QUESTION, quantity=quantity))


def _ordered(verdicts: list[Verdict]) -> list[Verdict]:
    """Those with the most blocks first, then by framework, model and batch size."""

    def place(verdict: Verdict) -> tuple:
        trial = verdict.baseline
        return -verdict.blocks, FRAMEWORKS.index(trial.framework), trial.model, trial.batch_size

    return sorted(verdicts, key=place)


def framework_pairs(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return (baseline, candidate) for each two frameworks that ran; torch is a baseline where it ran."""
    ran = {run.trial.framework for run in runs if run.status == Status.OK}
    order = sorted(ran, key=lambda name: (name != "torch", FRAMEWORKS.index(name)))
    return list(combinations(order, 2))


def framework_ratios(runs: Sequence[Run]) -> pd.DataFrame:
    """Return one row per block and pair of frameworks: how many times as fast the second one is."""
    pairs = framework_pairs(runs)
    return pd.DataFrame([row for pair in pairs for row in ratios(runs, "framework", *pair)])


def framework_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return framework against framework, layout by layout."""
    verdicts = [
        verdict
        for baseline, candidate in framework_pairs(runs)
        for verdict in compare(runs, "framework", baseline, candidate, question=FRAMEWORK_QUESTION)
    ]
    return _ordered(verdicts)


def effect_sentences(runs: Sequence[Run]) -> list[str]:
    """Return what really ran: a framework that runs one layout for both is comparing transposes."""
    seen: dict[tuple[str, bool, str], set[str]] = {}
    for run in runs:
        if run.effective_layout:
            key = run.trial.framework, run.trial.compile, run.trial.layout
            seen.setdefault(key, set()).add(layouts_text(run.effective_layout))
    sentences = []
    for framework, compiled in sorted({key[:2] for key in seen}):
        arms = {layout: seen.get((framework, compiled, layout), set()) for layout in (FIRST, LAST)}
        name = NAMES[framework] + (" (compiled)" if compiled else "")
        ran = {layout: " or ".join(sorted(found)) or "not found out" for layout, found in arms.items()}
        if all(arms[layout] == {layout} for layout in arms):
            sentences.append(f"{name}: the convolutions ran in the layout that was asked for, in both arms.")
        elif arms[FIRST] == arms[LAST] and len(arms[FIRST]) == 1:
            sentences.append(
                f"{name}: both arms ran their convolutions as {ran[FIRST]}, whatever was asked for. A "
                "difference between them is the price of transposing and of the other layers, not of the "
                "convolutions."
            )
        else:
            sentences.append(f"{name}: {FIRST} ran as {ran[FIRST]}, {LAST} ran as {ran[LAST]}.")
    return sentences


def layers_by_model(runs: Sequence[Run]) -> dict[str, dict[str, Sequence]]:
    """Return "framework, model" -> layout -> layer table, of the runs that were looked at."""
    tables: dict[str, dict[str, Sequence]] = {}
    for run in sorted((r for r in runs if r.layers), key=lambda r: (r.trial.model, r.trial.layout)):
        name = f"{NAMES[run.trial.framework]}, {model_of(run.trial.model)}"
        tables.setdefault(name, {}).setdefault(run.trial.layout, run.layers)
    return tables


def forgotten_sentence(runs: Sequence[Run]) -> str:
    """Return which layers forgot the layout, over all models that were looked at."""
    looked = [run for run in runs if run.layers]
    if not looked:
        return "No layer table was recorded."
    unsaid = ("batch_size", "image_size", "precision", "compile")
    names = {
        f"{layer} ({', '.join(run.trial.describe(without=unsaid))})"
        for run in looked
        for layer in layer_table.forgotten(run.layers)
    }
    models = len({(r.trial.framework, r.trial.model, r.trial.layout) for r in looked})
    if names:
        return f"These layers forgot the layout: {'; '.join(sorted(names))}."
    return f"No layer forgot the layout, in {models} models looked at (framework × model × layout)."


def count_sentence(verdicts: Sequence[Verdict]) -> str:
    """Return how many verdicts were decided, and how many of them chance alone would make wrong."""
    decided = [v for v in verdicts if v.outcome != Outcome.UNDECIDED]
    with_interval = [v for v in verdicts if v.low is not None]
    return (
        f"Comparisons: {len(verdicts)}, decided: {len(decided)}. Of {len(with_interval)} intervals at 95 %, "
        f"up to {expected_false(len(with_interval)):.1f} are expected to miss the truth by chance."
    )


def layout_settings(verdicts: Sequence[Verdict]) -> list[str]:
    """Return, for each framework, what to switch on as Markdown: only what was decided."""
    texts = []
    decided = [v for v in verdicts if v.outcome in (Outcome.FASTER, Outcome.SLOWER)]
    for framework in FRAMEWORKS:
        mine = [v for v in decided if v.baseline.framework == framework]
        if not mine:
            if any(v.baseline.framework == framework for v in verdicts):
                texts.append(
                    f"**{NAMES[framework]}**: no layout was decided to be faster; keep what you have."
                )
            continue
        for layout, outcome in ((LAST, Outcome.FASTER), (FIRST, Outcome.SLOWER)):
            wins = [v for v in mine if v.outcome == outcome]
            if wins:
                gains = [(v.label, v.speedup if outcome == Outcome.FASTER else 1 / v.speedup) for v in wins]
                lines = code.lines("layout", framework=framework, layout=layout)
                texts.append(code.faster_block(framework, layout, gains, lines))
    return texts
