"""What the tests of pasted programs share: trials, and the names that a program reads, makes and imports."""

from __future__ import annotations

import ast
import builtins

from trainspeed.core.trial import SINGLE, WITH_WORKERS, Trial

# Of the trials whose programs are written.
FIELDS = {"batch_size": 16, "images_per_epoch": 512, "epochs": 4, "image_size": 16, "dataset": "digits"}

YOURS = {"make_model", "images", "labels"}  # what the reader brings


def trial_of(framework="torch", **changed) -> Trial:
    """Return a trial of cnn10, with the devices and workers that its other settings need."""
    usual = {"model": "cnn10", "layout": "channels_last", **FIELDS}
    if changed.get("strategy", SINGLE) != SINGLE:
        changed = {"devices": 2, **changed}
    if changed.get("pipeline") in WITH_WORKERS:
        changed = {"workers": 3, **changed}
    return Trial(framework=framework, **{**usual, **changed})


def unknown_names(program: str) -> set[str]:
    """Return the names that a program reads and does not define."""
    made = {*YOURS, *dir(builtins), "__name__"}
    read = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Name):
            (made if isinstance(node.ctx, ast.Store) else read).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    return read - made


def imported(program: str) -> list[str]:
    """Return the names that a program imports."""
    return [
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
