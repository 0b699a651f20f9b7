"""Tables of a comparison: the two sides, the times, memory and accuracy, costs, failures. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.cells import NOTHING, clock, digits, fixed, or_nothing, styled
from trainspeed.compare import Row
from trainspeed.compare_costs import Cost, usd_text
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.rows import memory_unit
from trainspeed.theme import status_name
from trainspeed.verdict import Judgement

NAN = float("nan")


def sides_table(rows: Sequence[Mapping[str, str]]) -> Styler:
    """Return what both sides were measured with.

    Args:
        rows: As `compare_facts.table_rows` returns them.
    """
    columns = None if rows else ["what", "A", "B", ""]
    return styled(pd.DataFrame(rows, columns=columns), "sides", "What the common trials were measured with")


def times_table(study: str, rows: Sequence[Row]) -> Styler:
    """Return a row per trial: both times, the speed-up of B over A with its interval, blocks, outcome."""
    known = [arm.median_s for row in rows for arm in (row.a, row.b) if arm.median_s is not None]
    scale, unit = (1e3, "ms") if max(known, default=0.0) < 1 else (1.0, "s")
    cells = [
        {
            "trial": row.label,
            f"A {unit}": _scaled(row.a.median_s, scale),
            f"B {unit}": _scaled(row.b.median_s, scale),
            **_speedup(row.judgement),
            "blocks on A": row.a.blocks,
            "on B": row.b.blocks,
            "B is": str(row.outcome) if row.speedup is not None else NOTHING,
        }
        for row in rows
    ]
    caption = f"{study}: {_timed(rows)}, medians over the blocks"
    return styled(pd.DataFrame(cells), "times", caption)


def _timed(rows: Sequence[Row]) -> str:
    calls = {isinstance(row.trial, Conv2dTrial) for row in rows}
    return " or ".join(["a warm call"] * (True in calls) + ["an epoch after the first"] * (False in calls))


def resources_table(study: str, rows: Sequence[Row]) -> Styler | None:
    """Return peak memory and test accuracy side by side; None where no trial has either on both sides."""
    both = [row for row in rows if _has_both(row, "peak_memory_bytes") or _has_both(row, "test_accuracy")]
    if not both:
        return None
    sizes = [arm.peak_memory_bytes for row in both for arm in (row.a, row.b)]
    divisor, unit = memory_unit(pd.Series(sizes, dtype=float))
    cells = []
    for row in both:
        cell = {"trial": row.label}
        for letter, arm in (("A", row.a), ("B", row.b)):
            cell[f"memory {letter}, {unit}"] = _scaled(arm.peak_memory_bytes, 1 / divisor)
        for letter, arm in (("A", row.a), ("B", row.b)):
            accuracy = NAN if arm.test_accuracy is None else 100 * arm.test_accuracy
            cell[f"accuracy {letter}, %"] = fixed(accuracy, 1)
        cells.append(cell)
    caption = f"{study}: peak memory and test accuracy, medians over the blocks that have them"
    return styled(pd.DataFrame(cells), "resources", caption)


def costs_table(costs: Sequence[Cost]) -> Styler:
    """Return a row per setting: the time of a training on both sides, its price, and A's cost over B's."""
    priced = any(usd is not None for cost in costs for usd in cost.usd)
    both = any(None not in cost.usd for cost in costs)
    ratio = "A's cost / B's" if both else "A's time / B's"
    cells = []
    for cost in costs:
        cell = {"study": cost.row.study, "trial": cost.row.label}
        for letter, seconds in zip("AB", cost.training_s, strict=True):
            cell[f"training on {letter}"] = NOTHING if seconds is None else clock(seconds)
        for letter, usd in zip("AB", cost.usd, strict=True):
            cell |= {f"cost on {letter}": NOTHING if usd is None else usd_text(usd)} if priced else {}
        cells.append(cell | _speedup(cost.judgement, ratio))
    columns = None if cells else ["study", "trial"]
    return styled(pd.DataFrame(cells, columns=columns), "costs", "A training (h:mm:ss) and its price")


def failures_table(rows: Sequence[Row]) -> Styler | None:
    """Return a row per trial, side and way to fail, with the reason; None where every run ended as it should."""
    cells = [
        {
            "study": row.study,
            "trial": row.label,
            "side": letter,
            "status": status_name(run.status),
            "reason": or_nothing(run.reason),
            "of blocks": len(arm.runs),
        }
        for row in rows
        for letter, arm in (("A", row.a), ("B", row.b))
        for run in arm.failed
    ]
    if not cells:
        return None
    counted = pd.DataFrame(cells).groupby(list(cells[0]), sort=False).size().reset_index(name="failed")
    order = [*list(cells[0])[:-1], "failed", "of blocks"]
    return styled(counted[order], "failures", "Runs that failed, of the trials that both sides tried")


def _speedup(judged: Judgement, name: str = "speed-up") -> dict[str, str]:
    ends = NOTHING if judged.low is None else f"{judged.low:.2f} to {judged.high:.2f}"
    size = NOTHING if judged.speedup is None else fixed(judged.speedup, 2, "×")
    return {name: size, f"{100 * judged.confidence:g} % interval": ends}


def _scaled(value: float | None, scale: float) -> str:
    return NOTHING if value is None else digits(scale * value)


def _has_both(row: Row, name: str) -> bool:
    return None not in (getattr(row.a, name), getattr(row.b, name))
