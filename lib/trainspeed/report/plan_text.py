"""What a report would measure in its time, in words, and what twice the time would add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trainspeed.conduct.forecast import PlanSums, StudyPlan
from trainspeed.core.format import counted, listed, minutes
from trainspeed.report.budget import OVERHEAD_S, PARAMETER, Shares
from trainspeed.report.request import ReportRequest


def weighed(session: ReportRequest, plans: Mapping[str, StudyPlan], hands: int = 1) -> ReportRequest:
    """Return the request with what each notebook compares as its weight, and what those take whose time is fixed.

    One that has no plan, for a mistake in it, needs nothing and keeps no time from the others.

    Args:
        hands: Number of equal machines that share the blocks.
    """
    weights = {n: plans.get(n, StudyPlan(study=n, groups=())).needs_s for n in session.weights}
    if session.budget_s is None:
        return replace(session, weights=weights)
    given_s = {n: seconds for n, seconds in session.given_s.items() if n in plans}
    reserved_s = {n: plans[n].spent_s(seconds, hands) for n, seconds in given_s.items()}
    return replace(session, weights=weights, reserved_s=reserved_s)


def plan_lines(session: ReportRequest, plans: Mapping[str, StudyPlan], hands: int = 1) -> list[str]:
    """Return what each notebook would measure, and for a limited time what twice as much would add.

    Args:
        hands: Number of equal machines that share the blocks.
    """
    once = times_s(session, plans, session.budget_s, hands)
    lines = [line for name, plan in plans.items() for line in _lines(plan, once[name], hands)]
    if session.budget_s is None:
        return [*lines, f"All of it: about {minutes(plan_totals(session, plans, hands).seconds)}."]
    twice = times_s(session, plans, 2 * session.budget_s, hands)
    added = [text for name, plan in plans.items() if (text := _added(plan, once[name], twice[name], hands))]
    whole, double = minutes(session.budget_s), minutes(2 * session.budget_s)
    more = "; ".join(added) or f"nothing: {_why_nothing(session, plans, twice, hands)}"
    return [*lines, f"All of it: {whole} or less. {double} would add: {more}."]


def plan_totals(session: ReportRequest, plans: Mapping[str, StudyPlan], hands: int = 1) -> PlanSums:
    """Return what all notebooks together would take; see `plan_lines`."""
    given_s = times_s(session, plans, session.budget_s, hands)
    ends = [(plan, plan.forecast(given_s[name], hands)) for name, plan in plans.items()]
    had = {group: end.had(group) for plan, end in ends for group in plan.groups if not group.foreseen}
    blocks = [count for count in had.values() if count]
    return PlanSums(
        seconds=sum(plan.spent_s(given_s[name], hands) + OVERHEAD_S for name, plan in plans.items()),
        runs=sum(count * len(group.arms) for group, count in had.items()),
        fewest=min(blocks, default=0),
        most=max(blocks, default=0),
    )


def times_s(
    session: ReportRequest, plans: Mapping[str, StudyPlan], budget_s: float | None, hands: int = 1
) -> dict[str, float | None]:
    """Return notebook -> the seconds that it may measure for, if each takes as long as expected."""
    own_s = session.given_s
    if budget_s is None:
        return {name: own_s.get(name) for name in plans}
    now_s = [0.0]
    shares = Shares(budget_s, session.weights, fixed_s=session.fixed_s, clock=lambda: now_s[0])
    given_s = {}
    for name, plan in plans.items():
        given_s[name] = own_s.get(name, shares.of(name))
        now_s[0] += OVERHEAD_S + plan.spent_s(given_s[name], hands)
    return given_s


def _lines(plan: StudyPlan, budget_s: float | None, hands: int) -> list[str]:
    end = plan.forecast(budget_s, hands)
    runs = sum(end.had(group) * len(group.arms) for group in plan.groups if not group.foreseen)
    limit = "" if budget_s is None else f" of {minutes(budget_s)}"
    others = ", and those that depend on what these find" if plan.depends else ""
    lines = [
        f"{plan.study}: {counted(runs, 'run')}, about {minutes(plan.spent_s(budget_s, hands))}{limit}{others}"
    ]
    for group in plan.groups:
        blocks = end.had(group)
        each_s = group.blocks_s(0, blocks) / len(group.arms) / (1 if group.around else plan.hands_of(hands))
        for arm in () if group.foreseen else group.arms:
            lines.append(f"  {blocks} x {arm}: about {minutes(each_s)}" if blocks else f"  no time for {arm}")
    return lines


def _why_nothing(
    session: ReportRequest, plans: Mapping[str, StudyPlan], given_s: Mapping[str, float | None], hands: int
) -> str:
    """Return why more time adds nothing."""
    lacking = [
        name
        for name, plan in plans.items()
        for end in [plan.forecast(given_s[name], hands)]
        if any(end.had(group) < group.most for group in plan.groups)
    ]
    if not lacking and any(plan.depends for plan in plans.values()):
        return "all that is known beforehand fits; what depends on what that finds has more time"
    if not lacking:
        return "all that the preset asks for fits"
    fixed = [name for name in lacking if name in session.given_s]
    return (
        f"`{PARAMETER}` limits {listed(fixed)}"
        if fixed == lacking
        else "it is too little for what is left out"
    )


def _added(plan: StudyPlan, once_s: float | None, twice_s: float | None, hands: int) -> str | None:
    """Return what a study measures more in its larger time; None where it is nothing."""
    once, twice = plan.forecast(once_s, hands), plan.forecast(twice_s, hands)
    new = sum(not once.had(group) and bool(twice.had(group)) for group in plan.groups)
    more = [twice.had(group) - once.had(group) for group in plan.groups if once.had(group)]
    more = [blocks for blocks in more if blocks > 0]
    parts = []
    if more:
        span = f"{more[0]}" if len(set(more)) == 1 else f"{min(more)} to {max(more)}"
        parts.append(f"{span} more blocks of {counted(len(more), 'comparison')}")
    if new:
        parts.append(f"{counted(new, 'comparison')} or single runs that {minutes(once_s)} have no time for")
    return f"{plan.study}: {' and '.join(parts)}" if parts else None
