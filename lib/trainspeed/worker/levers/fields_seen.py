"""What a run saw of the levers that are fields of its trial, as values. Knows no framework.

It is told of every run, so that a run that tells nothing of them is one of an older ledger.
"""

from __future__ import annotations

from trainspeed.core.format import counted
from trainspeed.core.result import Seen

NO_BATCH = "no batch was looked at"


def fields_seen(spread: tuple[int, str, str], batch: int | None) -> dict[str, Seen]:
    """Return what was seen of devices, strategy and batch size.

    Args:
        spread: Over how many devices the model was spread, the strategy that did it, and how that is told.
        batch: Images of a batch as it was fed, summed over all replicas; None where none was looked at.
    """
    devices, strategy, told = spread
    return {
        "devices": (str(devices), told),
        "strategy": (strategy, told),
        "batch_size": (None, NO_BATCH)
        if batch is None
        else (str(batch), f"a batch of {counted(batch, 'image')}"),
    }
