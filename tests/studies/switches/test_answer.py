"""What the page on switches answers, from findings that were made up."""

from dataclasses import replace

import pytest

from search_findings import (
    BF16,
    COMPILED,
    FUSED,
    LAST,
    LOOP,
    PAGES,
    SWITCHES,
    feasible,
    left_out,
    nothing_yet,
    points,
    speedup,
    whole,
    without_bf16,
)
from trainspeed.core.coverage import Coverage
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import judge_difference
from trainspeed.search.findings import Decision
from trainspeed.studies.switches import text
from trainspeed.studies.switches.answer import (
    answer_sentences,
    below_sentence,
    confirmed_accuracy,
    without_code,
)


def confirmed(**changed):
    found = whole()
    return replace(found, confirmation=replace(found.confirmation, **changed))


def answer(found):
    (sentence,) = answer_sentences([found])
    return sentence


def test_the_answer_names_what_to_switch_on_its_class_and_what_most_of_it_is():
    assert answer(whole()) == (
        "PyTorch, cnn10: channels_last (=), bf16 (≈) and fused optimizer (=): in 9 fresh blocks all together 1.70x "
        "(95 % interval 1.70 to 1.71): faster. Most of it is channels_last: without, a step takes 35 % longer. "
        "Accuracy is the same within 0.5 points (-0.1 points, interval -0.1 to +0.0)."
    )


def test_of_several_that_were_measured_together_alone_it_says_that_nothing_is_known_of_each():
    said = (
        ": faster. Measured as a set: what each of them adds was not measured in fresh blocks. Accuracy is "
    )

    assert said in answer(confirmed(left_out=()))
    group = tuple(replace(left, large=False) for left in whole().confirmation.left_out)
    assert "as a set" in answer(confirmed(left_out=group))
    assert "as a set" not in answer(whole()) + answer(confirmed(on=(BF16,), left_out=()))


def test_links_lead_only_to_what_is_there():
    code, left = "[the code](#code-to-paste)", "[what leaving a switch out costs](#leave-one-out)"
    fresh = "in fresh blocks, each run in a fresh process."

    assert below_sentence([whole()]) == f"Measured {fresh} See {code} and {left}."
    assert below_sentence([confirmed(left_out=())]) == f"Measured {fresh} See {code}."
    assert below_sentence([replace(confirmed(left_out=()), kept=())]) == f"Measured {fresh}"
    assert below_sentence([whole(), nothing_yet()]).startswith(
        "What was confirmed was measured in fresh blocks"
    )
    assert below_sentence([nothing_yet()]) == below_sentence([]) == ""


def test_too_few_fresh_blocks_are_undecided_and_it_says_how_many_decide():
    assert (
        "in 3 fresh blocks all together 1.70x, no interval: undecided, measure 6 blocks or more."
        in answer(confirmed(total=speedup(1.7, 3), blocks=3))
    )


def test_an_accuracy_that_is_open_says_what_may_decide_it():
    lost = judge_difference([80.0] * 9, [79.1, 79.1, *[79.6] * 5, 79.9, 79.9])
    found = confirmed(accuracy=lost, equality=Equality.OPEN)

    assert (
        "Accuracy is undecided (-0.4 points, interval -0.9 to -0.1, so not higher): no reasonable number of blocks "
        "here decides it" in answer(found)
    )
    near = judge_difference([80.0] * 9, [79.2, 79.2, *[80.0] * 5, 80.2, 80.2])
    assert confirmed_accuracy(confirmed(accuracy=near, equality=Equality.OPEN).confirmation).endswith(
        ": about 24 fresh blocks would decide it, if the difference is as large as it looks now (`confirm_blocks`, and "
        "the time for them)"
    )
    few = confirmed(accuracy=points(0.0, 3), equality=Equality.OPEN).confirmation
    assert confirmed_accuracy(few).endswith(
        ": 6 fresh blocks or more give an interval (`confirm_blocks`, and the time for them)"
    )


def test_of_switches_that_compute_the_same_numbers_accuracy_is_a_spot_check():
    found = confirmed(on=(LAST, FUSED), left_out=(), accuracy=points(-0.4), equality=Equality.OPEN)

    assert answer(found).endswith(
        "All of these compute the same numbers; accuracy, a spot check: -0.4 points, interval -0.4 to -0.3."
    )


def test_an_accuracy_of_a_model_that_learned_nothing_was_not_checked():
    unchecked = {"accuracy": None, "equality": Equality.UNCHECKED}
    assert "Accuracy was not checked: the plain model had not learned" in answer(confirmed(**unchecked))
    few = confirmed(**unchecked, total=speedup(1.7, 4), blocks=4)
    assert "Accuracy was not compared: that takes 6 fresh blocks" in answer(few), (
        "whatever the model has learned"
    )


def test_what_fresh_blocks_spoil_is_named_as_not_to_be_kept_and_what_is_left_with_its_size():
    assert answer(without_bf16()) == (
        "PyTorch, cnn10: channels_last (=) and fused optimizer (=): in 9 fresh blocks together 1.403x (95 % interval "
        "1.401 to 1.405): faster. Accuracy is the same within 0.5 points (+0.1 points, interval +0.1 to +0.2). "
        "Not to be kept: bf16 (hurts accuracy); with that, all together 1.70x (95 % interval 1.70 to 1.71): faster."
    )
    assert text.accuracy_sentences([without_bf16()])[1].startswith(
        "PyTorch, cnn10, channels_last, fused optimizer: Accuracy is the same"
    )


