"""What the page on switches says, from findings that were made up."""

import math
from dataclasses import replace

import pandas as pd

from search_findings import (
    BF16,
    FUSED,
    LOOP,
    estimate,
    feasible,
    nothing_yet,
    whole,
)
from study_data import make_trial
from trainspeed.core.markdown import escape
from trainspeed.judge.verdict import judge
from trainspeed.search.findings import Clash, Decision, Effect
from trainspeed.studies.switches import introductions, reasons, text
from trainspeed.studies.switches.step_parts import PART_COLUMNS, worth_drawing


def test_what_was_not_in_effect_says_how_that_was_seen_and_is_escaped_where_it_is_shown():
    (sentence,) = text.effect_sentences([whole()])

    assert sentence.startswith(
        "PyTorch, cnn10, huge pages: asked for, not in effect: huge_pages was not to be seen"
    )
    assert "<b>" in sentence and "<b>" not in escape(sentence)


def test_what_cannot_be_seen_is_not_called_in_effect():
    found = whole(
        feasible=(feasible(FUSED, effect=Effect.UNKNOWN, seen={"optimizer": (None, "no profile")}),)
    )

    assert text.effect_sentences([found]) == [
        "PyTorch, cnn10, fused optimizer: asked for, cannot be seen: optimizer was not to be seen (no profile)."
    ]


def test_without_a_screen_the_estimates_are_those_of_single_switches_where_there_are_any():
    assert text.screen_sentences([whole(screen=None)]) == [
        "PyTorch, cnn10: no screen was measured; the estimates are those of single switches."
    ]
    assert text.screen_sentences([nothing_yet()]) == ["PyTorch, cnn10: no screen was measured."]


def screened(estimates, pairs, empty):
    of = whole().screen
    estimates = tuple(replace(of.estimates[0]) for _ in range(estimates))
    screen = replace(of, estimates=estimates, pairs=pairs, planned=16, empty=(0.001,) * empty)
    return text.screen_sentences([whole(screen=screen)])[0]


def test_noise_that_is_assumed_is_not_said_to_be_measured():
    """16 switches fill 16 columns: nothing is left that would tell it."""
    assert "16 switches in 16 of 16 pairs of runs, each on in one run of a pair" in screened(16, 16, 0)
    assert screened(16, 16, 0).endswith(
        "of a step, as assumed for most machines, since no column of the screen stands for nothing."
    )
    assert ", in part as assumed for most machines, since only 4 columns of the screen stand" in screened(
        12, 16, 4
    )
    assert ", in part as assumed for most machines, since too few pairs were measured" in screened(8, 10, 8)
    assert screened(10, 16, 6).endswith(" % of a step.")


def test_two_switches_that_need_each_other_are_told_with_each_ones_sizes():
    (sentence,) = text.pair_sentences([whole()])

    assert sentence == (
        "PyTorch, cnn10: channels_last saves 26.7 % with bf16 on and saves 19.3 % with it off; the screen cannot tell "
        "this pair from fused optimizer, compiled."
    )


def test_of_a_pair_of_which_one_was_not_screened_the_estimate_is_with_that_one_off():
    known = whole().screen
    alone = replace(known, estimates=tuple(one for one in known.estimates if BF16 not in one.switches))
    (sentence,) = text.pair_sentences([whole(screen=alone)])

    assert "channels_last saves 30.1 % with bf16 on and saves 23.1 % with it off" in sentence


def test_of_a_pair_what_lies_within_the_noise_has_no_size():
    of = whole().screen
    half = of.estimates[0].log  # all of what it saves with the other one on
    (pair, *_) = whole().interactions
    found = whole(screen=replace(of, band=0.01), interactions=(replace(pair, log=2 * half, se=0.001),))
    (sentence,) = text.pair_sentences([found])

    assert "with bf16 on and does nothing that stands out of the noise with it off" in sentence


