"""What two sets of runs were measured with, and in what they differ: machine, driver, versions, data.

Works on what each run recorded; decides nothing and measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trainspeed.compare import newest
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.run import Run
from trainspeed.wording import NAMES

NOT_KNOWN = "none or not known"
DATE_LETTERS = 10  # of an ISO 8601 time: 2026-11-20
DATE = "measured on"  # of course two sets differ in it, so it is shown and not warned of


def facts(runs: Iterable[Run]) -> dict[str, str]:
    """Return what the runs were measured with, in words: what -> value, or values where it changed meanwhile."""
    runs = list(runs)
    found: dict[str, dict[str, None]] = {}

    def note(name: str, value: str | None) -> None:
        found.setdefault(name, {})[value or NOT_KNOWN] = None

    for run in runs:
        note(DATE, _date(run))
        for name, value in MACHINE.items():
            note(name, value(run.machine))
    for run in runs:
        for package, version in run.versions.items():
            framework = NAMES.get(run.trial.framework, run.trial.framework)
            note(f"{framework}: {package}", version)
    for run in runs:
        note("seed", str(run.trial.seed - run.block))
        if not isinstance(run.trial, Conv2dTrial):
            note("data set", run.trial.dataset)
    return {name: "; ".join(values) for name, values in found.items()}


def compared_runs(a_runs: Iterable[Run], b_runs: Iterable[Run]) -> tuple[list[Run], list[Run]]:
    """Return the runs of the trials that both sides have; all data where they have none in common."""
    sides = newest(a_runs), newest(b_runs)
    common = sides[0].keys() & sides[1].keys()
    a, b = ([run for key, arm in side.items() if key in common for run in arm.runs] for side in sides)
    return a, b


def differences(a_runs: Iterable[Run], b_runs: Iterable[Run]) -> list[str]:
    """Return a sentence for everything that the runs of the common trials were not measured with alike.

    What only one side has a word on, such as a framework's package, counts as different. Last, a sentence
    that says how little can be concluded where several things differ.
    """
    runs_a, runs_b = compared_runs(a_runs, b_runs)
    a, b = facts(runs_a), facts(runs_b)
    differing = [name for name in a | b if name != DATE and a.get(name) != b.get(name)]
    said = [f"{name}: {a.get(name, NOT_KNOWN)} in A, {b.get(name, NOT_KNOWN)} in B." for name in differing]
    shared = {run.session for run in runs_a} & {run.session for run in runs_b}
    if shared:
        said.append(f"Both sides hold session {min(shared)}: these are the same runs twice.")
    if len(differing) > 1:
        said.append(
            f"{len(differing)} things differ at once, so a difference in time cannot be ascribed to one of them."
        )
    return said


def title(runs: Iterable[Run]) -> str:
    """Return which machine measured the runs, and when: for a heading."""
    known = facts(runs)
    on_gpu = known.get("trained on", "").startswith("GPU")
    told = [known.get("GPUs" if on_gpu else "CPU"), known.get(DATE)]
    return ", ".join(text for text in told if text and text != NOT_KNOWN) or "a machine that is not known"


def table_rows(a: Sequence[Run], b: Sequence[Run]) -> list[dict[str, str]]:
    """Return a row per fact that a side knows: what, A, B, and whether they differ."""
    of_a, of_b = facts(a), facts(b)
    names = [*dict.fromkeys([*of_a, *of_b])]
    rows = []
    for name in names:
        values = of_a.get(name, NOT_KNOWN), of_b.get(name, NOT_KNOWN)
        if set(values) != {NOT_KNOWN}:
            alike = name == DATE or values[0] == values[1]
            rows.append({"what": name, "A": values[0], "B": values[1], "": "" if alike else "differs"})
    return rows


def _date(run: Run) -> str | None:
    return run.started_at[:DATE_LETTERS] if run.started_at else None


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _gigabytes(value: float | None) -> str | None:
    """To whole gigabytes: a new kernel takes a little more or less of the same memory."""
    return None if value is None else f"{value / 1e9:.0f} GB"


def _cores(machine: Mapping[str, Any]) -> str | None:
    cores = machine.get("cores")
    if not isinstance(cores, Mapping):
        return None if cores is None else str(cores)
    words = [f"{cores[kind]} {kind}" for kind in ("physical", "logical") if cores.get(kind)]
    return ", ".join([*words, *([f"{cores['quota']:g} at a time"] if cores.get("quota") else [])])


def _gpus(machine: Mapping[str, Any]) -> str | None:
    """Each kind of GPU once, with how many there are."""
    if machine.get("gpus") is None:
        return None
    kinds: dict[str, int] = {}
    for gpu in machine["gpus"]:
        memory, limit = _gigabytes(gpu.get("memory_bytes")), gpu.get("power_limit_w")
        told = [gpu.get("name") or NOT_KNOWN, memory, f"{limit:.0f} W at most" if limit else None]
        kind = ", ".join(filter(None, told))
        kinds[kind] = kinds.get(kind, 0) + 1
    return "; ".join(f"{count} × {kind}" for kind, count in kinds.items()) or "none"


def _trained_on(machine: Mapping[str, Any]) -> str | None:
    words = {"gpu": "GPU", "cpu": "CPU, one core per device"}
    return words.get(machine.get("device"))


def _field(name: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda machine: None if machine.get(name) is None else str(machine[name])


# What is told of a machine, the weightiest first.
MACHINE: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
    "trained on": _trained_on,
    "GPUs": _gpus,
    "CPU": _field("cpu"),
    "CPU instructions": lambda machine: ", ".join(machine.get("cpu_flags") or []) or None,
    "cores": _cores,
    "memory": lambda machine: _gigabytes(machine.get("memory_bytes")),
    "interconnect": _field("interconnect"),
    "NVIDIA driver": _field("driver"),
    "CUDA of the driver": _field("cuda"),
    "system": _field("os"),
    "in a container": lambda machine: _yes(machine.get("container")),
    "clock governor": _field("governor"),
    "Python of the notebooks": _field("python"),
}
