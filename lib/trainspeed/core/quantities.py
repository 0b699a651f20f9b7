"""What the values of a ledger's line may be: their types, least and most. A ledger may come from anywhere.

Knows no run. The limits are far above what any machine measures; they keep sums, charts and pages finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta

MOST_NAME_LETTERS, MOST_TEXT_LETTERS = 300, 10_000
MOST_S = 1e9  # 30 years
MOST_WHOLE = 2**53  # what a float holds exactly

# A session or a study: part of a file's name.
Identifier = Annotated[str, Meta(pattern=r"^[\w .:+-]{1,100}\Z")]
Name = Annotated[str, Meta(max_length=MOST_NAME_LETTERS)]
NodeName = Annotated[
    str, Meta(pattern=r"^[\w.-]{1,100}-[1-9][0-9]{0,5}\Z")
]  # a machine of a fleet, and which of them
Text = Annotated[str, Meta(max_length=MOST_TEXT_LETTERS)]
Duration = Annotated[float, Meta(gt=0, le=MOST_S)]  # seconds of what was timed
Elapsed = Annotated[float, Meta(ge=0, le=MOST_S)]  # seconds between two moments
Amount = Annotated[float, Meta(ge=0, le=1e30)]
Points = Annotated[float, Meta(gt=0, le=1e9)]  # of test accuracy
PointsApart = Annotated[float, Meta(ge=0, le=1e9)]  # two test accuracies of one setting
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=MOST_WHOLE)]
Size = Annotated[int, Meta(ge=1, le=MOST_WHOLE)]
Whole = Annotated[int, Meta(ge=-MOST_WHOLE, le=MOST_WHOLE)]
Number = Annotated[int, Meta(ge=0, le=1_000_000)]  # of a block, a group or a turn
Durations = tuple[Duration, ...]


class GpuFacts(TypedDict, total=False):
    """One of a machine's `gpus` and `other_gpus`."""

    name: Required[Name | None]
    uuid: Name | None
    memory_bytes: Count | None
    power_limit_w: Amount | None
    compute_capability: Name | None
    left_out: Name | None


class CoreFacts(TypedDict, total=False):
    """A machine's `cores`."""

    physical: Count | None
    logical: Count | None
    quota: Amount | None


class LinkFacts(TypedDict, total=False):
    """A machine's `link`: see `trainspeed.core.links`."""

    kind: Name | None
    count: Count | None


class MachineFacts(TypedDict, total=False):
    """What a report reads of a machine: see `trainspeed.sensors.machine.detect_machine`."""

    device: Name | None
    cpu: Name | None
    cores: CoreFacts | None
    cpu_flags: Annotated[list[Name], Meta(max_length=100)] | None
    onednn_by_itself: bool | None
    environment: Annotated[Mapping[Name, Text], Meta(max_length=100)] | None
    governor: Name | None
    huge_pages: Name | None
    memory_bytes: Count | None
    gpus: Annotated[list[GpuFacts], Meta(max_length=1024)] | None
    other_gpus: Annotated[list[GpuFacts], Meta(max_length=1024)] | None
    no_gpus: Name | None
    interconnect: Name | None
    link: LinkFacts | None
    driver: Name | None
    cuda: Name | None
    os: Name | None
    python: Name | None
    container: bool | None


class LayerFacts(TypedDict):
    """A row of a layer table: see `trainspeed.core.layer_table.row`."""

    layer: Name
    type: Name
    output_shape: Annotated[list[int | None], Meta(max_length=16)]
    data_format: Name | None
    bn_axis: int | None
    forgot: bool


class ProfileFacts(TypedDict, total=False):
    """How a step's time splits: see `Inspection.profile`."""

    matrix_share: Amount | None
    kernels: Annotated[list[Name], Meta(max_length=1000)]


# Field of a line -> what it may hold, where that is less than the type of the field of `Run` says.
LINE_TYPES: Mapping[str, Any] = {
    "session": Identifier,
    "study": Identifier,
    "label": Name,
    "block": Number,
    "group": Number | None,
    "subgroup": Number,
    "reason": Text | None,
    "started_at": Name | None,
    "monitor": Name | None,
    "node": NodeName | None,
    "import_s": Elapsed | None,
    "versions": Annotated[Mapping[Name, Name], Meta(max_length=1000)],
    "epoch_s": Durations,
    "call_s": Durations,
    "resident_s": Durations,
    "stages_s": Annotated[Mapping[Name, Elapsed], Meta(max_length=100)],
    "warm_s": Annotated[Mapping[Name, Sequence[Elapsed]], Meta(max_length=100)],
    "placement": Name | None,
    "images_per_epoch": Count | None,
    "classes": Count | None,
    "test_accuracy": Share | None,
    "peak_memory_bytes": Count | None,
    "energy_j": Amount | None,
    "metered_s": Elapsed | None,
    "gpu_load_percent": Amount | None,
    "repeats": Size,
    "built_beside": Number,
    "probe": Annotated[Mapping[Name, float | bool | Text | tuple[float, ...] | None], Meta(max_length=1000)],
    "skipped_steps": Count | None,
    "in_effect": Annotated[Mapping[Name, tuple[Name | None, Text]], Meta(max_length=100)],
    "waiting_cores": Amount | None,
    "waiting_gpu": Share | None,
    "no_waiting_gpu": Name | None,
    "effective_layout": Annotated[Mapping[Name, Count | None], Meta(max_length=100)] | None,
    "parameters": Count | None,
    "step_flops": Amount | None,
    "step_bytes": Amount | None,
}
# Field that is kept as it was written -> what is looked at in it; it may hold more.
PARTS: Mapping[str, Any] = {
    "machine": MachineFacts,
    "layers": Annotated[tuple[LayerFacts, ...], Meta(max_length=10_000)] | None,
    "profile": ProfileFacts | None,
}