def test_what_does_not_go_together_is_told_with_the_reason():
    of = whole()
    clash = Clash(switches=of.confirmation.on[:2], reason="bf16 was asked for, but float32 ran")
    first, *_ = text.pair_sentences([replace(of, clashes=(clash,))])

    names = ", ".join(switch.words for switch in clash.switches)
    assert first == f"PyTorch, cnn10: {names} failed together: bf16 was asked for, but float32 ran."


def test_where_nothing_was_measured_in_combination_no_pair_is_said_to_be_without_effect():
    assert text.pair_sentences([replace(nothing_yet(), rounds=())]) == [
        "PyTorch, cnn10: not measured: there was neither a screen nor an elimination."
    ]


def test_a_search_that_looked_for_pairs_and_found_none_says_so_beside_one_that_did_not_look():
    looked = whole(interactions=())
    assert text.pair_sentences([looked, nothing_yet()])[0] == (
        "PyTorch, cnn10: no two switches were found to need or to spoil each other."
    )


def test_why_nothing_was_left_out_is_told_search_by_search():
    def without_parts(on):
        return whole(confirmation=replace(whole().confirmation, on=on, left_out=()))

    on = whole().confirmation.on
    said = text.not_left_out_sentences([without_parts(on), without_parts(on[:1]), whole(), nothing_yet()])
    assert said == [
        "PyTorch, cnn10: there was no time to leave out one switch after another.",
        "PyTorch, cnn10: one switch was confirmed, and nothing is left without it.",
        "PyTorch, cnn10: nothing was left out, as nothing was confirmed.",
    ]


def test_the_parts_of_a_step_limit_what_a_switch_can_save():
    row = ("PyTorch, cnn10", 2.0, 1.5, 0.2, 0.1, 0.2, 0.9, 0.0, 0.0, 1, False)

    assert text.time_sentences(pd.DataFrame([row], columns=PART_COLUMNS)) == [
        "PyTorch, cnn10: an epoch takes 2.00 s, in 1 block of its own: 75 % compute, 10 % waiting for input, 5 % the "
        "rest of a step and 10 % validation and checkpoint. The input alone takes 0.900 s. So switches of the input "
        "can save 15 % at most, those of the computing 45 %."
    ]


def test_where_the_input_takes_next_to_nothing_there_is_no_limit_to_what_computing_can_save():
    row = ("PyTorch, cnn10", 2.0, 1.8, 0.0, 0.2, 0.0, 0.01, 0.0, 0.0, 1, False)

    (said,) = text.time_sentences(pd.DataFrame([row], columns=PART_COLUMNS))
    assert said.endswith(
        "10 % the rest of a step and 0 % validation and checkpoint. The input alone takes 0.0100 s. So "
        "switches of the input can save next to nothing."
    )


def test_an_epoch_that_is_nearly_all_computing_is_a_sentence_and_no_chart():
    nothing = ("PyTorch, cnn10", 2.0, 2.0, 0.0, 0.0, float("nan"), 0.1, 0.14, 0.16, 1, False)
    little = ("JAX, cnn10", 2.0, 1.94, 0.02, 0.04, 0.0, 0.1, 0.0, 0.0, 6, True)
    parts = pd.DataFrame([nothing, little], columns=PART_COLUMNS)

    assert text.time_sentences(parts) == [
        "PyTorch, cnn10: nearly all of an epoch (2.00 s, in 1 block of its own) is computing (7 % of the computing "
        "may be something else: the same steps, measured twice, differ by 8 %): switches of the input can save 7 % at "
        "most.",
        "JAX, cnn10: nearly all of an epoch (2.00 s, in 6 blocks of its own, while other processes were busy) is "
        "computing: switches of the input can save 3 % at most.",
    ]
    assert not worth_drawing(parts) and not worth_drawing(parts[:0])
    assert worth_drawing(parts.assign(rest_s=[0.1, 0.0]))


