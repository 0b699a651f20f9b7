"""The sessions of one or more ledgers in the order of time: on which machine each was, and what changed before it.

Works on runs; reads no file, and judges and draws nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainspeed.core.errors import UserError
from trainspeed.core.files import CHECK
from trainspeed.core.format import NAMES, counted
from trainspeed.core.machine_text import VARIABLES, machine_name, machine_parts
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet, machines_of
from trainspeed.core.system import FACTS, Difference, machine_differences

DRIVER = FACTS["driver"]
OF_NO_MACHINE = (DRIVER, VARIABLES)  # other ones make no other machine
MEMORY, CUDA = "memory", "CUDA of the driver"
# Parts of a machine that change between two sessions and may have a bearing on times.
PARTS = (
    DRIVER,
    CUDA,
    "system",
    "clock governor",
    "huge pages",
    MEMORY,
    "interconnect",
    "in a container",
    VARIABLES,
)
POWER_LIMIT = "power limit of the GPUs"
SAME_MEMORY_SHARE = 0.02  # a kernel keeps more or less of the memory for itself from one boot to the next
FLEET_NAME = "name in the fleet"
OF_MACHINE = ""  # in place of a framework
DATE_LETTERS, MINUTE_LETTERS = 10, 16  # of an ISO 8601 time: 2026-11-20T14:23
ID_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)")  # how a session's id begins
USAGE = "make history OUT=outputs"


@dataclass(frozen=True, kw_only=True)
class Session:
    """One session in its place in time.

    Attributes:
        label: What it is called: its day, with the time or a number where a day has several.
        runs: Each once, also where several ledgers hold it.
        checks: Those that checked the instrument; empty where the session did not.
        machine: Number of the machine that measured it, from 0; the same for sessions of one machine.
        new: In what its machine differs from that of the session before; empty where that is the same one.
        changes: Framework, or OF_MACHINE -> what has changed since the machine's session before.
    """

    id: str
    label: str
    runs: RunSet = field(repr=False)
    machine: int
    new: Sequence[Difference] = ()
    changes: Mapping[str, Sequence[Difference]] = field(default_factory=dict)
    checks: Sequence[Run] = field(default=(), repr=False)

    def changes_for(self, framework: str) -> list[Difference]:
        """Return what has changed that a trial of this framework depends on."""
        return [*self.changes.get(framework, ()), *self.changes.get(OF_MACHINE, ())]

    @property
    def all_changes(self) -> list[Difference]:
        """All that has changed, frameworks first."""
        frameworks = [d for name, own in self.changes.items() if name != OF_MACHINE for d in own]
        return [*frameworks, *self.changes.get(OF_MACHINE, ())]

    @property
    def machine_words(self) -> str:
        """The machine in words."""
        machines = [machine for _, machine in machines_of(self.runs)]
        return machine_name(machines[-1]) if machines else "a machine that is not known"

    @property
    def gpu_uuids(self) -> frozenset[str] | None:
        """What tells its GPUs from all others; None where it has none or does not tell."""
        known = [_uuids(machine) for _, machine in machines_of(self.runs)]
        return frozenset().union(*known) if known and None not in known else None


@dataclass
class _Machine:
    """What is known of a machine so far: what a session does not tell is as it was."""

    node: str | None
    facts: dict[str, Any]
    parts: dict[str, str]
    versions: dict[str, dict[str, str]]


def sessions_of(runs: Iterable[Run]) -> list[Session]:
    """Return the sessions with runs of trials, the oldest first.

    Raises:
        UserError: There are fewer than two.
    """
    held: dict[str, list[Run]] = {}
    checks: dict[str, list[Run]] = {}
    for run in runs:
        if run.study == CHECK:
            checks.setdefault(run.session, []).append(run)
        if run.trial.phase.epochs_compare:
            held.setdefault(run.session, []).append(run)
    ordered = sorted(held, key=lambda name: (_digits(_started(name, held[name])), name))
    if len(ordered) < 2:
        raise UserError(
            f"there {'is' if ordered else 'are'} {counted(len(ordered), 'session')} of trials, and a history takes two "
            f"or more: each `make report` adds one to its folder, and `{USAGE}` shows them."
        )
    labels = _labels([_started(name, held[name]) for name in ordered])
    known: list[_Machine] = []
    sessions: list[Session] = []
    for name, label in zip(ordered, labels, strict=True):
        own = RunSet(tuple(held[name])).last_of_each()
        number, new = _place(known, own, sessions[-1].machine if sessions else None)
        changes = _update(known, number, own)
        session = Session(
            id=name,
            label=label,
            runs=own,
            machine=number,
            new=new,
            changes=changes,
            checks=checks.get(name, ()),
        )
        sessions.append(session)
    return sessions


def _started(session: str, runs: Iterable[Run]) -> str:
    """Return when a session was begun, ISO 8601; its id where neither its runs nor the id tell."""
    if known := [run.started_at for run in runs if run.started_at]:
        return min(known)
    found = ID_TIME.match(session)
    return "{}-{}-{}T{}:{}:{}".format(*found.groups()) if found else session


def _digits(started: str) -> str:
    return re.sub(r"\D", "", started)[:14] or started


def _labels(started: Sequence[str]) -> list[str]:
    """Return a name for each session: its day, with the time where a day has several, and a number if need be."""
    days = Counter(text[:DATE_LETTERS] for text in started)
    labels = [
        text[: MINUTE_LETTERS if days[text[:DATE_LETTERS]] > 1 else DATE_LETTERS].replace("T", " ")
        for text in started
    ]
    counts, seen = Counter(labels), Counter[str]()
    for place, label in enumerate(labels):
        seen[label] += 1
        if counts[label] > 1:
            labels[place] = f"{label} ({seen[label]})"
    return labels


def _place(known: Sequence[_Machine], runs: RunSet, last: int | None) -> tuple[int, Sequence[Difference]]:
    """Return the number of the machine that measured runs, and in what it differs from the last session's.

    Of several that it may be, where it tells little of itself, it is the last session's or else the newest.
    """
    order = sorted(range(len(known)), key=lambda number: (number != last, -number))
    apart = {number: _apart(known[number], runs) for number in order}
    number = next((number for number in order if not apart[number]), len(known))
    return number, apart[last] if last is not None and number != last else ()


def _apart(machine: _Machine, runs: RunSet) -> list[Difference]:
    found: dict[Difference, None] = {}
    for node, now in machines_of(runs):
        names = [_fleet_name(one) for one in (machine.node, node)]
        equal_nodes = None not in names and names[0] == names[1]
        differences = machine_differences(machine.facts, now, equal_nodes=equal_nodes)
        found |= {one: None for one in differences if one.what not in OF_NO_MACHINE}
        told = None not in (
            _uuids(machine.facts),
            _uuids(now),
        )  # then they decide, whatever a machine is called
        if None not in names and not equal_nodes and not told:
            found[Difference(what=FLEET_NAME, before=names[0], now=names[1])] = None
    return [*found]


def _fleet_name(node: str | None) -> str | None:
    """Return the machine that a node is one of: "a10g" of "a10g-2"."""
    return node and (node.rpartition("-")[0] or node)


def _uuids(machine: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the UUIDs of a machine's GPUs; None where it has none, or one does not tell its own."""
    known = [gpu.get("uuid") for gpu in machine.get("gpus") or ()]
    return frozenset(known) if known and None not in known else None


