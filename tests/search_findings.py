"""What a search might have found, made up by hand: for the tests of the page about switches."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from study_data import make_trial
from trainspeed.core.levers.lever import Numbers
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import Judgement, judge, judge_difference
from trainspeed.search.candidates import Candidates, NotHere
from trainspeed.search.claims import Ablation, Accuracy, Confirmation, Remainder, WaterfallBar
from trainspeed.search.findings import (
    Decision,
    Effect,
    Estimate,
    Feasible,
    Findings,
    Interaction,
    Race,
    Screen,
    Stage,
    Unmeasured,
)
from trainspeed.search.switch import Switch, combined

LAST = Switch(lever="layout", value="channels_last", fields=(("layout", "channels_last"),))
BF16 = Switch(lever="precision", value="bf16", fields=(("precision", "bf16"),))
COMPILED = Switch(lever="compile", value="on", fields=(("compile", True),))
FUSED = Switch(lever="optimizer", value="fused", settings=(("optimizer", "fused"),))
LOOP = Switch(lever="optimizer", value="loop", settings=(("optimizer", "loop"),))
PAGES = Switch(lever="huge_pages", value="on", settings=(("huge_pages", "on"),))
SWITCHES = (LAST, BF16, COMPILED, FUSED, PAGES)
HOSTILE = "<b>no</b> `*pages*`"


def speedup(size: float, blocks: int = 9) -> Judgement:
    """Return a judgement of blocks that all say about the same."""
    return judge([size * (1 + block / 2000) for block in range(blocks)], [1.0] * blocks)


def points(size: float, blocks: int = 9) -> Judgement:
    """Return a difference in accuracy, in points."""
    return judge_difference([80.0] * blocks, [80.0 + size + block / 100 for block in range(blocks)])


def feasible(switch: Switch, size: float = 1.0, **more: Any) -> Feasible:
    """Return what one switch alone looks like, in effect unless it is said otherwise."""
    seen = {name: (value, "the process's own settings") for name, value in switch.settings}
    times = {"first_epoch_s": 3.0, "epoch_s": 1 / size, "peak_memory_bytes": 2_000_000_000}
    plain = {"plain_first_epoch_s": 2.0, "plain_epoch_s": 1.0, "plain_peak_memory_bytes": 3_000_000_000}
    known = {"effect": Effect.SEEN, "status": Status.OK, "seen": seen, "alone": speedup(size, 1)}
    return Feasible(switch=switch, **{**known, **times, **plain, **more})


def estimate(size: float, *switches: Switch, se: float = 0.01) -> Estimate:
    """Return an estimate of a speed-up."""
    return Estimate(switches=switches, log=math.log(size), se=se)


def left_out(size: float, *switches: Switch, large: bool = True) -> Ablation:
    """Return what leaving switches out costs."""
    same = points(0.0)
    return Ablation(
        switches=switches, time=speedup(size), accuracy=same, equality=Equality.EQUAL, large=large
    )


def whole(start: Trial | None = None, **changed: Any) -> Findings:
    """Return a search that found three switches, lost one to no effect and one to being slow."""
    start = start or make_trial(dataset="digits")
    on = (LAST, BF16, FUSED)
    found = Findings(
        start=start.spec,
        candidates=Candidates(
            switches=SWITCHES,
            already_on=(LOOP,),
            changing=("batch_size",),
            not_here=(NotHere(lever="devices", reason="there is one device"),),
        ),
        feasible=(
            feasible(LAST, 1.3),
            feasible(BF16, 1.2),
            feasible(COMPILED, 0.9),
            feasible(FUSED, 1.03),
            feasible(PAGES, effect=Effect.UNSEEN, seen={"huge_pages": (None, HOSTILE)}),
        ),
        slow_ways=(feasible(LOOP, alone=speedup(0.8)),),
        races=(Race(name="optimizer", estimates=(estimate(1.02, FUSED),), entered=(FUSED,), blocks=3),),
        screen=Screen(
            estimates=(
                estimate(1.3, LAST),
                estimate(1.25, BF16),
                estimate(1.04, FUSED),
                estimate(0.9, COMPILED),
            ),
            empty=(0.004, -0.006, 0.002),
            band=0.02,
            lenth_se=0.01,
            pairs=7,
            planned=8,
        ),
        interactions=(
            Interaction(pair=(LAST, BF16), log=math.log(1.1), se=0.01, aliases=((FUSED, COMPILED),)),
            Interaction(pair=(FUSED, COMPILED), log=0.001, se=0.01),
        ),
        rounds=(),
        confirmation=Confirmation(
            on=on,
            total=speedup(1.7),
            accuracy=points(-0.1),
            equality=Equality.EQUAL,
            left_out=(left_out(1.2, BF16), left_out(1.35, LAST), left_out(1.03, FUSED, large=False)),
            blocks=9,
        ),
        decisions={
            LAST: Decision.KEPT,
            BF16: Decision.KEPT,
            FUSED: Decision.KEPT,
            COMPILED: Decision.NOT_FASTER,
            PAGES: Decision.NOT_IN_EFFECT,
        },
        kept=on,
        brings={LAST: estimate(1.3, LAST), BF16: estimate(1.2, BF16), FUSED: estimate(1.03, FUSED)},
        best=combined(start.spec, on),
        waterfall=(
            WaterfallBar(switches=(LAST,), speedup=1.35, low=1.33, high=1.37),
            WaterfallBar(switches=(BF16,), speedup=1.2, low=1.18, high=1.22),
            WaterfallBar(switches=(FUSED,), speedup=1.03, low=1.01, high=1.05),
            WaterfallBar(switches=(), speedup=1.7 / (1.35 * 1.2 * 1.03)),
        ),
        accuracy=(
            Accuracy(
                numbers=Numbers.SAME, switches=(LAST, FUSED), judgement=points(0.0), equality=Equality.EQUAL
            ),
            Accuracy(
                numbers=Numbers.ROUNDING, switches=(BF16,), judgement=points(-0.1), equality=Equality.EQUAL
            ),
        ),
        left_out=(Unmeasured(stage=Stage.SCREEN, had=14, planned=16),),
    )
    return replace(found, **changed)


def without_bf16(**changed: Any) -> Findings:
    """Return a search whose fresh blocks threw out one switch, and show that the others pay without it."""
    rest = Remainder(on=(LAST, FUSED), time=speedup(1.4), accuracy=points(0.1), equality=Equality.EQUAL)
    found = whole(
        decisions={**whole().decisions, BF16: Decision.HURTS},
        rest=rest,
        kept=rest.on,
        best=combined(whole().start, rest.on),
    )
    return replace(found, **changed)


def nothing_yet(start: Trial | None = None) -> Findings:
    """Return a search of which nothing was measured."""
    found = whole(start)
    return replace(
        found,
        feasible=tuple(
            replace(one, effect=Effect.OPEN, status=None, seen={}, alone=None, first_epoch_s=None)
            for one in found.feasible
        ),
        slow_ways=(),
        races=(),
        screen=None,
        interactions=(),
        confirmation=None,
        decisions=dict.fromkeys(SWITCHES, Decision.OPEN),
        kept=(),
        brings={},
        best=found.start,
        waterfall=(),
        accuracy=(),
    )
