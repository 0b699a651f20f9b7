"""Write what a library has as it is installed here: the names of its models."""

from __future__ import annotations

import inspect
import json
from pathlib import Path


def main(framework: str, file: str) -> None:
    names = _of_timm() if framework == "torch" else _of_keras()
    Path(file).write_text(json.dumps(names))


def _of_timm() -> list[str]:
    import timm

    return timm.list_models()


def _of_keras() -> list[str]:
    from keras import applications

    return [name for name, value in vars(applications).items() if inspect.isfunction(value)]
