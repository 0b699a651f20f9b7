"""The trials of two sides: what they are called side by side, and why some have no counterpart.

Knows no run and no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import counted

TrialKey = tuple[str, AnyTrial]  # study, and trial without seed
MAX_VALUES = 4  # of one parameter, in a sentence


def descriptions(keys: Sequence[TrialKey]) -> dict[TrialKey, tuple[list[str], list[str]]]:
    """Return for each trial its whole description, and the part of it that its study's trials of its kind share.

    Fields that a description leaves out are named where trials of the same description differ in them.
    """
    described = {}
    for group in dict.fromkeys((study, type(trial)) for study, trial in keys):
        own = {key: key[1].describe() for key in keys if (key[0], type(key[1])) == group}
        alike = {key: [other[1] for other in own if own[other] == words] for key, words in own.items()}
        own = {key: words + _differing(key[1], alike[key]) for key, words in own.items()}
        shared = set.intersection(*map(set, own.values())) if len(own) > 1 else set()
        described |= {key: (words, [word for word in words if word in shared]) for key, words in own.items()}
    return described


def _differing(trial: AnyTrial, alike: Sequence[AnyTrial]) -> list[str]:
    names = [f.name for f in fields(trial) if len({getattr(other, f.name) for other in alike}) > 1]
    return [f"{name.replace('_', ' ')} {getattr(trial, name)}" for name in names]


def sort_key(key: TrialKey) -> tuple:
    """Return a key that sorts by study, then field by field, numbers by their size."""
    values = key[1].as_dict().values()
    numbers = [(0, v, "") if isinstance(v, int | float) else (1, 0, str(v)) for v in values]
    return key[0], type(key[1]).__name__, numbers


def nothing_common(a: Iterable[TrialKey], b: Iterable[TrialKey]) -> str:
    """Return an error text: what each side has, and the parameters that keep them apart."""
    sides = [list(a), list(b)]
    common = set.intersection(*({study for study, _ in side} for side in sides))
    why = _apart(*([trial for study, trial in side if study in common] for side in sides))
    return (
        f"A and B have no common trials: A has {_listed_studies(sides[0])}, B has {_listed_studies(sides[1])}{why}. "
        "Measure one with the parameters of the other."
    )


def _listed_studies(keys: Iterable[TrialKey]) -> str:
    studies = Counter(study for study, _ in keys)
    return ", ".join(f"{study} ({counted(n, 'trial')})" for study, n in studies.items()) or "none at all"


def unmatched_sentences(only_a: Sequence[TrialKey], only_b: Sequence[TrialKey]) -> list[str]:
    """Return, per study, how many trials only one side has, and the parameters that keep them apart."""
    sentences = []
    for study in dict.fromkeys(study for study, _ in (*only_a, *only_b)):
        a, b = ([trial for name, trial in keys if name == study] for keys in (only_a, only_b))
        counts = [f"{counted(len(t), 'trial')} only in {letter}" for letter, t in (("A", a), ("B", b)) if t]
        sentences.append(f"{study}: {', '.join(counts)}{_apart(a, b)}.")
    return sentences


def _apart(a: Sequence[AnyTrial], b: Sequence[AnyTrial]) -> str:
    """Return the parameters in which no trial of A equals one of B, with their values; "" without any."""
    parts = []
    for kind in dict.fromkeys(type(trial) for trial in a):
        sides = [[trial for trial in side if type(trial) is kind] for side in (a, b)]
        for name in (field.name for field in fields(kind) if all(sides)):
            values = [list(dict.fromkeys(getattr(trial, name) for trial in side)) for side in sides]
            if not set(values[0]) & set(values[1]):
                parts.append(f"{name} {_listed_values(values[0])} in A, {_listed_values(values[1])} in B")
    return "; ".join(["", *parts])


def _listed_values(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:MAX_VALUES])) + (", …" if len(values) > MAX_VALUES else "")
