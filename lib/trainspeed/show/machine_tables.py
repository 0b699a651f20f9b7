"""The machine and the models' layers as tables. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, or_nothing
from trainspeed.core.layer_table import aligned
from trainspeed.core.machine_text import TRAINED_ON, machine_parts
from trainspeed.show.cells import styled
from trainspeed.show.theme import framework_name


def machine_table(machine: Mapping[str, Any], versions: Mapping[str, Mapping[str, Any]]) -> Styler:
    """Return what was measured on: a row per part of the machine, then the versions of each framework.

    Args:
        machine: As `trainspeed.sensors.machine.machine` returns it, with `device`. None: not known.
        versions: Framework -> package -> version.
    """
    parts = machine_parts(machine)
    of_gpus = ("interconnect", "NVIDIA driver", "CUDA of the driver") if machine.get("gpus") else ()
    container = " (in a container)" if machine.get("container") else ""
    values = {
        "trained on": parts["trained on"] or TRAINED_ON["cpu"],
        "CPU": _joined([parts["CPU"], parts["CPU instructions"]]),
        **{name: or_nothing(parts[name]) for name in ("cores", "memory")},
        "GPUs": parts["GPUs"] if of_gpus else f"none: {machine.get('no_gpus') or 'none found'}",
        **{name: or_nothing(parts[name]) for name in of_gpus},
        "system": or_nothing(parts["system"]) + container,
        "clock governor": or_nothing(parts["clock governor"]),
        "Python": or_nothing(parts["Python of the notebooks"]),
    }
    rows = list(values.items())
    for framework, packages in sorted(versions.items()):
        rows.append((framework_name(framework), _joined(f"{name} {v}" for name, v in packages.items())))
    return styled(pd.DataFrame(rows, columns=["what", "value"]), "machine", "The machine")


def _joined(parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part) or MISSING


def layer_table(name: str, arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> Styler:
    """Return a model's layers, both layouts beside each other, with a mark on one that forgot it.

    A layer that only one layout has leaves the cells of the other empty.

    Args:
        name: Framework and model, for the caption.
        arms: Layout -> rows of `trainspeed.core.layer_table.row`, of the same model; one layout or two.
    """
    tables = list(arms.values())
    pairs = aligned(*tables) if len(tables) == 2 else [(row,) for row in tables[0]]
    rows = []
    for pair in pairs:
        known = [layer for layer in pair if layer is not None]
        cells = {
            "layer": " / ".join(dict.fromkeys(layer["layer"] for layer in known)),
            "type": known[0]["type"],
        }
        for layout, layer in zip(arms, pair, strict=True):
            cells[f"{layout}: shape"] = "" if layer is None else _shape(layer)
            cells[f"{layout}: told"] = "" if layer is None else _told(layer)
        rows.append(cells)
    return styled(rows, "layers", name)


def _shape(layer: Mapping[str, Any]) -> str:
    return " × ".join(map(or_nothing, layer["output_shape"])) or MISSING


def _told(layer: Mapping[str, Any]) -> str:
    told = [layer["data_format"], None if layer["bn_axis"] is None else f"axis {layer['bn_axis']}"]
    return _joined(told) + (" ◀ forgot it" if layer["forgot"] else "")
