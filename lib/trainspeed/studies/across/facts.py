"""What two sets of runs were measured with, and where they differ: machine, driver, versions, data.

Works on what each run recorded; decides nothing and measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainspeed.core.machine_text import machine_name, machine_parts
from trainspeed.core.names import NAMES
from trainspeed.core.run import Run
from trainspeed.studies.across.sides import Side

NOT_KNOWN = "none or not known"
DATE_LETTERS = 10  # of an ISO 8601 time: 2026-11-20
DATE = "measured on"  # two sets always differ in it, so it is shown without a warning


def facts(runs: Iterable[Run]) -> dict[str, str]:
    """Return name -> value of what the runs were measured with; several values where it changed meanwhile."""
    runs = list(runs)
    seen = [(DATE, (run.started_at or "")[:DATE_LETTERS]) for run in runs]
    seen += [part for run in runs for part in machine_parts(run.machine).items()]
    for run in runs:
        framework = NAMES.get(run.trial.framework, run.trial.framework)
        seen += [(f"{framework}: {package}", version) for package, version in run.versions.items()]
    seen += [("seed", str(run.trial.seed - run.block)) for run in runs]
    seen += [("data set", run.trial.dataset) for run in runs if run.trial.dataset]
    values: dict[str, dict[str, None]] = {}
    for name, value in seen:
        values.setdefault(name, {})[value or NOT_KNOWN] = None
    return {name: "; ".join(own) for name, own in values.items()}


def difference_sentences(a_runs: Sequence[Run], b_runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each fact in which the two sides differ.

    A fact that only one side knows, such as the version of a framework's package, counts as different. Where
    several facts differ, the last sentence says how little can be concluded.
    """
    differing = [row for row in fact_rows(a_runs, b_runs) if row[""]]
    sentences = [f"{row['what']}: {row['A']} in A, {row['B']} in B." for row in differing]
    if shared := {run.session for run in a_runs} & {run.session for run in b_runs}:
        sentences.append(f"Both sides hold session {min(shared)}: these are the same runs twice.")
    if (count := len(differing)) > 1:
        sentences.append(
            f"{count} things differ at once, so a difference in time cannot be ascribed to one of them."
        )
    return sentences


def fact_rows(a_runs: Sequence[Run], b_runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return a row per fact that a side knows: its name, its values in A and in B, and whether they differ."""
    a, b = facts(a_runs), facts(b_runs)
    rows = []
    for name in dict.fromkeys([*a, *b]):
        of_a, of_b = a.get(name, NOT_KNOWN), b.get(name, NOT_KNOWN)
        if {of_a, of_b} != {NOT_KNOWN}:
            alike = name == DATE or of_a == of_b
            rows.append({"what": name, "A": of_a, "B": of_b, "": "" if alike else "differs"})
    return rows


def side_sentence(side: Side, runs: Sequence[Run]) -> str:
    """Return what a side is called, which machine measured these of its runs, and when."""
    machines = dict.fromkeys(machine_name(run.machine) for run in runs if run.machine)
    days = dict.fromkeys(run.started_at[:DATE_LETTERS] for run in runs if run.started_at)
    parts = ["; ".join(machines) or "a machine that is not known", "; ".join(days)]
    return f"{side.letter} is {side.name}: {', '.join(filter(None, parts))}."
