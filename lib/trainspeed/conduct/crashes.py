"""Crashes that come again: after three alike in a row, a trial or a whole framework is not tried any more.

A crash may be bad luck, so a trial is tried again in the next block; a framework that cannot work on this machine
crashes in each of hundreds of runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import msgspec

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import NAMES
from trainspeed.core.levers.registry import in_environment, words_of
from trainspeed.core.result import Failure
from trainspeed.core.run import Run, Status

IN_A_ROW = 3
NODE_LOST = (
    "NodeLost"  # error of a run that another node did not train along with: it tells nothing of its trial
)

_Likeness = tuple[str | None, ...]


@dataclass
class Crashes:
    """How the runs of a study ended so far, as far as they crashed.

    Two crashes are alike where stage, error and cause are equal. Those of arms that were alive together are one for
    their framework: they end together where their worker does.
    """

    _alike: dict[Hashable, tuple[_Likeness, int]] = field(default_factory=dict, init=False)
    _frameworks: dict[Hashable, tuple[_Likeness, set[tuple[Hashable, Hashable]]]] = field(
        default_factory=dict, init=False
    )
    _worked: set[Hashable] = field(default_factory=set, init=False)
    _given_up: set[Hashable] = field(default_factory=set, init=False)

    def judged(self, run: Run, kind: Hashable) -> Run:
        """Count a run that has ended, and return it; where it is the last try, its failure is final and says so.

        Args:
            kind: The same for the runs of a trial in all blocks.
        """
        if run.failure is not None and run.failure.error == NODE_LOST:
            return run
        framework = _framework_of(run.trial)
        if run.status is not Status.CRASHED:
            self._alike.pop(kind, None)
            self._frameworks.pop(framework, None)
            if run.status is Status.OK:
                self._worked.add(framework)
            return run
        failure = run.failure or Failure()
        likeness = failure.stage, failure.error, failure.cause
        before, number = self._alike.get(kind, (likeness, 0))
        number = number + 1 if before == likeness else 1
        self._alike[kind] = likeness, number
        before, ended = self._frameworks.get(framework, (likeness, set()))
        together = kind if run.group is None else (run.block, run.group, run.subgroup)
        ended = {*(ended if before == likeness else ()), (kind, together)}
        self._frameworks[framework] = likeness, ended
        kinds, times = ({one[place] for one in ended} for place in (0, 1))
        if len(kinds) >= IN_A_ROW and len(times) > 1 and framework not in self._worked:
            self._given_up.add(framework)
            name = NAMES[run.trial.framework]
            where = " on several devices" if run.trial.devices > 1 else ""
            if settings := in_environment(run.trial.levers):
                where += f" with {words_of(settings)}"
            alike = f"{len(kinds)} trials of {name}{where} ended so and none well"
            return _final(run, failure, f"{alike}: no other is tried")
        if number >= IN_A_ROW:
            return _final(run, failure, f"it ended so {number} times in a row and is not tried again")
        return run

    def has_given_up(self, trial: AnyTrial) -> bool:
        """Return whether the framework of a trial is not tried any more on such devices."""
        return _framework_of(trial) in self._given_up


def _framework_of(trial: AnyTrial) -> Hashable:
    """Return what works or does not: on several devices it takes more than on one, and an environment may be why."""
    return trial.framework, in_environment(trial.levers), trial.on_cpu, trial.devices > 1


def _final(run: Run, failure: Failure, why: str) -> Run:
    reason = f"{run.reason}; {why}" if run.reason else why
    return replace(run, reason=reason, failure=msgspec.structs.replace(failure, final=True))
