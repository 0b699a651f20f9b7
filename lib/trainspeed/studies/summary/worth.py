"""Which verdicts are gains that a plain script can have, and keep its accuracy. Decides nothing, draws nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import NAMES
from trainspeed.core.levers.lever import LEVERS_FACTOR, LeverKind
from trainspeed.core.levers.registry import LEVERS, levers_apart
from trainspeed.core.machine_text import cores_of
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import size_of
from trainspeed.judge.verdict import Outcome
from trainspeed.search.switch import DEFAULT_LAYOUT
from trainspeed.studies.summary.plain_script import is_on_cores, over_one_core


def worthwhile(
    verdicts: Iterable[Verdict], every: Iterable[Verdict], machine: Mapping[str, Any]
) -> list[Verdict]:
    """Return those that are faster, and so than a plain script, with its accuracy; in their order.

    Args:
        every: All verdicts of the report, those on accuracy and on whole searches among them.
    """
    return possible((one for one in verdicts if one.outcome is Outcome.FASTER), every, machine)


def possible(
    verdicts: Iterable[Verdict], every: Iterable[Verdict], machine: Mapping[str, Any]
) -> list[Verdict]:
    """Return those that are, or would be if they were faster, gains over a plain script; arguments as of `worthwhile`.

    What leaving a switch out of all that a search kept costs is a gain only where all together are one: its baseline
    has the others on.
    """
    known = list(every)
    worse = {_pair(verdict) for verdict in known if verdict.outcome is Outcome.WORSE}
    whole = [verdict for verdict in known if verdict.factor == RECIPE and verdict.quantity == "time"]
    lost = {
        (verdict.study, verdict.candidate)
        for verdict in whole
        if verdict.outcome is not Outcome.FASTER or _pair(verdict) in worse
    }
    return [
        verdict
        for verdict in verdicts
        if is_over_plain(verdict, machine)
        and _pair(verdict) not in worse
        and (verdict.factor == RECIPE or (verdict.study, verdict.candidate) not in lost)
    ]


def is_over_plain(verdict: Verdict, machine: Mapping[str, Any]) -> bool:
    """Whether a gain is one over a plain script.

    Several CPU cores, each a device, are none, as a script has all; nor is the layout that a framework has by itself,
    nor what Trainspeed alone sets, set as a script has it.
    """
    return not is_default(verdict) and not is_on_cores(verdict, machine)


def why_no_gain(verdict: Verdict, machine: Mapping[str, Any], runs: Iterable[Run]) -> str:
    """Return why what is faster is nothing to switch on, as a plain script has it; "" where it is a gain.

    Args:
        machine, runs: Those of the report.
    """
    if is_default(verdict) and verdict.factor == LEVERS_FACTOR:
        return "a plain script has it by itself: nothing to switch on"
    if is_default(verdict):
        return f"{NAMES[verdict.candidate.framework]} has it by itself: leave it so"
    return over_one_core(verdict, machine, runs) if is_on_cores(verdict, machine) else ""


def is_default(verdict: Verdict) -> bool:
    """Whether a script has the candidate's setting without a line of its own.

    So it has a framework's own layout, and what differs from Trainspeed's own settings.
    """
    trial = verdict.candidate
    if verdict.factor == LEVERS_FACTOR:
        further = {name for name, value in trial.levers if (name, value) not in verdict.baseline.levers}
        return bool(further) and all(LEVERS[name].kind is LeverKind.OWN for name in further)
    return verdict.factor == "layout" and trial.layout == DEFAULT_LAYOUT[trial.framework]


def is_part(verdict: Verdict, kept: Iterable[Verdict]) -> bool:
    """Whether what a verdict by itself does not call faster is part of what pays together, for the same model.

    Args:
        kept: As `ReportSummary.kept`.
    """
    return whole_of(verdict, kept) is not None


def whole_of(verdict: Verdict, kept: Iterable[Verdict]) -> Verdict | None:
    """Return what pays together of which it is part; None where it is none; arguments as of `is_part`."""
    if verdict.outcome is Outcome.FASTER or verdict.candidate.phase.calls:
        return None
    name, own = verdict.factor, verdict.candidate
    parts = (
        one
        for one in kept
        if (own.framework, own.model) == (one.candidate.framework, one.candidate.model)
        and hasattr(own, name)
        and getattr(own, name) == getattr(one.candidate, name) != getattr(one.baseline, name)
    )
    return next(parts, None)


def shares(recipe: Verdict, every: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on leaving one switch out of all that a search kept, the largest gain first.

    Args:
        every: All verdicts of the report.
    """
    of_best = (v for v in every if v.study == recipe.study and v.candidate == recipe.candidate)
    alone = (v for v in of_best if v.quantity == "time" and v.row.choice and v.factor != RECIPE)
    return sorted((v for v in alone if v.speedup), key=lambda verdict: -verdict.speedup)


