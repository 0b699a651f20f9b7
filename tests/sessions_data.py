"""Made-up sessions of one machine: exact times, each session on a day of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from study_data import MACHINE, make_run
from trainspeed.core.run import Role, Run, Status
from trainspeed.studies.across.changes import TrialHistory
from trainspeed.studies.across.common import common_trials
from trainspeed.studies.across.histories import histories
from trainspeed.studies.across.sessions import Session, sessions_of

SCATTER = (0.0, 0.004, -0.004, 0.008, -0.008, 0.002)  # of a session's blocks around its time, as shares


def day(
    number: int, seconds: float = 1.0, torch: str | None = "2.14.0", *, control: float = 0.0, **more: Any
) -> list[Run]:
    """Return a session on this day of November: a trial in six blocks, and again as a control where it is given one.

    Args:
        torch: Its version; None where the session does not tell.
        control: How far apart the halves of the A/A control are, as a share; 0 for no control.
    """
    about = {
        "session": f"202611{number:02}T080000Z-abcd",
        "started_at": f"2026-11-{number:02}T08:00:00+00:00",
    }
    about |= {"dataset": "digits", "versions": {"torch": torch} if torch else {}} | more
    runs = []
    for block, share in enumerate(SCATTER):
        time_s = seconds * (1 + share)
        runs.append(make_run(time_s, block=block, label=Role.CONTROL if control else Role.DATA, **about))
        if control:
            apart = 1 + control * (-1) ** block
            runs.append(make_run(time_s * apart, block=block, label=Role.CONTROL_AGAIN, **about))
    return runs


quiet_day = partial(day, control=0.001)  # whose A/A control shows next to no noise


def failed_day(number: int, torch: str = "2.14.0", **more: Any) -> list[Run]:
    """Return a session on this day of November in which the trial ran out of memory."""
    about = {
        "session": f"202611{number:02}T080000Z-abcd",
        "versions": {"torch": torch},
        "dataset": "digits",
        "reason": "2 GB were <asked> for.",
    }
    return [make_run(status=Status.OOM, **about | more)]


def machine(**changed: Any) -> Mapping[str, Any]:
    """Return the usual machine with these changes."""
    return {**MACHINE, **changed}


def history_of(*sessions: Iterable[Run]) -> tuple[list[Session], list[TrialHistory]]:
    """Return the sessions in the order of time, and the history of each trial on each machine."""
    ordered = sessions_of(run for session in sessions for run in session)
    return ordered, histories(ordered, common_trials({session.label: session.runs for session in ordered}))


def upgraded_twice() -> list[Run]:
    """Return six sessions: the second upgrade of two makes some of four models slower, and one of them faster."""
    runs: list[Run] = []
    driver = {"device": "gpu", "gpus": [{"name": "NVIDIA A10G", "uuid": "1", "memory_bytes": 24 * 10**9}]}
    for number, torch, nvidia, sizes in (
        (2, "2.13.1", "580.65", (1.00, 1.00, 1.00, 1.00)),
        (5, "2.13.1", "580.65", (1.01, 0.995, 1.00, 1.01)),
        (9, "2.14.0", "580.65", (1.00, 1.01, 0.90, 1.00)),
        (12, "2.14.0", "580.65", (1.005, 1.00, 0.905, 1.005)),
        (19, "2.15.0", "590.11", (1.08, 1.00, 0.84, 1.00)),
        (22, "2.15.0", "590.11", (1.085, 1.01, 0.845, 1.15)),
    ):
        machine_now = machine(**driver, driver=nvidia, os="Debian GNU/Linux 12, Linux 6.18")
        for place, (model, size) in enumerate(
            zip(("cnn10", "wrn28_10", "resnet50", "vgg16"), sizes, strict=True)
        ):
            control = 0.01 if place == 0 else 0.0
            runs += day(
                number,
                0.04 * (place + 1) * size,
                torch,
                control=control,
                model=model,
                image_size=32,
                machine=machine_now,
            )
    return runs
