"""What nodes are asked for and what they answer, as JSON: each has one type, and is checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trainspeed.conduct.forecast import PlanSums
from trainspeed.conduct.plan import Planned
from trainspeed.core.convolution import trial_from_dict
from trainspeed.core.quantities import Identifier, MachineFacts, Name
from trainspeed.core.run import Status

Text = Annotated[str, Meta(max_length=2**23)]


class ReportOrder(msgspec.Struct, kw_only=True, frozen=True):
    """A report that a node is to run, or the plan of one.

    Attributes:
        arguments: Of `python -m trainspeed report` or `plan`, without the folder and the notebooks.
        notebooks: Those that are asked for by name; none: all.
        files: Name -> text of files that the report is to find in its folder: what an earlier node measured.
        twins: What reaches the nodes that share its blocks: see `twins`.
        sources: Name -> text of the user's own model files and parameters, which the arguments name.
        variables: Environment variables of the report.
        together: The largest number of nodes that are to train one trial together.
    """

    arguments: tuple[str, ...]
    notebooks: tuple[str, ...] = ()
    command: Literal["report", "plan"] = "report"
    files: Mapping[str, str] = {}
    sources: Mapping[str, str] = {}
    twins: str = ""
    variables: Mapping[str, str] = {}
    together: int = 1


class PlannedRun(msgspec.Struct, kw_only=True, frozen=True):
    """A run of a block: see `Planned`."""

    block: int
    label: str
    trial: dict[str, Any]
    group: int = 0
    timed_only: bool = False
    limit_s: float | None = None

    @classmethod
    def of(cls, planned: Planned) -> PlannedRun:
        """Return what is said of a run."""
        return cls(
            block=planned.block,
            label=planned.label,
            trial=planned.trial.as_dict(),
            group=planned.group,
            timed_only=planned.timed_only,
            limit_s=planned.limit_s,
        )

    def planned(self) -> Planned:
        """Return the run."""
        return Planned(
            block=self.block,
            label=self.label,
            trial=trial_from_dict(self.trial),
            group=self.group,
            timed_only=self.timed_only,
            limit_s=self.limit_s,
        )


class BlockOrder(msgspec.Struct, kw_only=True, frozen=True):
    """A block that a node is to measure for the study of another one. The other fields are those of `Runner`.

    Attributes:
        sources: Name -> text of the user's own model files that its runs name.
    """

    session: Identifier
    study: Identifier
    device: str
    timeout_s: float
    turn_s: float
    interval_s: float
    accuracy_blocks: int
    rounds: int
    runs: tuple[PlannedRun, ...]
    sources: Mapping[str, str] = {}


class NodeFacts(msgspec.Struct, kw_only=True, frozen=True):
    """What a node is, as far as it decides how long a run takes.

    Attributes:
        machine: As in the ledger.
        versions: Framework -> the packages of its environment -> their versions.
        code: Beginning of a hash of Trainspeed's own, its notebooks and presets among it.
    """

    machine: MachineFacts
    versions: Mapping[Name, Mapping[Name, Name]]
    code: Name


class FollowOrder(BlockOrder, kw_only=True, frozen=True):
    """A run of several nodes that a node is to follow: see `Gang`.

    Attributes:
        limit_s: Seconds after which it is ended, rests included.
    """

    addresses: tuple[str, ...]
    port: int
    node: int
    limit_s: float


class AddressOrder(msgspec.Struct, kw_only=True, frozen=True):
    """Asks a node for its own address on the way to another."""

    towards: str


class FollowEnd(msgspec.Struct, kw_only=True, frozen=True):
    """How a run that followed another node's has ended."""

    status: Status
    reason: Text | None = None


class Reply(msgspec.Struct, kw_only=True, frozen=True):
    """A line of what a node answers.

    Attributes:
        file: Name of the file in the report's folder that `text` is to be appended to; empty where it is none.
        text: Whole lines.
        said: What the report printed.
        code: The exit code, at the end.
        facts: What the node is.
        plan: What a report would take, at the end.
        address: The node's own.
        ended: How a run that it followed has ended.
    """

    file: str = ""
    text: Text = ""
    said: str | None = None
    code: int | None = None
    facts: NodeFacts | None = None
    plan: PlanSums | None = None
    address: Annotated[str, Meta(max_length=100)] | None = None
    ended: FollowEnd | None = None


def encode_message(message: msgspec.Struct) -> str:
    """Return a message as JSON, on one line."""
    return msgspec.json.encode(message).decode()


# Made here, in one thread: msgspec crashes where the first two texts of a type are read at once.
_ANSWERS = msgspec.json.Decoder(Reply)


def answer_of(text: str) -> Reply:
    """Return what a node answered.

    Raises:
        msgspec.ValidationError, msgspec.DecodeError: It is no answer.
    """
    return _ANSWERS.decode(text)
