"""The seaborn of all charts, imported without SciPy, which it needs for densities and clusters: none is drawn here.

SciPy would take a third of the time in which a notebook's kernel gets ready. What imports it later gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _absent(package: str) -> Iterator[None]:
    """Let a package be missing for those that can do without it, unless it is imported already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # which Python takes for a package that is not installed
    try:
        yield
    finally:
        del sys.modules[package]


with _absent("scipy"):
    import seaborn as sns

__all__ = ["sns"]