def test_what_is_left_without_what_was_thrown_out_wants_a_search_of_its_own():
    """More fresh blocks of all together would not tell of it."""
    left = dict.fromkeys((LAST, FUSED), Decision.UNCONFIRMED)
    found = whole(kept=(), decisions={**whole().decisions, **left, BF16: Decision.HURTS})

    assert answer(found).endswith("What is left was not shown to be faster without these.")
    slow = replace(without_bf16().rest, time=speedup(1.0))
    assert answer(replace(found, rest=slow)).endswith(
        "without these: 1.002x (95 % interval 1.000 to 1.004): the same within the margin."
    )
    worse = replace(without_bf16().rest, time=speedup(1.2), accuracy=points(-3.0), equality=Equality.WORSE)
    assert answer(replace(found, rest=worse)).endswith(
        "What is left is faster without these, but less accurate: 1.202x (95 % interval 1.201 to 1.204): faster; "
        "accuracy is worse."
    )
    assert text.fate_sentences([found])[0].endswith(
        "channels_last, fused optimizer; a search without bf16 decides: name the others in `levers`."
    )


def test_what_fresh_blocks_did_not_show_is_not_said_to_lack_them():
    """In whole() there are 9 of them."""
    found = whole(kept=(), decisions=dict.fromkeys(SWITCHES, Decision.UNCONFIRMED))

    shown, without = text.fate_sentences([found])
    assert shown.endswith(
        "9 fresh blocks did not show it: more (raise `confirm_blocks`) may, or a machine with nothing beside it."
    )
    assert all(one.words in shown and one.words not in without for one in found.confirmation.on)
    assert "; the fresh blocks were without: " in without
    (fate,) = text.fate_sentences([replace(found, confirmation=None)])
    assert "fresh blocks decide: raise `confirm_blocks`" in fate


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision.OPEN, "undecided: the search did not get through 5 switches of 5; give it more time"),
        (Decision.UNCONFIRMED, "look promising, but the fresh blocks are missing; give it more time"),
        (Decision.UNDECIDED, "5 switches of 5 had time to be measured alone, and no more; give it more time"),
        (
            Decision.SLOWER_ALONE,
            "5 switches of 5 had time to be measured alone, and no more; give it more time",
        ),
        (Decision.NOT_FASTER, "leave it as it is: of 5 switches none was found to be worth it."),
    ],
)
def test_without_fresh_blocks_nothing_is_claimed(decision, words):
    assert words in answer(replace(nothing_yet(), decisions=dict.fromkeys(SWITCHES, decision)))


def test_what_has_no_program_beside_one_that_has_is_named():
    other = replace(nothing_yet(), start=replace(nothing_yet().start, framework="tensorflow"))
    assert without_code([whole(), other]) == [
        "No program for TensorFlow, cnn10: nothing was kept and confirmed."
    ]
    assert without_code([whole()]) == without_code([other]) == [], (
        "the page says then that there is nothing to paste"
    )


def test_more_time_is_three_times_what_the_search_had_in_a_command_to_paste():
    found = replace(nothing_yet(), decisions=dict.fromkeys(SWITCHES, Decision.OPEN))
    had = Coverage(session="s", study="switches", budget_s=190.0, spent_s=190.0, groups=())
    command = "give it more time (`make report NOTEBOOKS=switches BUDGET=10m`)"

    assert command in answer_sentences([found], had)[0]
    assert command in text.fate_sentences([found], had)[0]


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


def test_most_of_it_is_said_of_what_brings_half_of_it_or_more():
    """Of four that bring about as much each, none is most of it."""
    parts = (left_out(1.14, LAST), left_out(1.13, BF16), left_out(1.13, FUSED))

    said = answer(confirmed(left_out=parts))

    assert "The largest part of it is channels_last: without, a step takes 14 % longer." in said
    assert "Most of it" not in said


@pytest.mark.parametrize("changed", [{"total": speedup(1.005)}, {"left_out": (left_out(1.01, LAST),)}])
def test_nothing_is_most_of_a_gain_that_was_not_shown(changed):
    said = answer(confirmed(**changed))

    assert "Most of it" not in said and "The largest part" not in said


def test_only_what_was_measured_is_said_not_to_be_worth_it():
    decisions = dict.fromkeys((LAST, BF16, FUSED), Decision.NOT_FASTER)
    decisions |= {PAGES: Decision.NOT_IN_EFFECT, COMPILED: Decision.FAILED}

    assert answer(replace(nothing_yet(), decisions=decisions)) == (
        "PyTorch, cnn10: leave it as it is: of 3 switches that could be measured none was found to be worth it "
        "(asked for, not in effect: huge pages; not measured here: compiled)."
    )


def test_where_nothing_was_in_effect_nothing_is_said_of_what_it_is_worth():
    decisions = dict.fromkeys((LAST, BF16), Decision.NOT_IN_EFFECT)

    assert answer(replace(nothing_yet(), decisions=decisions)) == (
        "PyTorch, cnn10: undecided: of 2 switches none could be measured "
        "(asked for, not in effect: channels_last, bf16)."
    )


def test_what_a_script_has_and_is_faster_without_is_not_left_as_it_is():
    decisions = dict.fromkeys(SWITCHES, Decision.NOT_FASTER)
    for size, said in ((1.1, True), (1.0, False), (0.8, False)):
        slow = (feasible(LOOP, alone=speedup(size)),)
        sentence = answer(replace(nothing_yet(), decisions=decisions, slow_ways=slow))
        told = "Faster alone than what a plain script has, its accuracy not compared: optimizer in a loop (=): 1.102x"
        assert (told in sentence) is said
        assert ("leave it as it is" in sentence) is not said
