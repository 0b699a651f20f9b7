"""The answer to a study's question: its verdicts by what was compared, and what all of them share.

Groups and orders what was decided; decides nothing and makes no sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainspeed.core.machine_text import device_name
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import STRICT
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import shared_setting
from trainspeed.judge.verdict import Outcome

# What a reader asks for first.
ORDER = (Outcome.FASTER, Outcome.BETTER, Outcome.SLOWER, Outcome.WORSE, Outcome.SAME, Outcome.UNDECIDED)
WORDS_ALONE = 2  # of a setting that nothing has to be told from: framework and model


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was decided about one comparison, in each setting in which it was made.

    Attributes:
        versus: What is compared, in words.
        settings: Outcome -> (what tells the setting from the others, its verdict), the largest speed-up first.
    """

    versus: str
    settings: dict[Outcome, list[tuple[str, Verdict]]]


def answers(verdicts: Iterable[Verdict]) -> list[Answer]:
    """Return the answer of each comparison that has an interval: what is faster first, the undecided last.

    Comparisons with strict fp32 come behind all others.
    """
    sure = [verdict for verdict in verdicts if verdict.low is not None and not verdict.is_control]
    shared = set(shared_words(sure))
    groups: dict[str, list[Verdict]] = {}
    for verdict in sorted(sure, key=_rank):
        groups.setdefault(verdict.row.versus(verdict.baseline, verdict.candidate), []).append(verdict)
    return [Answer(versus=versus, settings=_by_outcome(group, shared)) for versus, group in groups.items()]


def shared_words(verdicts: Sequence[Verdict]) -> list[str]:
    """Return in words which settings are the same in all of the verdicts, in the order of descriptions.

    With a single verdict these are all, without the framework and the model that its answer names.
    """
    said = [_words(verdict) for verdict in verdicts]
    if len(said) < 2:
        return said[0][WORDS_ALONE:] if said else []
    return [word for word in said[0] if all(word in words for words in said)]


def where_measured(verdicts: Iterable[Verdict], runs: RunSet) -> list[str]:
    """Return what the verdicts were measured on, and the versions of it, in words, each once.

    Devices that differ in how much of them was used are one: "Xeon (1 core or 2 cores)".
    """
    arms = runs.by_trial()
    pairs = [trial.spec for verdict in verdicts for trial in (verdict.candidate, verdict.baseline)]
    known = [arms[trial][0] for trial in dict.fromkeys(pairs) if trial in arms]
    # What a search compares is no trial of its own; its framework ran all the same.
    frameworks = {} if known else {run.trial.framework: run for run in runs if run.versions}
    known += [frameworks[name] for name in dict.fromkeys(t.framework for t in pairs) if name in frameworks]
    devices = [device_name(run.machine, run.trial) for run in known]
    versions = [version for run in known for version in run.trial.versions_in_words(run.versions)]
    return [*_joined(dict.fromkeys(devices)), *dict.fromkeys(versions)]


def _joined(names: Iterable[str]) -> list[str]:
    """Return names with those that differ in what is between parentheses as one."""
    parts: dict[str, list[str]] = {}
    for name in names:
        head, opening, inside = name.rpartition(" (")
        alone = not (opening and inside.endswith(")"))
        parts.setdefault(name if alone else head, []).extend([] if alone else [inside[:-1]])
    return [f"{head} ({' or '.join(inside)})" if inside else head for head, inside in parts.items()]


def _rank(verdict: Verdict) -> tuple[bool, int, float]:
    # Who asks for speed has no strict fp32 to begin with, unless nothing else is the default.
    strict = verdict.factor == "precision" and STRICT in (
        verdict.baseline.precision,
        verdict.candidate.precision,
    )
    outcome = ORDER.index(verdict.outcome)
    size = verdict.speedup or 0.0
    return strict, outcome, size if verdict.outcome in (Outcome.SLOWER, Outcome.WORSE) else -size


def _words(verdict: Verdict) -> list[str]:
    return shared_setting(verdict.baseline, verdict.candidate, verdict.row, verdict.row.hidden)


def _by_outcome(verdicts: Sequence[Verdict], shared: set[str]) -> dict[Outcome, list[tuple[str, Verdict]]]:
    settings: dict[Outcome, list[tuple[str, Verdict]]] = {}
    for verdict in verdicts:
        own = [word for word in _words(verdict) if word not in shared]
        settings.setdefault(verdict.outcome, []).append(
            (", ".join(own or _words(verdict)[:WORDS_ALONE]), verdict)
        )
    return settings
