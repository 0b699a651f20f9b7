"""Whether a session that was interrupted may go on here: with the machine and the versions that it was begun with.

Arms of one block are compared, and blocks with one another: what changed meanwhile would pass for their difference.
What runs of earlier sessions took tells of this machine only where theirs was like it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainspeed.core.errors import UserError
from trainspeed.core.run import Run
from trainspeed.core.runs import machines_of
from trainspeed.core.system import Difference, differences_text, machine_differences, version_differences


class OtherSystem(UserError):
    """A session that cannot go on here.

    Attributes:
        what: The error without what a user of the command line can do.
    """

    def __init__(self, differences: Sequence[Difference]) -> None:
        """Say what has changed."""
        changed = differences_text(differences)
        self.what = f"this session was begun on another system: {changed}. Its blocks would mix the two."
        super().__init__(
            f"{self.what} Leave RESUME out to begin a new report (what was measured stays), or go back to what it was "
            "begun with."
        )


def check_same_machine(runs: Iterable[Run], machine: Mapping[str, Any], node: str | None = None) -> None:
    """Raise an OtherSystem where runs of the session were measured on another machine, or with another driver.

    Args:
        machine: This one, as in the ledger.
        node: What the fleet calls it: see `Run`. Runs of a node that is equal to it may be gone on with here.
    """
    differences: list[Difference] = []
    for where, before in machines_of(runs):
        equal_nodes = None not in (where, node) and where != node
        differences += machine_differences(before, machine, equal_nodes=equal_nodes)
    _check(differences)


def of_machines_alike(runs: Iterable[Run], machine: Mapping[str, Any]) -> list[Run]:
    """Return the runs that were measured on a machine like this one, which alone tell how long a trial takes here.

    Args:
        machine: This one, as in the ledger.
    """
    runs = [*runs]
    alike = [
        known for _, known in machines_of(runs) if not machine_differences(known, machine, equal_nodes=True)
    ]
    return [run for run in runs if not run.machine or run.machine in alike]


def check_same_versions(runs: Iterable[Run], framework: str, versions: Mapping[str, str]) -> None:
    """Raise an OtherSystem where runs of the session had other versions of a framework or of its libraries.

    Args:
        versions: Those of its worker here.
    """
    known = [run.versions for run in runs if run.trial.framework == framework and run.versions]
    _check([d for before in known for d in version_differences(framework, before, versions)])


def _check(differences: Sequence[Difference]) -> None:
    if differences:
        raise OtherSystem(differences)
