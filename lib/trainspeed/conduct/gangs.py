"""Runs that several nodes train together: the run here is rank 0's, the others' follow it. Knows no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from trainspeed.conduct.block_limit import BlockLimit
from trainspeed.conduct.crashes import NODE_LOST
from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.worker.gang import Gang
from trainspeed.worker.request import Request

# What an arm does beside its turns, each for as long as one at most: all until it first rests, its end, and what is
# looked up then.
PHASES_WITHOUT_TURNS = 3


class Followers(Protocol):
    """What the other nodes do for one run.

    Attributes:
        gang: What the run here is to know of them.
    """

    gang: Gang

    def follow(self, run: ForkedRun) -> None:
        """Have them end this run where one of them is lost or fails, as it would wait for it."""

    def ended(self, outcome: RunOutcome) -> RunOutcome:
        """Wait for their ends, and return how the run has ended, given what it says itself."""


class Gangs(Protocol):
    """Other nodes that may train with this one.

    Attributes:
        nodes: How many there are, with this one.
        addresses: Theirs, which no text that is kept may hold.
    """

    nodes: int
    addresses: Sequence[str]

    def begin(self, request: Request, limit_s: float) -> Followers:
        """Have as many nodes as a request's trial needs begin to follow.

        Args:
            limit_s: Seconds after which they end it, rests included: where rank 0's is gone without a word, so long is
                a node kept.
        Raises:
            GangIncomplete: One of them does not answer, or cannot.
        """


class GangRuns:
    """Begins runs on a worker, those of several nodes with their followers, and tells how they ended.

    Args:
        gangs: None where there is no other node.
    """

    def __init__(self, gangs: Gangs | None) -> None:
        self._gangs = gangs
        self._followers: dict[Any, Followers] = {}

    @property
    def addresses(self) -> Sequence[str]:
        """Of the nodes that have trained together."""
        return self._gangs.addresses if self._gangs else ()

    def begin(
        self,
        planned: Planned,
        worker: WorkerProcess,
        request: Request,
        timeout_s: float,
        limit: BlockLimit,
        *,
        arms: int = 1,
        rounds: int = 0,
    ) -> ForkedRun:
        """Begin a run; one of several nodes has ended at once where these are not there.

        Args:
            timeout_s: Of the run, or of each of its turns, where it has no shorter limit of its own.
            limit: Of its block.
            arms: How many take turns, this one among them.
            rounds: How many turns each has, at most.
        """
        timeout_s = min(timeout_s, planned.limit_s or timeout_s)
        if planned.trial.nodes == 1:
            run = worker.begin(request, timeout_s)
            run.until_s = limit.stopped_s
            return run
        try:
            if self._gangs is None:
                raise GangIncomplete(f"it is for {planned.trial.nodes} nodes, and there is no other")
            followers = self._gangs.begin(request, timeout_s * arms * (rounds + PHASES_WITHOUT_TURNS))
        except GangIncomplete as problem:
            return ForkedRun.ended(Status.CRASHED, str(problem), _node_lost("start"))
        run = worker.begin(replace(request, gang=followers.gang), timeout_s)
        self._followers[planned.key] = followers
        followers.follow(run)
        return run

    def ended(self, planned: Planned, outcome: RunOutcome) -> RunOutcome:
        """Return how a run has ended, given what it says itself."""
        followers = self._followers.pop(planned.key, None)
        if followers is None:
            return outcome
        ended = followers.ended(outcome)
        # The counters that were read are those of this node alone.
        return replace(ended, result=replace(ended.result, energy_j=None, metered_s=None))

    def forget(self) -> None:
        """Let go of the followers of runs that were ended, whose outcome is not wanted."""
        self._followers.clear()


class GangIncomplete(Exception):
    """A node that was to follow does not; the message says why, without its address."""


def lost(who: str) -> RunOutcome:
    """Return how a run ended whose other node is gone: nothing is known of its trial, which is tried again."""
    return RunOutcome(status=Status.CRASHED, reason=f"a node was lost: {who}", failure=_node_lost("train"))


def _node_lost(stage: str) -> Failure:
    return Failure(stage=stage, error=NODE_LOST)


def judged(outcome: RunOutcome, lost_node: str | None, failed: RunOutcome | None) -> RunOutcome:
    """Return how a run of several nodes has ended.

    Args:
        outcome: What rank 0's says.
        lost_node: Name of a node that no longer answers.
        failed: How the first run that followed has failed.
    """
    if outcome.status is Status.OK:
        return outcome  # all had trained by then
    if lost_node:
        return replace(lost(lost_node), result=outcome.result)
    if failed and failed.status in (Status.OOM, Status.UNSUPPORTED, Status.INVALID):
        return replace(failed, result=outcome.result)
    waited = outcome.status is Status.TIMEOUT  # for one that had ended
    if failed and (waited or outcome.failure is None or outcome.failure.error == "SIGKILL"):
        return replace(failed, result=outcome.result)  # this one was ended for it
    return outcome
