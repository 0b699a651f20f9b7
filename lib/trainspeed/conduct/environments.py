"""The environment that levers ask for, as a worker is started with it, or why it cannot be had here.

What users have set themselves wins. Knows no framework.
"""

from __future__ import annotations

import ctypes.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from trainspeed.conduct.worker_process import Unavailable
from trainspeed.core.levers.lever import Setting
from trainspeed.core.levers.registry import LEVERS, environment_of
from trainspeed.core.variables import ALIASES

PRELOAD = "LD_PRELOAD"
# Folders of libraries that the linker's cache may not have.
LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu", "/usr/local/lib", "/usr/local/lib64")


def environment_for(settings: Iterable[Setting], own: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that these levers set.

    Args:
        own: What this process was started with.
    Raises:
        Unavailable: One of them is set already, or a library that one of them names is not installed.
    """
    settings = tuple(settings)
    variables = environment_of(settings)
    for variable in variables:
        for name in (variable, *ALIASES.get(variable, ())):
            if own.get(name):
                raise Unavailable(
                    f"{name} is set to {own[name]!r} in your environment; unset it to try this lever"
                )
    if PRELOAD in variables:
        variables[PRELOAD] = ":".join(
            _located(library, settings) for library in variables[PRELOAD].split() if library
        )
    return variables


def find_library(name: str, folders: Iterable[str] = LIBRARIES) -> str | None:
    """Return a shared library as the linker takes it: by its name where that is enough, else by its path.

    Args:
        name: With its version: "libjemalloc.so.2".
    """
    stem = name.removeprefix("lib").partition(".so")[0]
    if ctypes.util.find_library(stem) == name:
        return name
    found = (str(path) for folder in folders for path in Path("/").glob(f"{folder[1:]}/{name}"))
    return next(found, None)


def _located(library: str, settings: Iterable[Setting]) -> str:
    if path := find_library(library):
        return path
    packages = next(
        (LEVERS[name].packages[value] for name, value in settings if value in LEVERS[name].packages), ""
    )
    raise Unavailable(f"{library} is not installed here{packages and ': install '}{packages}")
