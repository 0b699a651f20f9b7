"""Trials of two sides: what they are called beside each other, and why some have no counterpart.

Knows no run and no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields

from trainspeed.conv2d_trial import AnyTrial, Conv2dTrial
from trainspeed.trial import Trial
from trainspeed.wording import describe

Key = tuple[str, AnyTrial]  # study, and trial without seed
MOST_VALUES = 4  # of a parameter, that a sentence names


def words_of(keys: Sequence[Key]) -> dict[Key, tuple[list[str], list[str]]]:
    """Return, of each trial, what tells it from the others of its study, and all words for it."""
    found = {}
    for group in dict.fromkeys((study, type(trial)) for study, trial in keys):
        own = {key: describe(key[1]) for key in keys if (key[0], type(key[1])) == group}
        alike = {key: [other[1] for other in own if own[other] == said] for key, said in own.items()}
        own = {key: said + _differing(key[1], alike[key]) for key, said in own.items()}
        shared = set.intersection(*map(set, own.values())) if len(own) > 1 else set()
        found |= {key: ([w for w in said if w not in shared] or said, said) for key, said in own.items()}
    return found


def _differing(trial: AnyTrial, alike: Sequence[AnyTrial]) -> list[str]:
    """Name the fields that a description leaves out and in which trials of the same description differ."""
    names = [f.name for f in fields(trial) if len({getattr(other, f.name) for other in alike}) > 1]
    return [f"{name.replace('_', ' ')} {getattr(trial, name)}" for name in names]


def order(key: Key) -> tuple:
    """By study, then field by field: numbers as numbers."""
    values = key[1].as_dict().values()
    numbers = [(0, v, "") if isinstance(v, int | float) else (1, 0, str(v)) for v in values]
    return key[0], type(key[1]).__name__, numbers


def nothing_common(a: Iterable[Key], b: Iterable[Key]) -> str:
    """Return an error: what each side has, and the parameters that keep them apart."""
    sides = [list(a), list(b)]
    common = set.intersection(*({study for study, _ in side} for side in sides))
    why = _apart(*([trial for study, trial in side if study in common] for side in sides))
    return (
        f"A and B have no common trials: A has {_has(sides[0])}, B has {_has(sides[1])}{'; ' + why if why else ''}. "
        "Measure one with the parameters of the other."
    )


def _has(keys: Iterable[Key]) -> str:
    studies = Counter(study for study, _ in keys)
    return ", ".join(f"{study} ({count_words(count)})" for study, count in studies.items()) or "none at all"


def unmatched_sentences(a: Iterable[Key], b: Iterable[Key]) -> list[str]:
    """Return, per study, how many trials only one side has, and the parameters that keep them apart."""
    sides = {"A": dict.fromkeys(a), "B": dict.fromkeys(b)}
    said = []
    for study in dict.fromkeys(key[0] for side in sides.values() for key in side):
        only = {
            letter: [key[1] for key in side if key[0] == study and not all(key in s for s in sides.values())]
            for letter, side in sides.items()
        }
        counts = [f"{count_words(len(trials))} only in {letter}" for letter, trials in only.items() if trials]
        if counts:
            why = _apart(only["A"], only["B"])
            said.append(f"{study}: {', '.join(counts)}{'; ' + why if why else ''}.")
    return said


def _apart(a: Sequence[AnyTrial], b: Sequence[AnyTrial]) -> str:
    """Return the parameters that no trial of A shares with one of B, with their values."""
    words = []
    for kind in (Trial, Conv2dTrial):
        sides = [[trial for trial in side if type(trial) is kind] for side in (a, b)]
        for name in (field.name for field in fields(kind) if all(sides)):
            values = [list(dict.fromkeys(getattr(trial, name) for trial in side)) for side in sides]
            if not set(values[0]) & set(values[1]):
                words.append(f"{name} {_listed(values[0])} in A, {_listed(values[1])} in B")
    return "; ".join(words)


def _listed(values: Sequence[object]) -> str:
    more = ", …" if len(values) > MOST_VALUES else ""
    return ", ".join(map(str, values[:MOST_VALUES])) + more


def count_words(count: int) -> str:
    """Return "1 trial", "2 trials"."""
    return f"{count} trial{'' if count == 1 else 's'}"