def _update(known: list[_Machine], number: int, runs: RunSet) -> dict[str, list[Difference]]:
    """Note what a session tells of its machine; return what changed, framework by framework."""
    if is_first := number == len(known):
        known.append(_Machine(node=None, facts={}, parts={}, versions={}))
    machine, changes = known[number], {}
    versions: dict[str, dict[str, str]] = {}
    for run in runs:
        versions.setdefault(run.trial.framework, {}).update(run.versions)
    for framework, own in versions.items():
        name = NAMES.get(framework, framework)
        titles = {package: name if package == framework else f"{name}: {package}" for package in own}
        before = machine.versions.setdefault(framework, {})
        # The framework itself before what it brings along.
        packages = sorted(own, key=lambda package: package != framework)
        if changed := _changed(before, own, {package: titles[package] for package in packages}):
            changes[framework] = changed
        before.update(own)
    parts: dict[str, str] = {}
    for node, now in machines_of(runs):
        told = {what: value for what, value in _parts(now).items() if value}
        if _same_memory(machine.facts, now):
            told[MEMORY] = machine.parts.get(MEMORY, told[MEMORY])
        parts |= told
        machine.node = node
        machine.facts |= now
    changed = _changed(machine.parts, parts, {what: what for what in parts})
    if DRIVER in {one.what for one in changed}:  # which brings its CUDA along
        changed = [one for one in changed if one.what != CUDA]
    if changed:
        changes[OF_MACHINE] = changed
    machine.parts |= parts
    return {} if is_first else changes


def _changed(
    before: Mapping[str, str], now: Mapping[str, str], titles: Mapping[str, str]
) -> list[Difference]:
    return [
        Difference(what=title, before=before[name], now=now[name])
        for name, title in titles.items()
        if before.get(name, now[name]) != now[name]
    ]


def _same_memory(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    sizes = [machine.get("memory_bytes") for machine in (before, now)]
    return None not in sizes and abs(sizes[1] - sizes[0]) <= SAME_MEMORY_SHARE * sizes[0]


def _parts(machine: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the parts that may change with a bearing on times, in words; None where one is not known."""
    words = machine_parts(machine)
    limits = [gpu.get("power_limit_w") for gpu in machine.get("gpus") or ()]
    limited = ", ".join(f"{limit:,.0f} W" for limit in dict.fromkeys(limits) if limit)
    if machine.get("environment") == {}:
        words[VARIABLES] = "none"  # which is known
    return {**{what: words[what] for what in PARTS}, POWER_LIMIT: limited or None}


def changes_text(differences: Iterable[Difference]) -> str:
    """Return what changed in words: "PyTorch 2.14.0 → 2.15.0, NVIDIA driver 580.65 → 590.11"."""
    return ", ".join(f"{one.what} {one.before} → {one.now}" for one in differences)
