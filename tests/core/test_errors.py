"""A UserError makes its sentence once, under the names that its reader knows."""

import pickle

import pytest

from trainspeed.core.errors import (
    NAME_FORM,
    UserError,
    check_name,
    check_seconds,
    check_shared,
    check_some,
    check_whole,
    suggest,
)


def raised(check, *arguments, **options):
    with pytest.raises(UserError) as caught:
        check(*arguments, **options)
    return caught.value


def test_a_wrong_value_is_its_field_the_value_and_the_rule():
    error = UserError("queue", 0, "must be at least 1.")

    assert str(error) == "queue (=0) must be at least 1."
    assert str(UserError("model", "x", "has no weights.", form=NAME_FORM)) == "model 'x' has no weights."


def test_what_is_wrong_with_no_value_is_a_sentence():
    error = UserError("no notebooks in nb/{x}")

    assert str(error) == "no notebooks in nb/{x}"
    assert str(error.named({"no": "yes"})) == str(error)


def test_a_notebook_names_every_field_of_a_sentence_as_its_parameter():
    error = raised(check_shared, "batch_size", 9, 2)
    named = error.named({"batch_size": "pipeline_batch_size", "devices": "pipeline_devices"})

    assert str(error) == "batch_size (=9) must be divisible by devices (=2): try 8 or 10."
    assert str(named) == "pipeline_batch_size (=9) must be divisible by pipeline_devices (=2): try 8 or 10."


def test_braces_that_a_user_typed_stay_as_they_are():
    error = raised(check_name, "model", "{devices}", ["cnn"]).named({"devices": "gpus"})

    assert str(error) == "unknown model '{devices}'. Known: cnn."


def test_an_unknown_name_comes_with_the_nearest_known_one():
    assert (
        suggest("lay", ["layout", "amp"], "and yours")
        == ": did you mean 'layout'? Known: layout, amp, and yours."
    )
    assert suggest("lay", []) == ". There are none."


def test_an_empty_list_and_a_number_out_of_range_are_refused():
    assert (
        str(raised(check_some, "libraries", [], "name at least one."))
        == "libraries is an empty list: name at least one."
    )
    for value in (0, 4, 2.0, True, None):
        error = raised(check_whole, "fold", value, 1, "one of 3", most=3)
        assert str(error) == f"fold (={value!r}) must be a whole number from 1 to 3: one of 3."


@pytest.mark.parametrize("value", ["3m", None, [180], True, float("inf"), float("nan"), 0, -1.0])
def test_seconds_are_a_finite_number_above_0(value):
    error = raised(check_seconds, "timeout_s", value)

    rule = "positive seconds" if value in (0, -1.0) else "a number of seconds, as in 180"
    assert str(error) == f"timeout_s (={value!r}) must be {rule}."


def test_a_time_that_may_be_none_says_what_that_stands_for():
    check_seconds("budget_s", None, or_none=True)
    check_seconds("interval_s", 0.5, least=0.01)

    error = raised(check_seconds, "budget_s", "3m", or_none=True)
    assert str(error).endswith("must be a number of seconds, as in 180, or None without a limit.")
    error = raised(check_seconds, "interval_s", 0.005, least=0.01)
    assert str(error).endswith("must be positive seconds, 0.01 or more.")


def test_an_error_can_cross_processes():
    assert str(pickle.loads(pickle.dumps(UserError("queue", 0, "must be 1.")))) == "queue (=0) must be 1."
