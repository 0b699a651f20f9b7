"""The machine and the models' layers as tables. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.cells import NOTHING, or_nothing, styled
from trainspeed.theme import framework_name


def machine_table(machine: Mapping[str, Any], versions: Mapping[str, Mapping[str, Any]]) -> Styler:
    """Return what was measured on: a row per part of the machine, then the versions of each framework.

    Args:
        machine: As `trainspeed.detect.machine` returns it, with `device`. None: not known.
        versions: Framework -> package -> version.
    """
    gpus = machine.get("gpus") or []
    rows = [
        ("trained on", "GPU" if machine.get("device") == "gpu" else "CPU, one core per device"),
        ("CPU", _joined([machine.get("cpu"), *(machine.get("cpu_flags") or [])])),
        ("cores", _cores(machine.get("cores"))),
        ("memory", _gigabytes(machine.get("memory_bytes"))),
        ("GPUs", "; ".join(map(_gpu, gpus)) or f"none: {machine.get('no_gpus') or 'none found'}"),
    ]
    if gpus:
        rows += [
            ("interconnect", or_nothing(machine.get("interconnect"))),
            ("NVIDIA driver", or_nothing(machine.get("driver"))),
            ("CUDA of the driver", or_nothing(machine.get("cuda"))),
        ]
    container = " (in a container)" if machine.get("container") else ""
    rows += [
        ("system", f"{or_nothing(machine.get('os'))}{container}"),
        ("clock governor", or_nothing(machine.get("governor"))),
        ("Python", or_nothing(machine.get("python"))),
    ]
    for framework, packages in sorted(versions.items()):
        rows.append((framework_name(framework), _joined(f"{name} {v}" for name, v in packages.items())))
    return styled(pd.DataFrame(rows, columns=["what", "value"]), "machine", "The machine")


def _joined(parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part) or NOTHING


def _cores(cores: Mapping[str, Any] | None) -> str:
    if not cores:
        return NOTHING
    quota = f", limited to {cores['quota']:g} at a time" if cores.get("quota") else ""
    return f"{or_nothing(cores.get('physical'))} physical, {or_nothing(cores.get('logical'))} logical{quota}"


def _gigabytes(value: float | None) -> str:
    return NOTHING if value is None else f"{value / 1e9:,.0f} GB"


def _gpu(gpu: Mapping[str, Any]) -> str:
    limit = gpu.get("power_limit_w")
    return (
        f"{or_nothing(gpu.get('name'))}: memory {_gigabytes(gpu.get('memory_bytes'))}, "
        f"power limit {NOTHING if limit is None else f'{limit:,.0f} W'}, "
        f"compute capability {or_nothing(gpu.get('compute_capability'))}"
    )


def layer_table(name: str, arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> Styler:
    """Return a model's layers, both layouts beside each other, with a mark on one that forgot it.

    Args:
        name: Framework and model, for the caption.
        arms: Layout -> rows of `trainspeed.layers.row`, of the same model.
    """
    rows = []
    for layers in zip(*arms.values(), strict=True):
        cells = {"layer": layers[0]["layer"], "type": layers[0]["type"]}
        for layout, layer in zip(arms, layers, strict=True):
            cells[f"{layout}: shape"] = " × ".join(map(or_nothing, layer["output_shape"])) or NOTHING
            told = [layer["data_format"], None if layer["bn_axis"] is None else f"axis {layer['bn_axis']}"]
            cells[f"{layout}: told"] = _joined(told) + (" ◀ forgot it" if layer["forgot"] else "")
        rows.append(cells)
    return styled(pd.DataFrame(rows), "layers", name)
