"""The table of a model's layers. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, or_nothing
from trainspeed.core.layer_table import aligned
from trainspeed.show.cells import styled


def layer_table(name: str, arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> Styler:
    """Return a model's layers, both layouts side by side, with a mark on a layer that forgot its layout.

    A layer that only one layout has leaves the cells of the other empty.

    Args:
        name: Framework and model, for the caption.
        arms: Layout -> rows of `trainspeed.core.layer_table.row`, of the same model; one layout or two.
    """
    tables = list(arms.values())
    pairs = aligned(*tables) if len(tables) == 2 else [(row,) for row in tables[0]]
    rows = []
    for pair in pairs:
        layers = [layer for layer in pair if layer is not None]
        cells = {
            "layer": " / ".join(dict.fromkeys(layer["layer"] for layer in layers)),
            "type": layers[0]["type"],
        }
        for layout, layer in zip(arms, pair, strict=True):
            cells[f"{layout}: shape"], cells[f"{layout}: given"] = _layer_cells(layer) if layer else ("", "")
        rows.append(cells)
    return styled(rows, "layers", name)


def _layer_cells(layer: Mapping[str, Any]) -> tuple[str, str]:
    """Return the shape of a layer's output, and which layout and axis the layer was given."""
    axis = None if layer["bn_axis"] is None else f"axis {layer['bn_axis']}"
    mark = " ◀ forgot it" if layer["forgot"] else ""
    shape = " × ".join(map(or_nothing, layer["output_shape"])) or MISSING
    return shape, (", ".join(filter(None, [layer["data_format"], axis])) or MISSING) + mark
