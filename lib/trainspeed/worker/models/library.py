"""Models of libraries under their own names, before they are built. Knows no framework."""

from __future__ import annotations

from trainspeed.core.library_model import find_library_model
from trainspeed.worker.failures import Unsupported


def check_fits(model: str, framework: str, layout: str) -> None:
    """Raise Unsupported where a library's model is not for a framework, or not in a layout."""
    if why := find_library_model(model).why_not(framework, layout):
        raise Unsupported(f"{model}: {why}")
