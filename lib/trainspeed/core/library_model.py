"""The models of timm and keras.applications under their own names: "timm/resnet18", "keras/EfficientNetV2B0".

Knows them by lists that were recorded from the pinned versions (`requirements/record_models.py`), since neither library
is in the notebooks' environment. Builds nothing.
"""

from __future__ import annotations

import csv
import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainspeed.core.errors import NAME_FORM, UNKNOWN_FORM, UserError
from trainspeed.core.format import NAMES, listed

FORM = re.compile(r"(timm|keras)/(\w[\w.-]*)?", re.ASCII)
LISTS = Path(__file__).parent / "library_models"
FRAMEWORKS_OF = {"timm": ("torch",), "keras": ("tensorflow", "jax")}  # those that a library's models are for
LIBRARIES = {"timm": "timm", "keras": "keras.applications"}
MOST_SUGGESTED = 3


@dataclass(frozen=True, kw_only=True)
class LibraryModel:
    """A model of a library.

    Attributes:
        library: "timm" or "keras".
        name: Its name there.
        px: Height and width of the images that it was made for; None where it does not classify square images of
            three channels.
        least_px: The least that it takes; `px` where it takes no other size.
        channels_first: Whether it can be built in that layout.
        forward_flops: FLOPs of a forward pass of an image of `px`, 2 per multiply-add; None where they are not known.
    """

    library: str
    name: str
    px: int | None
    least_px: int | None
    channels_first: bool
    forward_flops: int | None

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The frameworks that it is for."""
        return FRAMEWORKS_OF[self.library]

    def why_not(self, framework: str, layout: str) -> str | None:
        """Return why it cannot be trained in a framework and a layout; None where it can."""
        if framework not in self.frameworks:
            there = listed(NAMES[name] for name in self.frameworks)
            return f"a model of {LIBRARIES[self.library]} is for {there}, not for {NAMES[framework]}"
        if layout == "channels_first" and not self.channels_first:
            return f"{LIBRARIES[self.library]} has it in channels_last alone"
        return None

    def nearest_px(self, size_px: int) -> int:
        """Return a size of images that it takes: this one, or the nearest."""
        return self.px if self.least_px == self.px else max(size_px, self.least_px)

    def check_image_size(self, field: str, size_px: int) -> None:
        """Raise a UserError where it does not take images of this size."""
        full_name = f"{self.library}/{self.name}"
        if self.least_px == self.px != size_px:
            raise UserError(field, size_px, f"is not what {full_name} takes: {self.px} px and no other.")
        if size_px < self.least_px:
            raise UserError(field, size_px, f"is too small for {full_name}: {self.least_px} px or more.")


def is_library_model(model: object) -> bool:
    """Whether a model is named as one of a library, which may not have it: a ledger may be of other versions."""
    return isinstance(model, str) and FORM.fullmatch(model) is not None


def check_library_models(trials: Iterable[Any]) -> None:
    """Raise a UserError where a trial's model is of a library that lacks it, or does not take images of that size."""
    shapes = {
        (trial.model, trial.image_size) for trial in trials if is_library_model(getattr(trial, "model", None))
    }
    for model, size_px in sorted(shapes):
        find_library_model(model).check_image_size("image_size", size_px)


def find_library_model(model: str) -> LibraryModel:
    """Return a model of a library.

    Raises:
        UserError: The library has no such model, or it is no classifier of images.
    """
    library, _, name = model.partition("/")
    known = models_of(library)
    if name not in known:
        raise UserError("model", model, _suggestion(library, name), form=UNKNOWN_FORM)
    if known[name].px is None:
        rule = f"does not classify square images of three channels by itself in {LIBRARIES[library]}."
        raise UserError("model", model, rule, form=NAME_FORM)
    return known[name]


def in_a_library(name: object) -> list[str]:
    """Return what a model may be called whose library is missing or wrong: "timm/resnet18" for "resnet18"."""
    own = str(name).rpartition("/")[2]
    return [f"{library}/{own}" for library in LIBRARIES if own in models_of(library)]


@functools.cache
def models_of(library: str) -> Mapping[str, LibraryModel]:
    """Return name -> model of a library, as recorded."""
    with (LISTS / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: _model_of(library, row) for row in csv.DictReader(file)}


def _model_of(library: str, row: Mapping[str, str]) -> LibraryModel:
    px, least, flops = (int(row[key]) if row[key] else None for key in ("px", "least_px", "forward_flops"))
    return LibraryModel(
        library=library,
        name=row["name"],
        px=px,
        least_px=least,
        channels_first=row["channels_first"] == "1",
        forward_flops=flops,
    )


def _suggestion(library: str, name: str) -> str:
    """Return the end of a sentence about an unknown name; a list of all would fill pages."""
    known = models_of(library)
    architecture, _, tag = name.partition(".")
    if tag and architecture in known:
        return (
            f": leave the tag {tag!r} of its weights out, they are drawn at random: {library}/{architecture}."
        )
    lowered = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=MOST_SUGGESTED)
    meant = " or ".join(repr(f"{library}/{lowered[one]}") for one in close)
    count = f"{LIBRARIES[library]} has {len(known):,} models"
    return f": did you mean {meant}? {count}." if meant else f". {count}, none of such a name."
