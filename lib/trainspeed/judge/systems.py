"""Whether runs that are shown together were measured on one system: one machine, one driver, the same versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trainspeed.core.run import Run
from trainspeed.core.runs import machines_of
from trainspeed.core.system import Difference, differences_text, machine_differences, version_differences


def system_doubts(runs: Iterable[Run]) -> list[str]:
    """Return the doubt that runs of several systems are together, with what each differs in from the first."""
    runs = [*runs]
    versions: dict[str, list[Mapping[str, str]]] = {}
    for run in runs:
        seen = versions.setdefault(run.trial.framework, [])
        if run.versions and run.versions not in seen:
            seen.append(run.versions)
    machines = machines_of(runs)
    differences: list[Difference] = []
    for node, machine in machines[1:]:
        equal_nodes = None not in (node, machines[0][0]) and node != machines[0][0]
        differences += machine_differences(machines[0][1], machine, equal_nodes=equal_nodes)
    for framework, known in versions.items():
        differences += [d for others in known[1:] for d in version_differences(framework, known[0], others)]
    if not differences:
        return []
    return [
        f"Runs of several systems are together here: {differences_text(differences)}. What is compared between them "
        "differs by that, too: measure it again in a new report."
    ]
