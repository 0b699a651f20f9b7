"""What 32 bits were in the framework's own precision, in words. Pure functions on runs; decides nothing."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import DEFAULT_PRECISION, NAMES, listed
from trainspeed.core.result import tf32_text
from trainspeed.core.run import Run


def default_sentences(runs: Iterable[Run]) -> list[str]:
    """Return what the default precision of each framework was on this device; none where no run can tell."""
    frameworks: dict[tuple[str, ...], dict[str, None]] = {}
    for run in runs:
        if run.trial.phase.of_model and run.trial.precision == DEFAULT_PRECISION and run.tf32 is not None:
            frameworks.setdefault(run.tf32, {})[NAMES[run.trial.framework]] = None
    return [
        f"Default precision: {listed(names)} trained in 32 bits, with "
        f"{tf32_text(tf32)}{'' if tf32 else ', as in strict fp32'}."
        for tf32, names in frameworks.items()
    ]
