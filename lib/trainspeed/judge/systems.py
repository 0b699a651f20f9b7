"""Whether runs that are shown together were measured on one system: one machine, one driver, the same versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainspeed.core.run import Run
from trainspeed.core.system import differences_text, machine_differences, version_differences


def system_doubts(runs: Iterable[Run]) -> list[str]:
    """Return the doubt that runs of several systems are together, with what each differs in from the first."""
    machines: list[Mapping[str, Any]] = []
    versions: dict[str, list[Mapping[str, str]]] = {}
    for run in runs:
        if run.machine and run.machine not in machines:
            machines.append(run.machine)
        seen = versions.setdefault(run.trial.framework, [])
        if run.versions and run.versions not in seen:
            seen.append(run.versions)
    differences = [d for machine in machines[1:] for d in machine_differences(machines[0], machine)]
    for framework, known in versions.items():
        differences += [d for others in known[1:] for d in version_differences(framework, known[0], others)]
    if not differences:
        return []
    return [
        f"Runs of several systems are together here: {differences_text(differences)}. What is compared between them "
        "differs by that, too: measure it again in a new report."
    ]
