"""What the file of a user's model sets in its whole process: all that are compared have it. Knows no framework."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from trainspeed.core import user_model
from trainspeed.core.notes import AnyNote, SetByFile


@contextlib.contextmanager
def settings_watched(model: str, settings: Callable[[], Mapping[str, object]]) -> Iterator[list[AnyNote]]:
    """Fill a list with a note for each setting that is another one after the block; of a user's model only.

    Args:
        settings: Returns how each setting is read -> its value.
    """
    found: list[AnyNote] = []
    before = settings() if user_model.is_user_model(model) else {}
    yield found
    after = settings() if before else {}
    found += [
        SetByFile(setting=name, before=str(value), after=str(after[name]))
        for name, value in before.items()
        if after[name] != value
    ]
