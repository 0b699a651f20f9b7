"""The factors in which two trials may differ: how each is worded, hidden, tabled and switched, a row each.

Knows no run and no verdict, and reads a trial by its fields only. The rows of a convolution's factors are in
`core.convolution`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import msgspec

from trainspeed.core.format import (
    DATA_SET_NAMES,
    DEFAULT_PRECISION,
    NAMES,
    counted,
    devices_of,
    model_of,
    pipeline_of,
    precision_of,
)
from trainspeed.core.levers.lever import LEVERS_FACTOR, Setting
from trainspeed.core.levers.registry import words_apart, words_of
from trainspeed.core.phase import PHASES, WHOLE
from trainspeed.core.quantities import MOST_NAME_LETTERS, MOST_WHOLE

CONTROL = "control"  # no field of a trial: the same trial twice
RECIPE = "recipe"  # no field either: all switches that a search keeps
RESIDENCY = "residency"  # of a convolution: data that stay on the device, over whole calls
TIMES_BATCH = 4  # a search tries a batch that is so many times the plain one

Condition = Callable[[Any], bool]


def always(_trial: Any) -> bool:
    """Hold for every trial."""
    return True


def never(_trial: Any) -> bool:
    """Hold for no trial."""
    return False


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A setting in which two trials may differ, and all that the report says and does with it.

    A label stands in a chart or a table whose title says what is compared; a name stands alone.

    Attributes:
        name: Its name in verdicts; a field of a trial, except for `CONTROL`, `RECIPE` and `RESIDENCY`.
        with_fields: Further fields of a trial that change with it, such as workers with a pipeline.
        value: Puts a value of its field into words.
        of_trial: Does so for a trial, where that needs other fields too.
        contrast: Puts (baseline, candidate) into words, where that is not "this vs that".
        each: What a candidate has beyond its baseline, one by one, where that may be several things.
        lead: What a label begins with, from (factor, baseline, candidate); nothing where it is None.
        described: For which trials a description mentions it; never where it is None.
        seldom: For which trials a label mentions it, at its end; where it is None, as descriptions do.
        in_name: For which trials a name mentions it, after the label.
        in_head: Whether a sentence mentions it before the result, with what is compared.
        hides: Factors that no label, name or sentence about this one repeats; by default itself.
        plain_label: Whether its labels leave out what is said seldom.
        header: Header of its column in a table, where that is not its name.
        cell: Puts a value into words in that column, where the value itself will not do.
        frees: Fields in which the two that are compared may differ too.
        choice: Whether a user chooses it, so that a gain by it is worth telling.
        switch: Fields that a search tries, from (plain trial, number of devices); None: no switch.
    """

    name: str
    with_fields: tuple[str, ...] = ()
    value: Callable[[Any], str] = str
    of_trial: Callable[[Any], str] | None = None
    contrast: Callable[[Any, Any], str] | None = None
    each: Callable[[Any, Any], list[str]] | None = None
    lead: Callable[[Factor, Any, Any], str] | None = None
    described: Condition | None = None
    seldom: Condition | None = None
    in_name: Condition = never
    in_head: bool = False
    hides: tuple[str, ...] | None = None
    plain_label: bool = False
    header: str = ""
    cell: Callable[[Any], str] | None = None
    frees: Callable[[Any, Any], tuple[str, ...]] = lambda *_: ()
    choice: bool = True
    switch: Callable[[Any, int], Mapping[str, Any]] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of a trial that may differ with it."""
        return self.name, *self.with_fields

    @property
    def hidden(self) -> tuple[str, ...]:
        """Factors that are not mentioned next to it."""
        return (self.name,) if self.hides is None else self.hides

    def words(self, trial: Any) -> str:
        """Return its value in a trial, in words."""
        return self.of_trial(trial) if self.of_trial else self.value(getattr(trial, self.name, self.name))

    def versus(self, baseline: Any, candidate: Any) -> str:
        """Return what is compared, in words: "bf16 vs fp32"."""
        if self.contrast:
            return self.contrast(baseline, candidate)
        return f"{self.words(candidate)} vs {self.words(baseline)}"


def rows(*factors: Factor) -> dict[str, Factor]:
    """Return the factors by name, in the order in which descriptions mention them."""
    return {factor.name: factor for factor in factors}


class BaseTrial:
    """What every kind of trial has, a dataclass each: its JSON, and its words by the rows of its factors."""

    factors: ClassVar[Mapping[str, Factor]]
    levers: tuple[Setting, ...] = ()
    nodes: int = 1

    @property
    def devices_per_node(self) -> int:
        """Devices that it takes on each of its nodes."""
        return self.devices // self.nodes

    @property
    def cores(self) -> int | None:
        """CPU cores that it takes on each node where there is no GPU; None for all that there are."""
        return self.devices_per_node

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: every field, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the trial that `as_dict` was called on; fields of a later Trainspeed are ignored.

        Raises:
            ValueError: It is no trial: a field is missing, has a wrong type or a value that no trial has.
        """
        trial = msgspec.convert(data, cls)
        for name, value in trial.as_dict().items():
            too_long = isinstance(value, str) and len(value) > MOST_NAME_LETTERS
            if too_long or (isinstance(value, int) and value > MOST_WHOLE):
                raise ValueError(f"{name} is longer or larger than that of any trial")
        return trial

    def factor(self, name: str) -> Factor:
        """Return the row of a factor; a plain one for a field that has none, such as the seed."""
        return self.factors.get(name) or Factor(name=name)

    def describe(self, without: Collection[str] = ()) -> list[str]:
        """Return in words what tells the trial from others, leaving out these factors."""
        described = (row for row in self.factors.values() if row.described and row.described(self))
        return [row.words(self) for row in described if row.name not in without]