def measured_as_set(recipe: Verdict, every: Iterable[Verdict], runs: RunSet) -> bool:
    """Whether fresh blocks had nothing but the plain trial and all that a search kept: none left out by itself.

    Args:
        every, runs: All verdicts and runs of the report.
    """
    plain = recipe.baseline
    fresh = (run.trial for run in runs.of_study(recipe.study).role(Role.RECIPE))
    arms = {t.spec for t in fresh if (t.framework, t.model) == (plain.framework, plain.model)}
    return len(arms) <= 2 and not shares(recipe, every)


def confirmed_shares(recipe: Verdict, every: Iterable[Verdict]) -> Collection[str] | None:
    """Return the levers that are faster beside all others that a search kept; None where it kept a single one."""
    if len(levers_apart(recipe.baseline, recipe.candidate)) < 2:
        return None
    faster = (v for v in shares(recipe, every) if v.outcome is Outcome.FASTER)
    return {name for verdict in faster for name in levers_apart(verdict.baseline, verdict.candidate)}


def part_words(verdict: Verdict, kept: Iterable[Verdict], every: Iterable[Verdict]) -> str:
    """Return why the code to paste has what a verdict by itself does not call faster; nothing where it has it not."""
    if (whole := whole_of(verdict, kept)) is None:
        return ""
    if confirmed_shares(whole, every) is None:
        return "in the code, as the search confirmed it"
    own = next((share for share in shares(whole, every) if share.factor == verdict.factor), None)
    if own is None:
        return "in the code, as the set was measured with it; its own share was not measured"
    if own.outcome is Outcome.FASTER:
        return "in the code, as it is faster beside the others there"
    return f"in the code, as the set was measured with it; its own share there: {own.outcome}"


def slower_elsewhere(recipes: Iterable[tuple[Trial, Trial]], every: Iterable[Verdict]) -> list[Marked]:
    """Return for which other models a switch of some programs was slower, in the same framework: it may be for yours.

    Args:
        recipes: Plain trials, each with that of its program.
        every: All verdicts of the report.
    """
    slower = [v for v in every if v.quantity == "time" and v.outcome is Outcome.SLOWER and v.row.choice]
    found: dict[str, str] = {}
    for plain, best in recipes:
        switched = {name: LEVERS[name].value_of(best) for name in levers_apart(plain, best)}
        for verdict in slower:
            trial = verdict.candidate
            if trial.phase.calls or trial.framework != best.framework or trial.model == best.model:
                continue
            apart = levers_apart(verdict.baseline, trial)
            if apart and all(switched.get(name) == LEVERS[name].value_of(trial) for name in apart):
                found[verdict.name] = f"{size_of(verdict)} ({verdict.study})"
    if not found:
        return []
    named = escape("; ".join(f"{name}: {size}" for name, size in found.items()))
    return [Marked(f"**Try it on your model**: with others, one of these was slower. {named}.")]


def _pair(verdict: Verdict) -> tuple:
    return verdict.study, verdict.baseline, verdict.candidate


def not_kept_words(
    verdict: Verdict, kept: Iterable[Verdict], searches: Iterable[tuple[Trial, Sequence[Run]]]
) -> str:
    """Return that a search of the same framework and model tried what a verdict by itself calls faster, and did not
    keep it, or came to no fresh blocks, to be put after it: the code to paste has it not. Nothing where it is no such
    switch.

    Args:
        kept, searches: As of `ReportSummary`.
    """
    plain, trial = verdict.baseline, verdict.candidate
    if verdict.outcome is not Outcome.FASTER or verdict.factor == RECIPE or trial.phase.calls:
        return ""
    values = {name: LEVERS[name].value_of(trial) for name in levers_apart(plain, trial)}

    def has(other: Trial) -> bool:
        return all(LEVERS[name].value_of(other) == value for name, value in values.items())

    for start, own in searches:
        study, of = own[0].study, (start.framework, start.model)
        tried = any(run.status is Status.OK and has(run.trial) for run in own)
        if study == verdict.study or of != (trial.framework, trial.model) or has(start) or not tried:
            continue
        whole = [v.candidate for v in kept if v.study == study]
        whole = [one for one in whole if (one.framework, one.model) == of]
        if not any(map(has, whole)):
            cores = {cores_of(start)} - {cores_of(trial)} if own[0].machine.get("device") == "cpu" else ()
            fresh = whole or any(run.role is Role.RECIPE for run in own)
            became = "and not kept" if fresh else "and not measured in fresh blocks there"
            return f"; tried in {study}{''.join(f' on {words}' for words in cores)} {became}"
    return ""
