"""Read the layout of convolutions out of compiled XLA programs and TensorFlow graphs. Text only."""

from __future__ import annotations

import re

# dim_labels=b01f_01io->b01f: batch, two spatial dimensions, feature; input_kernel->output
DIM_LABELS = re.compile(r"dim_labels=([b01f]{4})_[01io]{4}->[b01f]{4}")
LAYOUT_OF_LABELS = {"b01f": "channels_last", "bf01": "channels_first"}
LAYOUT_OF_FORMAT = {"NHWC": "channels_last", "NCHW": "channels_first"}


def convolution_layouts(hlo: str) -> list[str]:
    """Return the layout of the input of every 2-D convolution in the text of an HLO module.

    Dimension orders other than the two layouts (as in gradients of weights) are given as they stand.
    Source: https://openxla.org/xla/operation_semantics#convwithgeneralpadding_convolution
    """
    return [LAYOUT_OF_LABELS.get(labels, labels) for labels in DIM_LABELS.findall(hlo)]