def test_what_became_of_each_switch_that_was_dropped_is_said():
    assert text.fate_sentences([whole()]) == [
        "PyTorch, cnn10: dropped, as no gain was shown in combination: compiled.",
        "PyTorch, cnn10: asked for, not in effect: huge pages.",
    ]


def test_what_lost_against_another_value_is_not_said_to_be_the_faster_one():
    lost = replace(whole(), decisions={FUSED: Decision.LOST_RACE})
    (said,) = text.fate_sentences([lost])

    assert said == "PyTorch, cnn10: dropped, as another value looked faster: fused optimizer."


def test_what_lacks_a_screen_is_said_once_for_all_searches_and_no_screen_is_explained():
    without = replace(whole(), screen=None, rounds=(), interactions=(), clashes=(), slow_ways=())

    assert text.screen_sentences([without, without]) == [
        "PyTorch, cnn10 and PyTorch, cnn10: no screen was measured; the estimates are those of single switches."
    ]
    assert text.pair_sentences([without, without]) == [
        "PyTorch, cnn10 and PyTorch, cnn10: not measured: there was neither a screen nor an elimination."
    ]
    assert introductions.effects([without]) == [introductions.ALONE]
    assert introductions.effects([replace(whole(), slow_ways=())]) == [introductions.SCREEN]


def test_where_two_searches_differ_each_says_whose_dots_it_explains():
    looked, without = whole(), replace(whole(make_trial(model="cnn_keras")), screen=None)
    of = looked.races[0]
    raced = replace(of, estimates=(*of.estimates, estimate(0.99, LOOP)))
    more = replace(looked, feasible=(*looked.feasible, feasible(LOOP)), races=(raced,), slow_ways=())

    assert introductions.effects([more]) == [introductions.SCREEN, introductions.RACED]
    said = introductions.effects([looked, without])
    assert [words.split(" is ")[0].split(" has ")[0] for words in said] == [
        "PyTorch, cnn10: a dot",
        "PyTorch, cnn10: what was in no screen",
        "PyTorch, cnn_keras: a dot",
    ]


def test_what_is_kept_within_the_band_of_noise_says_why_with_its_intervals():
    of = whole()
    screen = replace(of.screen, band=0.05)  # 1.04 of the screen is within it
    race = replace(of.races[0], estimates=(estimate(1.05, FUSED), estimate(0.99, LOOP, se=math.inf)))

    assert reasons.reason_sentences([of]) == []
    assert reasons.reason_sentences([replace(of, screen=screen, races=(race,))]) == [
        "PyTorch, cnn10: within the band of noise, and kept all the same: fused optimizer saves 2.9 % (1.0 to 4.8) "
        "beside the others, by all runs before the fresh blocks; in a race, in 3 blocks, fused optimizer saves "
        "4.8 % (2.9 to 6.6) and optimizer in a loop costs 1.0 %."
    ]


def test_what_estimates_promised_stands_beside_what_fresh_blocks_measured():
    of = whole()
    raced = replace(of.races[0], estimates=(estimate(1.25, BF16), estimate(1.2, FUSED)))

    def judged(size):
        return judge([size * (1 + block / 100) for block in range(-4, 5)], [1.0] * 9)

    def said(total):
        on = replace(of.confirmation, on=(BF16, FUSED), total=judged(total))
        return reasons.promise_sentences([replace(of, races=(raced,), screen=None, confirmation=on)])

    lead = (
        "PyTorch, cnn10: by these estimates the 2 switches that went into the fresh blocks would bring 1.50x"
    )
    assert said(1.5) == [f"{lead} together; fresh blocks measured 1.50x (1.46 to 1.54)."]
    (missed,) = said(1.0)
    assert missed.startswith(f"{lead} together; fresh blocks measured 1.00x (")
    assert missed.endswith(": estimates of few runs are noisy, and switches may get in one another’s way.")
    assert reasons.promise_sentences([replace(of, confirmation=None)]) == []
