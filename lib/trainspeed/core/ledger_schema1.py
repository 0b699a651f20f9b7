"""Read what schema 1 of the ledger said in English as values. Only this module knows its sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from trainspeed.core import notes
from trainspeed.core.notes import AnyNote
from trainspeed.core.quantities import Name, Text
from trainspeed.core.result import EffectivePrecision, Failure

NUMBER = r"(\d+(?:\.\d+)?)"
NOTES: tuple[tuple[str, Callable[..., AnyNote]], ...] = (
    (
        rf"GPU (\d+) was busy \({NUMBER} % load\) before the run began: .*",
        lambda gpu, load: notes.GpuBusy(gpu=int(gpu), load_percent=float(load)),
    ),
    (
        rf"Another process held {NUMBER} GB of GPU (\d+)'s memory before the run began.*",
        lambda held, gpu: notes.GpuMemoryHeld(gpu=int(gpu), held_bytes=float(held) * 1e9),
    ),
    (
        rf"Other processes kept {NUMBER} CPU cores busy meanwhile: stop them\.",
        lambda cores: notes.CoresBusy(cores=float(cores)),
    ),
    (
        rf"The hypervisor took {NUMBER} ?% of the CPU time meanwhile: .*",
        lambda percent: notes.CpuTimeStolen(share=float(percent) / 100),
    ),
    (
        r"The training loss ended as (\S+): the model did not learn\.",
        lambda loss: notes.LossNotFinite(loss=loss),
    ),
    (
        r"what ran was not found out: (\w+): (.*)",
        lambda error, message: notes.NotInspected(error=error, message=message),
    ),
    (
        r"effective layout and precision not found out: (\w+)",
        lambda error: notes.ConvolutionsNotSeen(error=error),
    ),
    (
        r"(.+) was asked, convolutions ran in (.+)",
        lambda asked, ran: notes.PrecisionNotAsked(asked=_dtypes(asked), ran=_dtypes(ran)),
    ),
)
STAGE = re.compile(r"in stage '(\w+)'")
ERROR = re.compile(r"(?:^|killed by )(\w+) in stage '")  # class of an exception, or name of a signal


def note(text: str) -> AnyNote:
    """Return the note that a sentence stands for, or one of kind "other" with its text where it is unknown."""
    for pattern, make in NOTES:
        if match := re.fullmatch(pattern, text, re.DOTALL):
            return make(*match.groups())
    return notes.OtherNote(text=text)


def layouts(text: str) -> Mapping[str, int | None]:
    """Return layout -> number of convolutions, from a text such as "channels_last" or
    "mixed: channels_first in 2, channels_last in 7 of 9 convolutions"; None where it gives no number.
    """
    if not (mixed := re.fullmatch(r"mixed: (.*) of \d+ convolutions", text)):
        return {_order(text): None}
    parts = (part.rpartition(" in ") for part in mixed[1].split(", "))
    return {_order(name): int(count) for name, _, count in parts}


def dtypes(text: str) -> EffectivePrecision:
    """Return the dtypes from a text such as "bfloat16 and float32" or "float32 (asked)"."""
    names = text.removesuffix(" (asked)")
    return EffectivePrecision(dtypes=dict.fromkeys(_dtypes(names)), asked=names != text)


def failure(status: str, reason: str, model: str) -> Failure:
    """Return what a reason tells about how a run failed."""
    file = model.rpartition(":")[0]
    in_user_file = bool(file) and status in ("unsupported", "invalid") and reason.startswith(file)
    stage, error = STAGE.search(reason), ERROR.search(reason)
    return Failure(stage=stage and stage[1], error=error and error[1], in_user_file=in_user_file)


def _order(layout: str) -> str:
    return layout.removeprefix("XLA's order ")


def _dtypes(text: str) -> tuple[str, ...]:
    return tuple(text.split(" and "))


SCHEMA1_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "notes": lambda raw: tuple(map(note, msgspec.json.decode(raw, type=list[Text]))),
    "effective_layout": lambda raw: layouts(msgspec.json.decode(raw, type=Name)),
    "effective_precision": lambda raw: dtypes(msgspec.json.decode(raw, type=Name)),
}
