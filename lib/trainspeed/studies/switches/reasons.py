"""How what was kept fits the chart of single switches: within its noise, and all together. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from trainspeed.core.format import counted, fixed, interval, listed
from trainspeed.judge.text import interval_of, size_of
from trainspeed.search.findings import Estimate, Findings, Race
from trainspeed.search.switch import Switch
from trainspeed.search.unmeasured import where
from trainspeed.studies.switches.charts import KEPT
from trainspeed.studies.switches.views import INTERVAL_SE, change_percent, effect_rows, log_alone, marked


def kept_within_noise(found: Findings) -> tuple[Switch, ...]:
    """Return what was kept and lies within the band of noise of the chart of single switches."""
    rows = effect_rows([found])
    inside = rows[rows["kind"].eq(KEPT) & (rows["value"].astype(float).abs() <= rows["band"].astype(float))]
    return tuple(switch for switch in found.kept if marked(switch) in set(inside["label"]))


def reason_sentences(found: Iterable[Findings]) -> list[str]:
    """Return why each of these was kept all the same: what it brings beside the others, and in a race."""
    sentences = []
    for one in found:
        inside = kept_within_noise(one)
        if beside := [one.brings[switch] for switch in inside if switch in one.brings]:
            races = [race for race in one.races if race.blocks and set(race.entered) & set(inside)]
            said = [f"{_saves(beside)} beside the others, by {_runs(one)}", *map(_race, races)]
            sentences.append(
                f"{where(one)}: within the band of noise, and kept all the same: {'; '.join(said)}."
            )
    return sentences


def kept_sentences(found: Sequence[Findings]) -> list[str]:
    """Return why what is within noise was kept, and what all that was kept promised."""
    return [*reason_sentences(found), *promise_sentences(found)]


def promise_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what the switches of a set would bring together by what each was estimated to bring, and what they did.

    Estimates of what looks best of much are too high, the more so the more noise there is.
    """
    sentences = []
    for one in found:
        logs = [log_alone(one, switch) for switch in one.confirmation.on] if one.confirmation else []
        if len(logs) < 2 or None in logs or one.confirmation.total.speedup is None:
            continue
        total, promised = one.confirmation.total, math.exp(sum(logs))
        ends = "" if total.low is None else f" ({interval_of(total)})"
        missed = total.low is not None and not total.low <= promised <= total.high
        sentences.append(
            f"{where(one)}: by these estimates the {len(logs)} switches that went into the fresh blocks would bring "
            f"{fixed(promised, 2, 'x')} together; fresh blocks measured {size_of(total)}{ends}"
            f"{': estimates of few runs are noisy, and switches may get in one another’s way' * missed}."
        )
    return sentences


def _runs(found: Findings) -> str:
    blocks = sum(one.blocks for one in found.rounds)
    among = f", {counted(blocks, 'block')} of the elimination among them" if blocks else ""
    return f"all runs before the fresh blocks{among}"


def _race(race: Race) -> str:
    return f"in a race, in {counted(race.blocks, 'block')}, {_saves(race.estimates)}"


def _saves(estimates: Sequence[Estimate]) -> str:
    return listed([f"{estimate.switches[0].words} {_size(estimate)}" for estimate in estimates])


def _size(estimate: Estimate) -> str:
    """Return what a switch saves of a step, or costs, with its 95 % interval."""
    saves = estimate.log >= 0
    reach = INTERVAL_SE * estimate.se if math.isfinite(estimate.se) else None
    logs = [estimate.log] if reach is None else [estimate.log, estimate.log - reach, estimate.log + reach]
    size, *ends = (-change_percent(log) if saves else change_percent(log) for log in logs)
    between = f" ({interval(*sorted(ends), 1)})" if ends else ""
    return f"{'saves' if saves else 'costs'} {fixed(size, 1, ' %')}{between}"
