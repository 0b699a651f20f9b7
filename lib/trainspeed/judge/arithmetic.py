"""What computed by default: what 32 bits were, and with which library, in words. Pure functions on runs; decides
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import DEFAULT_PRECISION, NAMES, listed
from trainspeed.core.levers.compute import OF_BF16
from trainspeed.core.levers.lever import ON
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.result import precision_text, tf32_text
from trainspeed.core.run import Run, Status

FLOAT32 = "float32"
((ONEDNN_VARIABLE, ONEDNN_VALUE),) = LEVERS["onednn"].environment[ON].items()


def default_sentences(runs: Iterable[Run]) -> list[str]:
    """Return what the default precision of each framework was on this device; none where no run can tell.

    A model of the user's may set dtypes by itself, where nothing was asked for.
    """
    in_32_bits: dict[tuple[str, ...], dict[str, None]] = {}
    in_others: dict[str, dict[str, None]] = {}
    for run in runs:
        trial, ran = run.trial, run.effective_precision
        if not trial.phase.of_model or trial.precision != DEFAULT_PRECISION or run.tf32 is None:
            continue
        if ran is None or {*ran.dtypes} <= {FLOAT32}:
            in_32_bits.setdefault(run.tf32, {})[NAMES[trial.framework]] = None
        elif not {*OF_BF16} & {name for name, _ in trial.levers}:
            in_others.setdefault(precision_text(ran) or "", {})[NAMES[trial.framework]] = None
    return [
        *(
            f"Default precision: {listed(names)} trained in 32 bits, with "
            f"{tf32_text(tf32)}{'' if tf32 else ', as in strict fp32'}."
            for tf32, names in in_32_bits.items()
        ),
        *(
            f"Default precision: {listed(names)} computed in {ran}, which nothing here asked for: the model's own file "
            "sets it, so that other precisions are not compared with 32 bits."
            for ran, names in in_others.items()
        ),
    ]


def onednn_sentences(runs: Iterable[Run]) -> list[str]:
    """Return that TensorFlow's runs had no oneDNN, where it leaves that off by itself; none where any had it."""
    own = [run for run in runs if run.trial.framework == "tensorflow" and run.status is Status.OK]
    switched = any(name == "onednn" for run in own for name, _ in getattr(run.trial, "levers", ()))
    off = [run for run in own if run.machine.get("onednn_by_itself") is False]
    by_user = any(ONEDNN_VARIABLE in (run.machine.get("environment") or {}) for run in off)
    on_gpu = any(run.machine.get("device") == "gpu" for run in off)
    if not off or switched or by_user or on_gpu:
        return []
    return [
        "TensorFlow computed without oneDNN, which it leaves off by itself on this processor: "
        f"`{ONEDNN_VARIABLE}={ONEDNN_VALUE}` switches it on, and `switches` measures what that brings."
    ]
