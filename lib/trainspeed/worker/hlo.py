"""Read layout and dtype of convolutions out of compiled XLA programs and TensorFlow graphs. Text only."""

from __future__ import annotations

import re

# %x = f16[8,64,16,16]{1,3,2,0} convolution(…), dim_labels=bf01_oi01->bf01: the result's dimensions from the
# fastest in memory to the slowest; then batch, two spatial dimensions and feature, input_kernel->output.
CONVOLUTION_TEXT = re.compile(
    r"(?:= \(?\w+\[[\d,]+\]\{([\d,]+)[^\n]*?)?dim_labels=([b01f]{4})_[01io]{4}->([b01f]{4})"
)
# The first operand: its type, where that is printed, and its name; else the type is printed at its definition.
OPERAND_TEXT = re.compile(r"(?:convolution|custom-call)\((?:(\w+)\[[\d,]*\]\S* )?%?([\w.-]+)")
DEFINITION_TEXT = re.compile(r"\s*(?:ROOT )?%?([\w.-]+) = \(?(\w+)\[")
DTYPE_OF_TYPE = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}
LAYOUT_OF_LABELS = {"b01f": "channels_last", "bf01": "channels_first"}
LAYOUT_OF_FORMAT = {"NHWC": "channels_last", "NCHW": "channels_first"}


def convolutions(hlo: str) -> list[tuple[str, str | None]]:
    """Return layout in memory and dtype of every 2-D convolution in the text of an HLO module.

    The labels alone do not decide the layout: on a GPU, XLA may keep the labels bf01 and lay the memory out as
    b01f. Other dimension orders are returned as they are, such as "b0f1": b is the batch, 0 and 1 are height and
    width, f the channels.

    The dtype is that of the input, None where it is not known. XLA may widen the operands of a 16-bit
    convolution first and multiply in float32, and a convolution of 16-bit operands may return its sums in
    float32.
    Source: https://openxla.org/xla/shapes (minor to major),
        https://openxla.org/xla/operation_semantics#convwithgeneralpadding_convolution
    """
    dtype_of, seen = {}, []
    for line in hlo.splitlines():
        if definition := DEFINITION_TEXT.match(line):
            dtype_of[definition[1]] = definition[2]
        for labels in CONVOLUTION_TEXT.findall(line):
            order = _memory_order(*labels)
            operand = OPERAND_TEXT.search(line)
            dtype = operand and (operand[1] or dtype_of.get(operand[2]))
            seen.append((LAYOUT_OF_LABELS.get(order, order), DTYPE_OF_TYPE.get(dtype, dtype)))
    return seen


def _memory_order(fastest_first: str, input_labels: str, output_labels: str) -> str:
    """The input has the result's layout where both have the same labels; else only its labels are known."""
    if not fastest_first or input_labels != output_labels:
        return input_labels
    return "".join(output_labels[int(dimension)] for dimension in reversed(fastest_first.split(",")))
