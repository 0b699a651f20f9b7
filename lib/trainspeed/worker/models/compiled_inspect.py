"""What torch.compile made of a model's convolutions: read from Inductor's graph while it compiles.

Inductor chooses the layout of convolutions itself, whatever the strides of the tensors are, so the module that is
compiled does not tell it. Does not know trials, loops or timing.

Source: torch/_inductor/graph.py, GraphLowering.decide_layout_opt; torch/_inductor/config.py, _pre_fusion_custom_pass
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch._inductor import config

from trainspeed.core.notes import AnyNote, ConvolutionsNotSeen
from trainspeed.core.result import EffectivePrecision
from trainspeed.worker.models.torch_inspect import layout_of

IMAGES = 4  # dimensions of what a 2-D convolution returns
NOT_LOWERED = "NotLowered"  # Inductor made something else of the convolutions, or of the whole model
FORWARD = torch.ops.aten.convolution.default  # the gradients are of another operator


class Lowered:
    """The convolutions of the forward graphs that Inductor lowers from `watch` on, in their order.

    Inductor takes no graph from a cache while a function looks at them, so none is missed.

    Attributes:
        error: Class of the exception that looking at a graph ended with; None where there was none.
    """

    def __init__(self) -> None:
        self.error: str | None = None
        self._outputs: list[torch.Tensor] = []

    def watch(self) -> None:
        """Look at every graph that this process compiles from now on; there is one place for such a function."""
        config._pre_fusion_custom_pass = self

    def __call__(self, nodes: list[Any]) -> list[Any]:
        """Look at the nodes of a graph whose layouts are decided, and leave them as they are."""
        try:
            self._outputs += [output for node in nodes if (output := _output(node)) is not None]
        except Exception as problem:  # what cannot be looked at is no reason not to compile it
            self.error = type(problem).__name__
        return nodes

    def notes(self, convolutions: bool) -> list[AnyNote]:
        """Return a note where what ran is not known: a graph could not be looked at, or held no convolution.

        Args:
            convolutions: Whether the model has any.
        """
        if self.error or (convolutions and not self._outputs):
            return [ConvolutionsNotSeen(error=self.error or NOT_LOWERED)]
        return []

    def layout(self) -> Mapping[str, int] | None:
        """Return the layouts of the convolutions' outputs, by their strides -> the number of convolutions."""
        layouts = Counter(layout_of(output) for output in self._outputs)
        del layouts[None]
        return layouts or None

    def precision(self) -> EffectivePrecision | None:
        """Return the dtypes of the convolutions' outputs."""
        dtypes = Counter(str(output.dtype).removeprefix("torch.") for output in self._outputs)
        return EffectivePrecision(dtypes=dtypes) if dtypes else None


def _output(node: Any) -> torch.Tensor | None:
    """Return size, strides and dtype of a forward 2-D convolution's output, without memory; None for other nodes."""
    kernel = getattr(node, "node", None)
    if getattr(kernel, "op_overload", None) is not FORWARD:
        return None
    size, stride = (tuple(int(n) for n in numbers) for numbers in (kernel.get_size(), kernel.get_stride()))
    if len(size) != IMAGES:
        return None
    return torch.empty_strided(size, stride, dtype=kernel.get_dtype(), device="meta")
