"""Tables of switches: on already, not here, leaving one out, what was seen, accuracy, costs. Decides nothing.

A table without a row is None: the page then says why in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, counted, digits, fixed, gigabytes, or_nothing
from trainspeed.core.levers.lever import LeverKind, text_of
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.break_even import Cost, compared_costs, cost_of
from trainspeed.judge.text import accuracy_in_words, interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, Outcome
from trainspeed.search.findings import Effect, Feasible, Findings
from trainspeed.search.switch import combined
from trainspeed.search.unmeasured import where
from trainspeed.show.cells import styled
from trainspeed.studies.switches.text import CLASSES
from trainspeed.studies.switches.views import NOT_IN_EFFECT, marked, switch_names, took_hold

OTHER_WAY = "What it costs to lose what is on, to have a brake, or to do without Trainspeed's own settings"
KINDS = {kind: str(kind) for kind in LeverKind} | {LeverKind.SWITCH: "off", LeverKind.BRAKE: "a brake"}
OTHER_WAYS = KINDS | {LeverKind.ALREADY_ON: "on in a plain script, off here"}
NOT_SHOWN = "no saving shown"
EFFECT = "in effect?"
TOGETHER = "all together"
EXACT = 6  # decimals of a number of epochs: 2.0000000001 of them are 2
NO_RECORD = "that it ran: nothing else was recorded"


def already_on_table(found: Sequence[Findings]) -> Styler | None:
    """Return what a plain script has, what Trainspeed alone sets and what brakes, each switched the other way."""
    rows = []
    for one in found:
        kinds = dict.fromkeys(one.candidates.own, LeverKind.OWN)
        kinds |= dict.fromkeys(one.candidates.brakes, LeverKind.BRAKE)
        for slow in one.slow_ways:
            cells = {
                "measured": slow.switch.words,
                "a step then takes": _change(slow.alone) if slow.enters else MISSING,
                "95 % interval": _change_interval(slow.alone) if slow.enters else MISSING,
                "it is": OTHER_WAYS[kinds.get(slow.switch, LeverKind.ALREADY_ON)],
            }
            rows.append(_where(one, found) | cells | {"remark": _remark(slow)})
    return _table(rows, "already-on", OTHER_WAY)


def aside_table(found: Sequence[Findings]) -> Styler | None:
    """Return a row per lever that is here and was not to be tried, with what it is."""
    rows = {
        (where(one), switch.lever): _where(one, found)
        | {
            "lever": switch.entry.words,
            "class": str(switch.numbers),
            "it is": KINDS[switch.entry.kind_with(switch.value)],
            "name": switch.lever,
        }
        for one in found
        for switch in one.candidates.aside
    }
    return _table([*rows.values()], "aside", "Here, and left out by the parameter levers")


def not_here_table(found: Sequence[Findings]) -> Styler | None:
    """Return a row per lever that cannot be pulled here, with the reason."""
    rows = [
        _where(one, found) | {"lever": LEVERS[lacking.lever].words, "not here, because": lacking.reason}
        for one in found
        for lacking in one.candidates.not_here
    ]
    return _table(rows, "not-here", "Not here")


def leave_one_out_table(found: Sequence[Findings]) -> Styler | None:
    """Return what leaving one switch out of the best costs, the largest loss first: the table to act on."""
    rows = []
    for one in found:
        left_out = one.confirmation.left_out if one.confirmation else ()
        for left in sorted(left_out, key=lambda left: -(left.time.speedup or 0.0)):
            cells = {
                "without": switch_names(left.switches),
                "a step then takes": _change(left.time.turned),
                "interval": _change_interval(left.time.turned),
                "with it": str(left.time.outcome if took_hold(one, left.switches) else NOT_IN_EFFECT),
                "class": ", ".join(dict.fromkeys(CLASSES[switch.numbers] for switch in left.switches)),
                "accuracy by it": _points(left.accuracy),
            }
            rows.append(_where(one, found) | cells)
    caption = "Leave one out of all that were kept, in fresh blocks; the intervals hold all at once"
    return _table(rows, "leave-one-out", caption)


def in_effect_table(found: Sequence[Findings]) -> Styler | None:
    """Return what each switch asked for, what was seen of it, and how."""
    rows = []
    for one in found:
        for feasible in (*one.feasible, *one.slow_ways):
            switch = feasible.switch
            asked = dict(switch.settings) or {switch.lever: switch.value}
            asked |= {
                name: text_of(value)
                for name, value in switch.fields
                if name in feasible.seen and name not in LEVERS
            }
            for lever, value in asked.items():
                ran = feasible.status is Status.OK
                seen, how = feasible.seen.get(lever, (None, NO_RECORD if ran else MISSING))
                cells = {
                    "asked for": f"{LEVERS[lever].words if lever in LEVERS else lever}: {value}",
                    "seen": or_nothing(seen),
                    "how": how,
                    EFFECT: _effect(feasible),
                }
                rows.append(_where(one, found) | cells)
    if all(feasible.effect is Effect.SEEN for one in found for feasible in (*one.feasible, *one.slow_ways)):
        rows = [{name: cell for name, cell in row.items() if name != EFFECT} for row in rows]
        return _table(rows, "in-effect", "All took effect")
    return _table(rows, "in-effect", "In effect?")


def accuracy_table(found: Sequence[Findings]) -> Styler | None:
    """Return what all that was on in the fresh blocks did to the test accuracy: they were measured together."""
    rows = []
    for one in found:
        if classes := one.accuracy:
            judged = classes[-1].judgement  # of all together: see `search.confirm.by_class`
            cells = {
                "switches, together": switch_names([switch for own in classes for switch in own.switches]),
                "class": ", ".join(f"{CLASSES[own.numbers]} {own.numbers}" for own in classes),
                "difference": size_of(judged, "accuracy") if judged else MISSING,
                "95 % interval": interval_of(judged, "accuracy") if judged else MISSING,
                "accuracy is": accuracy_in_words(judged),
            }
            rows.append(_where(one, found) | cells)
    return _table(rows, "accuracy", "Accuracy of all switches together against plain")


def time_and_memory_table(found: Sequence[Findings], runs: Iterable[Run]) -> Styler | None:
    """Return what the plain setting, each switch that was kept, and all of them take in time and memory."""
    fresh = RunSet(tuple(runs)).role(Role.RECIPE)
    rows = []
    for one in found:
        kept = [f for f in one.feasible if f.switch in one.kept]
        own = [(marked(f.switch), f.alone, False, *_costs_alone(f)) for f in kept]
        plain, blocks = _plain_cost(one, fresh)
        if told := one.confirmation:
            best = combined(one.start, one.kept or told.on)
            total = (
                told.total if best.spec == combined(one.start, told.on).spec else one.rest and one.rest.time
            )
            beside, cost = compared_costs(fresh.of_trial(one.start), fresh.of_trial(best))
            plain = beside or plain
            name = own[0][0] if len(own) == 1 else TOGETHER
            own = [] if len(own) == 1 and cost else own  # what was seen of a single switch alone says less
            own.append((name, total, True, beside, cost))
        if plain:
            rows.append(_where(one, found) | _cost_cells("plain", blocks, plain))
        for name, judged, is_fresh, beside, cost in own:
            if cost:
                row = _cost_cells(
                    name,
                    _blocks_of(judged, fresh=is_fresh),
                    cost,
                    beside if beside != plain else None,
                )
                pays = MISSING if beside is None else _pays_after(cost, beside, judged)
                rows.append(_where(one, found) | row | {"pays after": pays})
    caption = "What it costs: memory, compiling, epochs until it pays. Medians over the blocks that a row names: what "
    caption += "a switch saves is told by the charts, in paired turns and by more runs"
    return _table(rows, "costs", caption)


def _table(rows: Sequence[Mapping[str, Any]], kind: str, caption: str) -> Styler | None:
    """Return the rows as a table; None of no rows."""
    return styled(rows, kind, caption) if rows else None


def _plain_cost(found: Findings, fresh: RunSet) -> tuple[Cost | None, str]:
    """Return what the plain setting takes and in which blocks: in fresh ones, or else beside the first switch."""
    own = fresh.of_trial(found.start)
    if cost := cost_of(own):
        return cost, counted(len({run.block_key for run in own.ok()}), "fresh block")
    costs = ((_costs_alone(one)[0], _blocks_of(one.alone)) for one in found.feasible)
    return next((both for both in costs if both[0]), (None, MISSING))


def _blocks_of(judged: Judgement | None, *, fresh: bool = False) -> str:
    if judged is None:
        return MISSING
    return counted(judged.blocks, "fresh block") if fresh else f"{counted(judged.blocks, 'block')} of its own"


def _costs_alone(feasible: Feasible) -> tuple[Cost | None, Cost | None]:
    """Return what the plain trial took beside a switch alone, and what that took."""
    both = [
        (feasible.plain_first_epoch_s, feasible.plain_epoch_s, feasible.plain_peak_memory_bytes),
        (feasible.first_epoch_s, feasible.epoch_s, feasible.peak_memory_bytes),
    ]
    return tuple(
        None
        if first_s is None or epoch_s is None
        else Cost(first_epoch_s=first_s, epoch_s=epoch_s, peak_memory_bytes=peak)
        for first_s, epoch_s, peak in both
    )


def _cost_cells(name: str, blocks: str, cost: Cost, beside: Cost | None = None) -> dict[str, Any]:
    """Return a row.

    Args:
        blocks: In which it was measured, in words.
        beside: What the plain trial took beside it, where that is not what the table's row of it has: at another time
            of a busy machine, another one.
    """
    return {
        "setting": name,
        "measured in": blocks,
        "peak memory": gigabytes(cost.peak_memory_bytes, 2),
        "first epoch s": digits(cost.first_epoch_s) + (_of_plain(beside.first_epoch_s) if beside else ""),
        "later epochs s": digits(cost.epoch_s) + (_of_plain(beside.epoch_s) if beside else ""),
        "pays after": MISSING,
    }


def _pays_after(cost: Cost, plain: Cost, judged: Judgement | None) -> str:
    """Return after how many epochs a setting pays, if blocks show that it saves time at all."""
    if judged is None or judged.low is None:
        return f"undecided ({counted(judged.blocks, 'block')})" if judged else NOT_SHOWN
    if judged.high < 1:
        return "never: no time is saved"
    epochs = cost.break_even(plain)
    if judged.outcome is not Outcome.FASTER or epochs is None:
        return NOT_SHOWN
    blocks = len(cost.longer_first_s)
    if not 0 < blocks < judged.blocks:
        return _after(epochs, epochs)
    known = (epochs, epochs) if blocks >= MIN_BLOCKS else cost.break_even_range(plain)
    about = "about " if blocks < MIN_BLOCKS and 0 < known[0] == known[1] else ""
    return f"{about}{_after(*known)}, by the first epochs of {counted(blocks, 'block')}"


def _after(least: float, most: float) -> str:
    """Return after how many whole epochs a setting pays, of a range: after fewer it is still behind."""
    least, most = (math.ceil(round(epochs, EXACT)) for epochs in (least, most))
    if not most:
        return "at once"
    return counted(most, "epoch") if least == most else f"{least} to {counted(most, 'epoch')}"


def _of_plain(seconds: float) -> str:
    return f" (plain beside it: {digits(seconds)})"


def _where(one: Findings, found: Sequence[Findings]) -> dict[str, str]:
    """Return the column that tells the searches apart, where there are several."""
    return {"where": where(one)} if len(found) > 1 else {}


def _change(judgement: Judgement | None) -> str:
    """Return a speed-up as the change of a step's time: "+12.3 %"."""
    if judgement is None or judgement.speedup is None:
        return MISSING
    return fixed(100 * (1 / judgement.speedup - 1), 1, " %", sign="+")


def _change_interval(judgement: Judgement | None) -> str:
    if judgement is None or judgement.low is None:
        return MISSING
    low, high = (fixed(100 * (1 / end - 1), 1, sign="+") for end in (judgement.high, judgement.low))
    return f"{low} to {high} %"


def _points(judgement: Judgement | None) -> str:
    size = "" if judgement is None else f" ({size_of(judgement, 'accuracy')})"
    return f"{accuracy_in_words(judgement)}{size}"


def _effect(feasible: Feasible) -> str:
    if feasible.effect is Effect.FAILED:
        return f"{feasible.effect}: {feasible.reason or feasible.status}"
    return str(feasible.effect)


def _remark(slow: Feasible) -> str:
    if slow.effect is not Effect.SEEN:
        return _effect(slow)
    if slow.alone is None or slow.alone.low is None:
        return "too few blocks for an interval"
    return str(slow.alone.outcome)
