"""Findings as rows and verdicts."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from search_findings import (
    COMPILED,
    FUSED,
    LAST,
    LOOP,
    feasible,
    left_out,
    nothing_yet,
    speedup,
    whole,
    without_bf16,
)
from study_data import make_run, make_trial
from trainspeed.judge.comparison import Verdict, as_json
from trainspeed.search.claims import WaterfallBar
from trainspeed.search.findings import Decision, Effect
from trainspeed.search.switch import Switch
from trainspeed.show.waterfall import TOTAL
from trainspeed.studies.switches.answer import answer_sentences
from trainspeed.studies.switches.tables import leave_one_out_table
from trainspeed.studies.switches.views import (
    best_waterfall_rows,
    confirmed_by_ablation,
    effect_rows,
    kept_recipes,
    switch_verdicts,
)

RUN = make_run(study="switches")


def test_an_effect_is_a_change_of_the_time_of_a_step_and_its_interval_is_in_order():
    row = effect_rows([whole()]).set_index("label").loc["channels_last ="]

    assert row["value"] == pytest.approx(100 * (1 / 1.3 - 1))
    assert row["low"] < row["value"] < row["high"]


def test_without_a_screen_or_a_race_the_effect_is_that_of_the_switch_alone():
    row = effect_rows([whole(screen=None, races=())]).set_index("label").loc["channels_last ="]

    assert row["value"] == pytest.approx(100 * (1 / 1.3 - 1))
    assert pd.isna(row["low"]), "one block has no interval"


def test_a_race_that_was_not_run_gives_no_interval():
    """It decides by one look at each, whose standard error is a guess."""
    found = whole(screen=None)
    rows = effect_rows([replace(found, races=tuple(replace(race, blocks=0) for race in found.races))])
    run, unrun = (
        each.set_index("label").loc["fused optimizer =", "low"] for each in (effect_rows([found]), rows)
    )
    assert not pd.isna(run) and pd.isna(unrun)


def test_everything_together_each_large_switch_and_what_is_slow_have_verdicts():
    verdicts = switch_verdicts([whole()], [RUN])

    told = [(v.factor, v.quantity, str(v.outcome)) for v in verdicts]
    assert told == [
        ("recipe", "time", "faster"),
        ("recipe", "accuracy", "same"),
        ("precision", "time", "faster"),
        ("precision", "accuracy", "same"),
        ("layout", "time", "faster"),
        ("layout", "accuracy", "same"),
        ("levers", "time", "slower"),
    ]
    assert verdicts[4].baseline.layout == "channels_first" and verdicts[4].candidate.layout == "channels_last"
    assert {v.study for v in verdicts} == {"switches"}


def test_a_lever_is_confirmed_by_itself_only_beside_what_is_kept_and_without_what_it_needs():
    scope = Switch(
        lever="compile_scope",
        value="with_loss",
        fields=COMPILED.fields,
        settings=(("compile_scope", "with_loss"),),
    )
    on = (COMPILED, scope)
    apart = replace(whole().confirmation, on=on, left_out=(left_out(1.2, scope),))
    (levers,) = confirmed_by_ablation(
        [whole(confirmation=apart, kept=on, decisions=dict.fromkeys(on, Decision.KEPT))]
    ).values()

    assert levers == {"compile_scope"}, "what compiling itself adds was not asked"
    assert confirmed_by_ablation([without_bf16()]) == {without_bf16().best: set()}


def test_verdicts_can_be_written_and_read():
    verdicts = switch_verdicts([whole()], [RUN])

    assert [Verdict.from_dict(element) for element in as_json(verdicts)] == verdicts


def test_what_was_not_in_effect_or_has_no_interval_has_no_verdict():
    found = whole()
    unseen = replace(found.slow_ways[0], effect=Effect.UNSEEN)

    for slow in (unseen, feasible(LOOP, alone=speedup(0.8, 1))):
        assert "levers" not in {v.factor for v in switch_verdicts([whole(slow_ways=(slow,))], [RUN])}


def test_a_single_switch_that_was_kept_is_told_once():
    confirmation = replace(whole().confirmation, on=(LAST,), left_out=())
    verdicts = switch_verdicts([whole(confirmation=confirmation, slow_ways=())], [RUN])

    assert [v.factor for v in verdicts] == ["recipe", "recipe"]


def test_nothing_measured_is_no_verdict():
    assert switch_verdicts([nothing_yet()], []) == []


def test_a_switch_that_hurts_accuracy_is_no_gain():
    """Else the front page would tell readers to switch it on."""
    found = whole(decisions={**whole().decisions, LAST: Decision.HURTS})

    # Nor are the others, which were seen beside it only; what is slow alone was not.
    assert {v.factor for v in switch_verdicts([found], [RUN])} == {"levers"}


def test_what_is_kept_without_one_that_was_thrown_out_has_the_verdicts_of_all_that_is_kept():
    """Else this page has a program, and the front page says that nothing pays together."""
    found = without_bf16(slow_ways=())
    verdicts = switch_verdicts([found], [RUN])

    assert [(v.factor, v.quantity, str(v.outcome)) for v in verdicts] == [
        ("recipe", "time", "faster"),
        ("recipe", "accuracy", "same"),
    ]
    assert {v.candidate for v in verdicts} == {found.best.spec} and verdicts[
        0
    ].speedup == found.rest.time.speedup
    assert verdicts[0].sentence.startswith("PyTorch, cnn10: without bf16, all others together 1.403x")


def test_what_is_not_kept_without_one_that_was_thrown_out_has_no_verdict():
    left = dict.fromkeys((LAST, FUSED), Decision.UNCONFIRMED)
    found = without_bf16(kept=(), decisions={**without_bf16().decisions, **left}, slow_ways=())

    assert switch_verdicts([found], [RUN]) == []


def test_the_program_that_gains_most_stands_first():
    slow, fast = whole(make_trial(model="cnn_keras", dataset="digits")), whole()
    slow = replace(slow, confirmation=replace(slow.confirmation, total=speedup(1.3)))
    spoiled = without_bf16(start=slow.start)

    assert kept_recipes([slow, nothing_yet(), fast]) == [(fast.start, fast.best), (slow.start, slow.best)]
    assert kept_recipes([spoiled, fast])[0] == (fast.start, fast.best), "1.7 times is with what is not kept"


def test_the_way_says_what_was_thrown_out_and_how_fast_it_is_without():
    rows = best_waterfall_rows([without_bf16()])

    assert [*rows["step"]] == [
        "+ channels_last",
        "+ bf16: hurts accuracy",
        "+ fused optimizer",
        "+ only together",
        "all together",
        "without bf16",
    ]
    assert rows["after"].iloc[-1] == without_bf16().rest.time.speedup and rows["kind"].iloc[-1] == TOTAL


def test_one_switch_alone_is_one_bar():
    """It would be drawn twice, as the switch and as all together."""
    confirmation = replace(whole().confirmation, on=(LAST,), left_out=())
    total = confirmation.total
    bar = WaterfallBar(switches=(LAST,), speedup=total.speedup, low=total.low, high=total.high)

    assert [*best_waterfall_rows([whole(confirmation=confirmation, waterfall=(bar,))])["step"]] == [
        "+ channels_last"
    ]


def test_an_estimate_that_the_runs_do_not_tell_has_no_interval():
    found = whole()
    unknown = tuple(replace(one, se=math.inf) for one in found.screen.estimates)
    rows = effect_rows([whole(screen=replace(found.screen, estimates=unknown), races=())])

    assert rows["low"].isna().any() and not np.isinf(rows["value"].astype(float)).any()
    assert not np.isinf(rows["low"].astype(float)).any()


def test_a_switch_that_had_no_effect_beside_the_others_is_told_as_such_everywhere():
    """Alone it was in effect, in the fresh blocks it was not: its times say nothing of it."""
    found = whole(decisions={**whole().decisions, LAST: Decision.NOT_IN_EFFECT})

    assert {v.factor for v in switch_verdicts([found], [RUN])} == {"levers"}, "nobody should have all"
    assert "channels_last =" not in set(effect_rows([found])["label"])
    assert best_waterfall_rows([found])["step"][0] == "+ channels_last: asked for, not in effect"
    assert leave_one_out_table([found]).data["with it"][0] == "asked for, not in effect"
    assert "Of these not to be kept: channels_last (asked for, not in effect)" in answer_sentences([found])[0]
