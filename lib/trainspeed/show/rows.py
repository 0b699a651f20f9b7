"""Which rows of the tidy frame are data, and how they are named. Draws nothing, knows no framework's code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from trainspeed.core.errors import UserError
from trainspeed.core.factors import TRAINING
from trainspeed.core.format import DATA_SET_NAMES, counted, listed
from trainspeed.core.phase import PHASES
from trainspeed.core.run import DATA_ROLES, Role
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.show.theme import framework_name, status_name

VERDICT_FIELDS = ("label", "speedup", "low", "high", "outcome", "blocks")
ARM_COLUMNS = ("framework", "model", "layout", "batch_size")
# What tells the points of lines over batch size apart.
LINE_COLUMNS = (
    *("framework", "model", "layout", "precision", "compile", "strategy", "devices", "batch_size"),
    *("pipeline", "part", "image_size"),
)


def require(frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Raise a UserError (a ValueError) that names the columns the frame lacks."""
    if missing := sorted(set(columns) - set(frame.columns)):
        raise UserError(f"the frame lacks the columns {missing}; it has {sorted(map(str, frame.columns))}.")


def data_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are data of a line or a table, with a fresh index, named (see `name_arms`).

    Left out are the control's second half and the runs for other purposes: "A again" repeats "A", and
    "default allocation" times nothing. Pass the rows of one session: sessions are not kept apart.
    """
    require(frame, ("label", "framework", "model"))
    data = frame[frame["label"].fillna("").isin(DATA_ROLES)].reset_index(drop=True)
    variants = pd.Series("", index=data.index, dtype=object)
    for _, group in data.groupby("model", dropna=False):
        # JAX is always compiled: next to the others that is no choice, and its name needs no addition.
        chosen = group[group["framework"] != "jax"]
        names = [n for n in varying(group) if n != "compile" or chosen["compile"].nunique() > 1]
        for index, row in group.iterrows():
            own = [n for n in names if n != "compile" or row["framework"] != "jax"]
            variants[index] = ", ".join(factor_text(n, row[n]) for n in own)
    return name_arms(data.assign(variant=variants))


def on_lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose times make lines over batch size: those that took turns with their neighbours.

    A trial that ran once more beside other sizes (see `Role.ANCHOR`) stands there with that run: the blocks of
    its comparison were measured at another time, and the machine may have been faster or slower then.
    """
    require(frame, ("label",))
    anchors = frame["label"] == Role.ANCHOR
    if not anchors.any():
        return frame
    return frame[anchors | ~_anchored(frame)].assign(label=frame["label"].mask(anchors, Role.DATA))


def line_note(frame: pd.DataFrame) -> str:
    """Return which runs a line joins where its sizes were not all measured in the blocks that tables have."""
    anchors = frame["label"] == Role.ANCHOR
    if not anchors.any():
        return ""
    own = frame[_anchored(frame) & frame["label"].fillna("").isin(DATA_ROLES)]
    sizes = listed(f"{size:g}" for size in sorted(frame.loc[anchors, "batch_size"].unique()))
    near, far = (counted(rows["block"].nunique(), "block") for rows in (frame[anchors], own))
    note = f"at batch {sizes} from {near} in which it took turns with the other sizes"
    elsewhere = f"; tables and verdicts have the {far} of the comparison, measured at another time"
    return note + elsewhere * bool(len(own))


def _anchored(frame: pd.DataFrame) -> pd.Series:
    """Return which rows are of a trial that ran once more beside other sizes, those runs among them."""
    own = frame[[column for column in LINE_COLUMNS if column in frame]].astype(object).apply(tuple, axis=1)
    return own.isin(set(own[frame["label"] == Role.ANCHOR]))


def factor_text(column: str, value: Any) -> str:
    """Return a factor's value as a name contains it: "compiled" for compile=True."""
    return f"no {column}" if pd.isna(value) else TRAINING[column].value(value)


def varying(data: pd.DataFrame) -> list[str]:
    """Return the factors, besides framework, model, layout and batch size, that differ between any two rows.

    Seed and fold are not among them: they differ from block to block, and blocks are the repeats of one arm.
    Ceilings of the device have no such factors of their own, so their rows do not count.
    """
    steps = data[~data["part"].map(lambda part: PHASES[part].ceiling)] if "part" in data else data
    names = [name for name in TRAINING if name in steps and name not in ARM_COLUMNS]
    return [name for name in names if steps[name].nunique(dropna=False) > 1]


