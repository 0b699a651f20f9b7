"""The workers of a study: one of each framework, and one of each environment that a lever sets for it.

What a lever of the level environment sets is read as a framework is imported, so its trials need a worker of their
own. Does not know what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.levers.lever import Setting
from trainspeed.core.levers.registry import environment_of, in_environment

# Workers of an environment that are kept though no arm needs them: an imported framework takes 0.3 to 1 GB.
MOST_SPARE = 3


@dataclass(frozen=True)
class WorkerKind:
    """What tells a worker from others.

    Attributes:
        settings: The levers that set its environment; none of a plain one.
    """

    framework: str
    settings: tuple[Setting, ...] = ()

    @classmethod
    def of(cls, trial: AnyTrial) -> Self:
        """Return the kind of worker that a trial needs."""
        return cls(trial.framework, in_environment(trial.levers))

    @property
    def plain(self) -> WorkerKind:
        """The same framework, its environment left alone."""
        return WorkerKind(self.framework)


Start = Callable[[str, tuple[Setting, ...]], WorkerProcess]


@dataclass
class Workers:
    """Warm workers, each started when it is first asked for.

    Args:
        start: Starts the worker of a framework with these levers in its environment; raises `Unavailable` where
            there is none.
        check_versions: Called with a framework and its versions as its worker is ready; raises what ends the study.
    """

    start: Start
    check_versions: Callable[[str, Mapping[str, str]], None]
    _warm: dict[WorkerKind, WorkerProcess] = field(default_factory=dict, init=False)  # the last used one last
    _missing: dict[WorkerKind, str] = field(default_factory=dict, init=False)
    _worked: set[WorkerKind] = field(default_factory=set, init=False)  # they were ready once
    _needed: frozenset[WorkerKind] = field(default=frozenset(), init=False)

    def reserve(self, kinds: Iterable[WorkerKind]) -> None:
        """Keep these from being ended for others, until the next call: the arms that are alive together."""
        self._needed = frozenset(kinds)

    def ready(self, kind: WorkerKind) -> WorkerProcess | None:
        """Return a worker, started anew if the last one died; None where it is missing: see `why_missing`."""
        if kind in self._missing and kind not in self._worked:
            return None
        worker = self._warm.pop(kind, None)
        if worker and not worker.alive:
            worker.close()
            worker = None
        if worker:
            self._warm[kind] = worker
        else:
            self._make_room(kind)
            self._start(kind)
            self._wait_for(kind)
        return self._warm.get(kind)

    def warm(self, kind: WorkerKind) -> WorkerProcess | None:
        """Return a worker that was started, dead or alive; None where there is none."""
        return self._warm.get(kind)

    def why_missing(self, kind: WorkerKind) -> str:
        """Return why there is no such worker, in words."""
        return self._missing[kind]

    @property
    def missing(self) -> set[str]:
        """The frameworks that could not be started, whatever their environment."""
        return {kind.framework for kind in self._missing if kind == kind.plain}

    def has_framework(self, kind: WorkerKind) -> bool:
        """Return whether the framework of a worker can be imported: where it is missing, its environment is why."""
        return self.ready(kind.plain) is not None

    def start_all(self, kinds: Collection[WorkerKind], *, side_by_side: bool = True) -> None:
        """Start plain workers, and as many others as may be kept, and wait for all of them.

        Args:
            side_by_side: False where the time of each import is of interest.
        """
        others = [kind for kind in kinds if kind.settings][:MOST_SPARE]
        for kind in dict.fromkeys([*(kind.plain for kind in kinds), *others]):
            if kind not in self._warm:
                self._start(kind)
            if not side_by_side:
                self._wait_for(kind)
        for kind in list(self._warm):
            self._wait_for(kind)

    def close(self) -> None:
        """End whatever runs in any worker, and leave the idle ones to the next study of a report, if there is one."""
        while self._warm:
            self._warm.popitem()[1].release()

    def _make_room(self, new: WorkerKind) -> None:
        """End the least recently used workers that are one too many."""
        if not new.settings:
            return
        kept = [kind for kind in self._warm if kind.settings]
        spare = [kind for kind in kept if kind not in self._needed]
        for kind in spare[: max(0, len(kept) + 1 - MOST_SPARE)]:
            self._warm.pop(kind).close()

    def _start(self, kind: WorkerKind) -> None:
        try:
            self._warm[kind] = self.start(kind.framework, kind.settings)
        except Unavailable as problem:
            self._missing[kind] = str(problem)

    def _wait_for(self, kind: WorkerKind) -> None:
        try:
            if worker := self._warm.get(kind):
                worker.wait_until_ready()
                self._worked.add(kind)
                self.check_versions(kind.framework, worker.versions)
        except Unavailable as problem:
            variables = " ".join(f"{name}={value}" for name, value in environment_of(kind.settings).items())
            self._missing[kind] = f"it could not be imported{variables and f' with {variables}'}: {problem}"
            del self._warm[kind]