def _trains_model(trial: Any) -> bool:
    return not trial.phase.ceiling


def _framework(value: object) -> str:
    return NAMES.get(value, str(value))


def _data_set(value: object) -> str:
    return DATA_SET_NAMES.get(value, str(value))


def _other_layout(trial: Any, _devices: int) -> Mapping[str, Any]:
    return {"layout": "channels_last" if trial.layout == "channels_first" else "channels_first"}


def _levers(value: Any) -> str:
    """Return the levers of a trial in words, or of a row of the frame, where they are text: "name=value name=value"."""
    settings = (part.partition("=")[::2] for part in value.split()) if isinstance(value, str) else value
    return words_of(settings)


def _switched(baseline: Any, candidate: Any) -> str:
    """Return the one switch in which two trials differ, in words; of several that they are all together."""
    differ = [row for row in baseline.factors.values() if row.words(baseline) != row.words(candidate)]
    return differ[0].versus(baseline, candidate) if len(differ) == 1 else "all switches together"


def _nodes_apart(baseline: Any, candidate: Any) -> str:
    """Return on how many nodes the devices of two trials are: "2 nodes x 1 device vs 1 node x 2 devices"."""
    told = ((counted(t.nodes, "node"), counted(t.devices_per_node, "device")) for t in (candidate, baseline))
    return " vs ".join(map(" x ".join, told))


def _levers_apart(baseline: Any, candidate: Any) -> list[str]:
    return words_apart(baseline.levers, candidate.levers)


# The factors of a training. A new one is a row here, and a field in `core.trial`.
TRAINING = rows(
    Factor(
        name="framework",
        value=_framework,
        cell=_framework,
        lead=Factor.versus,
        described=always,
        frees=lambda *two: ("compile",) if "jax" in [trial.framework for trial in two] else (),
        choice=False,
    ),
    Factor(name="model", value=model_of, described=_trains_model),
    Factor(name="layout", described=_trains_model, switch=_other_layout),
    Factor(
        name="batch_size",
        value="batch {}".format,
        header="batch",
        described=_trains_model,
        switch=lambda trial, _: {"batch_size": TIMES_BATCH * trial.batch_size},
    ),
    Factor(name="image_size", value="{} px".format, described=_trains_model, seldom=never),
    Factor(
        name="precision",
        value=precision_of,
        lead=Factor.versus,
        described=always,
        seldom=lambda trial: trial.precision != DEFAULT_PRECISION,
        switch=lambda *_: {"precision": "bf16"},
    ),
    Factor(
        name="compile",
        value=lambda v: "compiled" if v else "not compiled",
        described=_trains_model,
        seldom=lambda trial: trial.compile,
        header="compiled",
        cell=lambda v: "yes" if v else "no",
        switch=lambda *_: {"compile": True},
    ),
    Factor(name="strategy", hides=("devices",)),
    Factor(
        name="devices",
        with_fields=("strategy", "nodes"),
        value=lambda v: counted(v, "device"),
        of_trial=devices_of,
        lead=lambda factor, _, candidate: factor.words(candidate),
        described=lambda trial: trial.devices > 1,
        plain_label=True,
        switch=lambda trial, devices: {"devices": devices, "strategy": trial.strategy_for(devices)},
    ),
    Factor(
        name="nodes",
        value=lambda v: counted(v, "node"),
        contrast=_nodes_apart,
        lead=Factor.versus,
        hides=("nodes", "devices"),
        plain_label=True,
    ),
    Factor(
        name="pipeline",
        with_fields=("workers",),
        of_trial=pipeline_of,
        lead=Factor.versus,
        described=lambda trial: trial.pipeline != "arrays",
        plain_label=True,
        switch=lambda *_: {"pipeline": "in_model", "workers": 0},
    ),
    Factor(name="workers", value=lambda v: counted(v, "worker"), of_trial=pipeline_of, hides=("pipeline",)),
    Factor(name="queue", value="queue of {}".format),
    Factor(name="part", value=lambda v: PHASES[v].words, described=lambda trial: trial.phase is not WHOLE),
    Factor(name="augment", value=lambda v: "augmented" if v else "not augmented"),
    Factor(name="dataset", value=_data_set, cell=_data_set),
    Factor(name="images_per_epoch", value="{:,} images".format, header="images per epoch"),
    Factor(name="epochs", value="{} epochs".format),
    Factor(name="weights"),
    Factor(
        name=LEVERS_FACTOR,
        value=lambda v: _levers(v) or "no lever",
        contrast=lambda *two: ", ".join(_levers_apart(*two)),
        each=_levers_apart,
        described=lambda trial: bool(trial.levers),
        cell=_levers,
    ),
    Factor(
        name=CONTROL,
        contrast=lambda baseline, _: f"control, {baseline.layout} vs itself",
        lead=lambda *_: CONTROL,
        plain_label=True,
        choice=False,
    ),
    Factor(
        name=RECIPE,
        contrast=_switched,
        lead=Factor.versus,
        hides=("layout", "batch_size", "devices", "pipeline", "part"),
        plain_label=True,
    ),
)
