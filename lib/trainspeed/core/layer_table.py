"""The layer table: which layout each layer was set to, and which layer forgot it.

Rows are dicts of `layer, type, output_shape, data_format, bn_axis, forgot`. Knows no framework.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Any

LayerRow = Mapping[str, Any]


def row(
    *,
    layer: str,
    type: str,
    output_shape: Sequence[int | None],
    data_format: str | None,
    bn_axis: int | None,
    layout: str,
) -> LayerRow:
    """Return one row; `forgot` is whether the layer's own setting contradicts the layout asked for.

    Args:
        output_shape: The shape without the batch.
        data_format: The layer's setting; None for a layer that has none, such as an activation.
        bn_axis: Axis that BatchNormalization normalises, counted from 0 with the batch; else None.
    """
    channel_axis = 1 if layout == "channels_first" else len(output_shape)
    wrong_axis = bn_axis is not None and bn_axis != channel_axis
    return {
        "layer": layer,
        "type": type,
        "output_shape": list(output_shape),
        "data_format": data_format,
        "bn_axis": bn_axis,
        "forgot": (data_format is not None and data_format != layout) or wrong_axis,
    }


# Passes of a training step: forward, gradients of the input, gradients of the weights. Each multiplies, reads and
# writes about as much.
PASSES = 3
FP32_BYTES = 4


def training_flops(products: Sequence[tuple[int, int]]) -> int:
    """Return the FLOPs of a training step for one image, 2 per multiply-add.

    Args:
        products: (output positions, numbers in the kernel) of every convolution and dense layer, in order.
            The first layer needs no gradient of its input.
    """
    forward = [2 * positions * kernel for positions, kernel in products]
    return PASSES * sum(forward) - (forward[0] if forward else 0)


def training_bytes(tensors: Sequence[tuple[int, int]], batch_size: int) -> int:
    """Return the least memory traffic of a training step in fp32, in bytes: an estimate.

    Each layer reads its input and weights and writes its output in every pass; nothing stays in a cache
    from layer to layer, and nothing is fused.

    Args:
        tensors: (numbers in input and output of one image, numbers in the weights) of every layer.
    """
    return PASSES * FP32_BYTES * sum(image * batch_size + weights for image, weights in tensors)


def aligned(
    first: Sequence[LayerRow], second: Sequence[LayerRow]
) -> list[tuple[LayerRow | None, LayerRow | None]]:
    """Return the rows of two layer tables in pairs, with None where one has no such layer.

    A user's model may have an extra layer in one layout, such as a permute. Layers are matched by name and
    type, or by type alone where that matches more: in `nn.Sequential` an extra layer renames all that follow.
    """
    keys = itemgetter("layer", "type"), itemgetter("type")
    matchers = [
        SequenceMatcher(None, [*map(key, first)], [*map(key, second)], autojunk=False) for key in keys
    ]
    best = max(matchers, key=lambda matcher: sum(block.size for block in matcher.get_matching_blocks()))
    pairs: list[tuple[LayerRow | None, LayerRow | None]] = []
    for tag, start, end, other_start, other_end in best.get_opcodes():
        if tag == "equal":
            pairs += zip(first[start:end], second[other_start:other_end], strict=True)
        else:
            pairs += [(row, None) for row in first[start:end]]
            pairs += [(None, row) for row in second[other_start:other_end]]
    return pairs


def forgotten(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the layers that forgot the layout."""
    return [row["layer"] for row in rows if row["forgot"]]
