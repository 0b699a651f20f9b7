"""The levers of torch.compile, and what its compiler tells of itself: graphs, breaks, CUDA graphs, choices of kernels.

Source: torch/_dynamo/utils.py, counters and CompilationMetrics; torch/_inductor/cudagraph_trees.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import torch
from torch._dynamo import utils

from trainspeed.core.format import counted
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker.failures import first_line
from trainspeed.worker.levers.hook import Hook, Options

MODEL = "model"  # the scope of a plain torch.compile
SOURCE_LINES = re.compile(r"\.? Found from ?:?.*")  # before the lines of a file
MOST_REASONS = 2  # that a cell of a table names
LOSS_FUNCTION = "forward_and_loss"  # of `backends.torch_parts`
OPTIMIZERS = PurePath(torch.optim.__file__).parent
DEFAULT_MODE, GRAPHS, TUNED, BOTH = (
    "default",
    "reduce-overhead",
    "max-autotune-no-cudagraphs",
    "max-autotune",
)


@dataclass(frozen=True)
class Compiled:
    """What this process compiled.

    Attributes:
        functions: Name of a function -> how many graphs with operators were made of it.
        of_optimizer: Graphs among these that are of an optimizer.
        breaks: Places where a graph was broken.
        given_up: Functions that run uncompiled since there was an error, or too many shapes.
        reasons: Why graphs were broken or functions given up, a line each.
    """

    functions: Mapping[str, int]
    of_optimizer: int
    breaks: int
    given_up: int
    reasons: tuple[str, ...] = ()

    @property
    def graphs(self) -> int:
        """Graphs with operators."""
        return sum(self.functions.values())

    @property
    def of_model(self) -> int:
        """Graphs that are neither an optimizer's nor of the loss alone, which follows a break in the model."""
        of_loss = sum(
            count for name, count in self.functions.items() if LOSS_FUNCTION in name and name != LOSS_FUNCTION
        )
        return self.graphs - self.of_optimizer - of_loss

    @property
    def words(self) -> str:
        """What was compiled, in words."""
        parts = [f"{counted(self.graphs, 'graph')} compiled", f"{counted(self.breaks, 'graph break')}"]
        if self.given_up:
            parts.append(f"{counted(self.given_up, 'function')} given up")
        names = ", ".join(f"{name} {count}" for name, count in sorted(self.functions.items()))
        return ", ".join(parts) + (f" ({names})" if names else "") + _because(self.reasons)


def compiled() -> Compiled:
    """Return what this process has compiled so far."""
    every = [each for each in utils.get_compilation_metrics() if each.co_name]
    made = [each for each in every if each.has_guarded_code and each.graph_op_count]
    return Compiled(
        functions=Counter(each.co_name for each in made),
        of_optimizer=sum(PurePath(each.co_filename or "").is_relative_to(OPTIMIZERS) for each in made),
        breaks=utils.counters["graph_break"].total(),
        given_up=sum(bool(each.fail_type) for each in every),
        reasons=_lines((*utils.counters["graph_break"], *(each.fail_reason for each in every))),
    )


def _lines(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the first line of each text, once; what follows are explanations, hints and places in files."""
    return tuple(dict.fromkeys(SOURCE_LINES.sub("", first_line(text)) for text in texts if text))


def _because(reasons: Sequence[str]) -> str:
    """Return the first few reasons, as the end of a sentence."""
    more = [f"{len(reasons) - MOST_REASONS} more"] if len(reasons) > MOST_REASONS else []
    return f", because: {'; '.join((*reasons[:MOST_REASONS], *more))}" if reasons else ""


def compile_seen(_training: Any) -> dict[str, Seen]:
    """Return whether the model was compiled: the lever is a field of a trial, and has no hook."""
    found = compiled()
    return {"compile": (ON if found.of_model else OFF, found.words)}


def _mode_options(value: str) -> Options:
    return {"compile": {"mode": value}}


def _mode_seen(_value: str, training: Any) -> Seen:
    """Return the mode that did something: any may end as the default one, and its CUDA graphs may be of some only."""
    on_gpu = training.device.type == "cuda"
    recorded = cuda_graphs(training.device.index or 0) if on_gpu else 0
    counters = utils.counters["inductor"]
    skips, chosen = counters["cudagraph_skips"], counters["select_algorithm_autotune"]
    seen = {(True, True): BOTH, (True, False): GRAPHS, (False, True): TUNED}.get((recorded > 0, chosen > 0))
    how = [f"{counted(recorded, 'CUDA graph')} recorded" if on_gpu else "no CUDA graphs on a CPU"]
    if on_gpu and skips:
        how = [
            f"{'partly: ' if recorded else ''}{recorded} of {recorded + skips} graphs recorded as CUDA graphs"
        ]
        why = _lines(each.cudagraph_skip_reason for each in utils.get_compilation_metrics())
        how.append(f"{skips} skipped{_because(why)}")
    how.append(f"kernels chosen by measuring for {counted(chosen, 'operator')}")
    return seen or DEFAULT_MODE, ", ".join(how)


def cuda_graphs(device: int) -> int:
    """Return the number of CUDA graphs that Inductor recorded on a GPU."""
    from torch._inductor import cudagraph_trees

    manager = cudagraph_trees.get_container(device).tree_manager
    if manager is None:
        return 0
    nodes, count = [node for roots in manager.roots.values() for node in roots], 0
    while nodes:
        node = nodes.pop()
        count += 1
        nodes += [child for children in node.children.values() for child in children]
    return count


def _scope_options(value: str) -> Options:
    return {"scope": {"scope": value}}


def _scope_seen(value: str, _training: Any) -> Seen:
    """Return the scope that graphs were made of."""
    found = compiled()
    of_loss = sum(count for name, count in found.functions.items() if LOSS_FUNCTION in name)
    if value == "blocks":
        seen = value if found.graphs and not found.given_up else None if found.graphs else OFF
    elif found.of_optimizer:
        seen = "with_optimizer"
    else:
        seen = "with_loss" if of_loss else MODEL if found.graphs else OFF
    return seen, found.words


HOOKS: Mapping[str, Hook] = {
    "compile_mode": Hook(options=_mode_options, seen=_mode_seen),
    "compile_scope": Hook(options=_scope_options, seen=_scope_seen),
}
