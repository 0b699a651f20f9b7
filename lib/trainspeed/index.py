"""The report's front page: what was found, which notebooks ran, on which machine, on which data.

Reads what the notebooks left in the folder. Does not run, export or judge anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from trainspeed.execute import METADATA, Outcome, Result
from trainspeed.export import POLICY, TEMPLATES, css
from trainspeed.files import write_atomically

NAME = "index.html"
VERDICTS = "verdicts.json"
MEASURED = ("runs.csv", "runs.jsonl", VERDICTS)
# Order and names of the machine's facts; what is not listed comes after them under its own name.
LABELS = {
    "cpu": "CPU",
    "cores": "Cores",
    "cpu_flags": "CPU instructions",
    "governor": "CPU governor",
    "memory_bytes": "Memory",
    "gpus": "GPU",
    "interconnect": "Interconnect",
    "driver": "NVIDIA driver",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "os": "Operating system",
    "python": "Python",
    "container": "In a container",
}
DATA_SETS = {
    "auto": "CIFAR-10 where it was downloaded, else the digits of scikit-learn",
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "digits": "the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)",
}
UNDECIDED, CONTROLS = "undecided", "of a trial against itself"  # what the folded lists are called
MANY_S = 90.0  # longer times are given in minutes


def write_index(
    out: Path,
    results: Sequence[Result],
    *,
    machine: Mapping[str, Any] | None = None,
    data_sets: Iterable[str] = (),
    session: str | None = None,
    preset: str | None = None,
    version: str | None = None,
    scrub: Callable[[str], str] = str,
) -> Path:
    """Write `index.html` and return its path.

    Notebooks of an earlier session that are still in the folder are listed after this one's.

    Args:
        results: Of this session, in the order of the notebooks.
    """
    rows = [_row(result, out) for result in results] + _earlier(out, {result.name for result in results})
    machine = dict(machine or {})
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    outcomes = [result.outcome for result in results]
    html = environment.get_template("index.html.j2").render(
        policy=POLICY,
        css=css(),
        complete=all(outcome is Outcome.OK for outcome in outcomes),
        resumable=session is not None,
        device=_device(machine),
        verdicts=_verdicts(out / VERDICTS, rows),
        notebooks=rows,
        facts=_facts(machine),
        data_sets=[DATA_SETS.get(name, name) for name in sorted(set(data_sets))],
        files=[name for name in MEASURED if (out / name).exists()],
        footer=" · ".join(
            part
            for part in (
                f"session {session}" if session else "",
                f"preset {preset}" if preset else "",
                f"Trainspeed {version}" if version else "Trainspeed",
            )
            if part
        ),
    )
    path = out / NAME
    write_atomically(path, scrub(html) + "\n")
    return path


def read_verdicts(path: Path) -> list[dict[str, Any]]:
    """Return the elements of `verdicts.json`; none where there is no such file or it is damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return [element for element in data if isinstance(element, dict)] if isinstance(data, list) else []


def _row(result: Result, out: Path) -> dict[str, Any]:
    return {
        "name": result.name,
        "title": result.title,
        "status": str(result.outcome),
        "error": result.error,
        "time": _time(result.seconds) if result.path else "",
        "page": _link(out / f"{result.name}.html") if result.path else None,
        "file": _link(result.path),
        "earlier": False,
        "preset": None,
    }


def _earlier(out: Path, now: set[str]) -> list[dict[str, Any]]:
    """Rows of the notebooks that an earlier session left here."""
    rows = []
    for path in sorted(out.glob("*.ipynb")):
        name = path.name.removesuffix(".ipynb").removesuffix(".failed")
        if path.name.startswith(".") or name in now:
            continue
        try:
            ending = json.loads(path.read_text(encoding="utf-8"))["metadata"][METADATA]
        except (ValueError, KeyError, TypeError):
            continue  # not one of ours
        rows.append(
            {
                "name": name,
                "title": ending.get("title") or name,
                "status": ending.get("status", "ok"),
                "error": ending.get("error"),
                "time": _time(ending.get("seconds")),
                "page": _link(out / f"{name}.html"),
                "file": _link(path),
                "earlier": True,
                "preset": ending.get("preset"),
            }
        )
    return rows


def _verdicts(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group the verdicts by study, in the order of the notebooks; undecided ones and controls are folded."""
    titles = {row["name"]: row["title"] for row in rows}
    groups: dict[str, dict[str, Any]] = {name: {} for name in titles}
    for element in read_verdicts(path):
        study = str(element.get("study", ""))
        group = groups.setdefault(study, {})
        if not group:
            folded: dict[str, list[Any]] = {UNDECIDED: [], CONTROLS: []}
            group.update(study=study, title=titles.get(study, study), found=[], folded=folded)
        verdict = {"outcome": str(element.get("outcome", "")), "sentence": str(element.get("sentence", ""))}
        if element.get("factor") == "control":
            group["folded"][CONTROLS].append(verdict)
        elif verdict["outcome"] == "undecided":
            group["folded"][UNDECIDED].append(verdict)
        else:
            group["found"].append(verdict)
    return [group for group in groups.values() if group]


def _facts(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    order = [key for key in LABELS if key in machine] + [key for key in machine if key not in LABELS]
    facts = []
    for key in order:
        label, value = LABELS.get(key, key.replace("_", " ")), machine[key]
        if key == "gpus":
            value = _gpus(value) or f"none: {machine.get('no_gpus') or 'no reason given'}"
        elif key == "cores":
            value = _cores(value)
        if key != "no_gpus" and value not in (None, "", {}, []):
            facts.append((label, _text(key, value)))
    return facts


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return _gib(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(str(name), item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(key, item) for item in value)
    return str(value)


def _gpus(gpus: Any) -> str:
    """Name each kind of GPU once, with its number and memory."""
    if not isinstance(gpus, list | tuple):
        return str(gpus)
    kinds: dict[str, int] = {}
    for gpu in gpus:
        if isinstance(gpu, Mapping):
            memory = gpu.get("memory_bytes")
            kind = str(gpu.get("name") or "unknown") + (f", {_gib(memory)}" if memory else "")
        else:
            kind = str(gpu)
        kinds[kind] = kinds.get(kind, 0) + 1
    return "; ".join(f"{number} × {kind}" if number > 1 else kind for kind, number in kinds.items())


def _cores(cores: Any) -> str:
    """Say how many cores may be used: a number, or {"physical", "logical", "quota"}."""
    if not isinstance(cores, Mapping):
        return str(cores or "")
    words = [f"{cores[kind]} {kind}" for kind in ("physical", "logical") if cores.get(kind)]
    return ", ".join(words) + (f", of which {cores['quota']:g} at a time" if cores.get("quota") else "")


def _device(machine: Mapping[str, Any]) -> str:
    """What trained: the GPUs, or the CPU where there are none."""
    if machine.get("gpus"):
        return _gpus(machine["gpus"])
    if not machine.get("cpu"):
        return ""
    cores = machine.get("cores")
    if isinstance(cores, Mapping):
        cores = cores.get("logical")
    return f"{machine['cpu']}" + (f", {cores} cores" if cores else "") + ", no GPU"


def _gib(size: float) -> str:
    return f"{size / 2**30:.0f} GiB" if size >= 10 * 2**30 else f"{size / 2**30:.1f} GiB"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < MANY_S else f"{seconds / 60:.0f} min"


def _link(path: Path | None) -> str | None:
    return quote(path.name) if path is not None and path.exists() else None