def by_framework(data: pd.DataFrame, *columns: str, first: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows sorted by `first`, then by framework in the order of all charts, then by the others."""
    ranks = {name: rank for rank, name in enumerate(FRAMEWORKS)}
    ranked = data.assign(rank=data["framework"].map(ranks))
    return ranked.sort_values([*first, "rank", *columns], kind="stable").drop(columns="rank")


def refuse_repeats(
    data: pd.DataFrame, columns: Sequence[str], name: Callable[[pd.Series], str], remedy: str
) -> None:
    """Raise a UserError where two rows are equal in these columns: they would be drawn over each other."""
    repeats = data[data.duplicated(list(columns))]
    if not repeats.empty:
        raise UserError(f"the rows hold {name(repeats.iloc[0])} twice: {remedy}.")


def name_arms(data: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of the legend, with the columns `arm` and `fill`.

    `arm` is the shortest name that tells a line from the others: what all rows share is left out.
    `fill` counts the variants of one framework from 0: they share its colour, not its marker's fill.
    """
    frameworks, layouts = data["framework"].nunique(), data["layout"].nunique()

    def name(row: pd.Series) -> str:
        details = [row["layout"]] if layouts > 1 else []
        details += [row["variant"]] if row["variant"] else []
        first = framework_name(row["framework"]) if frameworks > 1 or not details else ""
        return f"{first} {', '.join(details)}".strip()

    named = data.assign(
        arm=[name(row) for _, row in data.iterrows()],
        fill=data.groupby("framework")["variant"].transform(lambda group: pd.factorize(group)[0]),
    )
    return by_framework(named, "layout", "fill").reset_index(drop=True)


def shared_factors(data: pd.DataFrame) -> str:
    """Return what `name_arms` leaves out, for a title: ": PyTorch, channels_last", or nothing."""
    shared = [framework_name(data["framework"].iloc[0])] if data["framework"].nunique() == 1 else []
    if data["layout"].nunique() == 1:
        shared.append(data["layout"].iloc[0])
    return f": {', '.join(shared)}" if shared else ""


def succeeded(data: pd.DataFrame) -> pd.Series:
    """Return whether each run ended as it should."""
    return data["status"] == "ok"


def count_failures(data: pd.DataFrame) -> str:
    """Return the failed runs by kind, the most frequent first: "3 OOM, 1 timeout"; empty when none failed."""
    counts = data.loc[~succeeded(data), "status"].value_counts()
    return ", ".join(f"{count} {status_name(status)}" for status, count in counts.items())


def accuracy_context(data: pd.DataFrame) -> str:
    """Return what a reader of an accuracy must know: " after 5 epochs on digits", or " after 6 to 14 epochs"."""
    epochs = epochs_trained(data)
    return (f" after {epochs} epochs" if epochs else "") + data_set_context(data)


def data_set_context(data: pd.DataFrame) -> str:
    """Return whose images all rows share: " on digits", or nothing."""
    sets = data["dataset"].unique() if "dataset" in data else ()
    on = DATA_SET_NAMES.get(sets[0], sets[0]) if len(sets) == 1 else "auto"
    return f" on {on}" if on != "auto" else ""


def epochs_trained(data: pd.DataFrame) -> str:
    """Return for how many epochs models trained whose accuracy is known, or else all: "5", "6 to 14" or "".

    Turns take as many epochs as fill their time, at least the trial's `epochs`: it is another number in each group.
    """
    evaluated = data["test_accuracy"].notna()
    known = data.loc[evaluated if evaluated.any() else succeeded(data), "epochs_trained"].dropna()
    return " to ".join(f"{epochs:g}" for epochs in sorted({known.min(), known.max()})) if len(known) else ""


def memory_unit(values_bytes: pd.Series) -> tuple[float, str]:
    """Return the divisor and the name of the unit that suits the largest value: MB, or GB from 10 GB on.

    Decimal units: 1 GB is 1e9 bytes.
    """
    return (1e9, "GB") if values_bytes.max() >= 10e9 else (1e6, "MB")


def verdict_frame(verdicts: Iterable[Any]) -> pd.DataFrame:
    """Return one row per verdict, an object or a mapping: label, speedup, low, high, outcome, blocks."""
    rows = [
        verdict if isinstance(verdict, Mapping) else {name: getattr(verdict, name) for name in VERDICT_FIELDS}
        for verdict in verdicts
    ]
    numbers = dict.fromkeys(("speedup", "low", "high", "blocks"), float)
    return pd.DataFrame(rows, columns=list(VERDICT_FIELDS)).astype(numbers | {"outcome": str})
