"""Why a run has no result: what a backend, a model or a data set raises. Knows nothing else."""

from __future__ import annotations


class Unsupported(Exception):
    """This framework or device cannot run the trial; the message says why. The run is a row."""


class NeedsPackage(Unsupported):
    """The user's own file imports what this environment lacks."""


class Invalid(Exception):
    """The user's own model or data is not what was asked for; the message says why. The run is a row."""


class OutOfMemory(Exception):
    """The framework could not allocate; the message is its own first line."""
