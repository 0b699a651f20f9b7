"""What the page on switches says, from findings that were made up."""

from dataclasses import replace

import pandas as pd
import pytest

from found_switches import (
    BF16,
    FUSED,
    LAST,
    SWITCHES,
    feasible,
    nothing_yet,
    points,
    speedup,
    whole,
    without_bf16,
)
from trainspeed.core.markdown import escape
from trainspeed.judge.equivalence import Equality
from trainspeed.search.findings import Decision, Effect
from trainspeed.studies.switches import text
from trainspeed.studies.switches.costs import PART_COLUMNS


def confirmed(**changed):
    found = whole()
    return replace(found, confirmation=replace(found.confirmation, **changed))


def answer(found):
    (sentence,) = text.answer_sentences([found])
    return sentence


def test_the_answer_names_what_to_switch_on_its_class_and_what_most_of_it_is():
    assert answer(whole()) == (
        "PyTorch, cnn10: channels_last (=), bf16 (≈) and fused optimizer (=): all together 1.70x (95 % interval 1.70 "
        "to 1.71): faster, in 9 fresh blocks. Most of it is channels_last: without, a step takes 35 % longer. Accuracy "
        "is no worse than by the margin (-0.1 points, interval -0.1 to +0.0)."
    )


def test_too_few_fresh_blocks_are_undecided_and_it_says_how_many_decide():
    assert "no interval: undecided, measure 6 blocks or more, in 3 fresh blocks" in answer(
        confirmed(total=speedup(1.7, 3), blocks=3)
    )


def test_an_accuracy_that_is_open_says_what_decides_it():
    found = confirmed(accuracy=points(-0.4), equality=Equality.OPEN)

    assert (
        "Accuracy is undecided (-0.4 points, interval -0.4 to -0.3): more `confirm_blocks` decide it"
        in answer(found)
    )


def test_of_switches_that_compute_the_same_numbers_accuracy_is_a_spot_check():
    found = confirmed(on=(LAST, FUSED), left_out=(), accuracy=points(-0.4), equality=Equality.OPEN)

    assert answer(found).endswith(
        "All of these compute the same numbers; accuracy, a spot check: -0.4 points, interval -0.4 to -0.3."
    )


def test_an_accuracy_of_a_model_that_learned_nothing_was_not_checked():
    assert "Accuracy was not checked" in answer(confirmed(accuracy=None, equality=Equality.UNCHECKED))


def test_what_fresh_blocks_spoil_is_named_as_not_to_be_kept_and_what_is_left_with_its_size():
    assert answer(without_bf16()) == (
        "PyTorch, cnn10: channels_last (=) and fused optimizer (=): together 1.40x (95 % interval 1.40 to 1.40): "
        "faster, in 9 fresh blocks. Accuracy is no worse than by the margin (+0.1 points, interval +0.1 to +0.2). Not "
        "to be kept: bf16 (hurts accuracy); with that, all together 1.70x (95 % interval 1.70 to 1.71): faster."
    )
    assert text.accuracy_sentences([without_bf16()])[1].startswith(
        "PyTorch, cnn10, channels_last, fused optimizer: Accuracy is no worse"
    )


def test_what_is_left_without_what_was_thrown_out_wants_a_search_of_its_own():
    """More fresh blocks of all together would not tell of it."""
    left = dict.fromkeys((LAST, FUSED), Decision.UNCONFIRMED)
    found = whole(kept=(), decisions={**whole().decisions, **left, BF16: Decision.HURTS})

    assert answer(found).endswith("What is left was not shown to be faster without these.")
    slow = replace(without_bf16().rest, time=speedup(1.0))
    assert answer(replace(found, rest=slow)).endswith(
        "without these: 1.00x (95 % interval 1.00 to 1.00): the same within the margin."
    )
    assert text.fate_sentences([found])[0].endswith(
        "channels_last, fused optimizer: a search without bf16 decides: name the others in `levers`."
    )


def test_what_fresh_blocks_did_not_show_is_not_said_to_lack_them():
    """In whole() there are 9 of them."""
    found = whole(kept=(), decisions=dict.fromkeys(SWITCHES, Decision.UNCONFIRMED))

    (fate,) = text.fate_sentences([found])
    assert fate.endswith(
        "9 fresh blocks did not show it: more `confirm_blocks` may, or a machine with nothing beside it."
    )
    (fate,) = text.fate_sentences([replace(found, confirmation=None)])
    assert "fresh blocks decide: raise `confirm_blocks`" in fate


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision.OPEN, "undecided: the search did not get through 5 switches of 5; give it more time"),
        (Decision.UNCONFIRMED, "look promising, but the fresh blocks are missing; give it more time"),
        (Decision.UNDECIDED, "5 switches of 5 had time to be measured alone, and no more; give it more time"),
        (Decision.NOT_FASTER, "leave it as it is: of 5 switches none was found to be worth it."),
    ],
)
def test_without_fresh_blocks_nothing_is_claimed(decision, words):
    assert words in answer(replace(nothing_yet(), decisions=dict.fromkeys(SWITCHES, decision)))


@pytest.mark.parametrize("decision", [Decision.OPEN, Decision.FAILED])
def test_where_no_run_ended_well_it_says_why_and_promises_nothing_of_more_time(decision):
    decisions = dict.fromkeys(SWITCHES, decision)
    found = replace(nothing_yet(), decisions=decisions, failure="unsupported: JAX is not installed.")

    assert answer(found) == "PyTorch, cnn10: not measured: unsupported: JAX is not installed."
    (fate,) = text.fate_sentences([found])
    assert "more time" not in fate


def test_fresh_blocks_that_failed_are_no_answer():
    found = confirmed(total=speedup(1.0, 0), reason="oom: no memory", left_out=(), blocks=0)

    assert answer(found).endswith("look promising, but not confirmed: oom: no memory.")


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


def test_two_switches_that_need_each_other_are_told_with_each_ones_sizes():
    (sentence,) = text.pair_sentences([whole()])

    assert sentence == (
        "PyTorch, cnn10: channels_last saves 26.7 % with bf16 on and saves 19.3 % with it off; the screen cannot tell "
        "this pair from fused optimizer, compiled."
    )


def test_where_nothing_was_measured_in_combination_no_pair_is_said_to_be_without_effect():
    assert text.pair_sentences([replace(nothing_yet(), rounds=())]) == [
        "PyTorch, cnn10: not measured: there was neither a screen nor an elimination."
    ]


def test_the_parts_of_a_step_limit_what_a_switch_can_save():
    row = ("PyTorch, cnn10", 2.0, 1.5, 0.2, 0.1, 0.2, 0.9)

    assert text.time_sentences(pd.DataFrame([row], columns=PART_COLUMNS)) == [
        "PyTorch, cnn10: an epoch takes 2.00 s: 75 % compute, 10 % waiting for input, 5 % the rest of a step and 10 % "
        "validation and checkpoint. The input alone takes 0.900 s. So switches of the input can save 15 % at most, "
        "those of the computing 45 %."
    ]


def test_what_became_of_each_switch_that_was_dropped_is_said():
    assert text.fate_sentences([whole()]) == [
        "PyTorch, cnn10, did not look faster in combination: compiled.",
        "PyTorch, cnn10, asked for, not in effect: huge pages.",
    ]
