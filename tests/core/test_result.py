import pytest

from trainspeed.core.result import EffectivePrecision, layouts_text, precision_text

FIRST, LAST = "channels_first", "channels_last"


@pytest.mark.parametrize(
    ("layouts", "text"),
    [
        (None, None),
        ({}, None),
        ({FIRST: 1}, FIRST),
        ({LAST: None}, LAST),
        ({LAST: 2, FIRST: 1}, "mixed: channels_first in 1, channels_last in 2 of 3 convolutions"),
        ({"f01b": 1, LAST: 1}, "mixed: channels_last in 1, XLA's order f01b in 1 of 2 convolutions"),
        ({"unknown": 3}, "unknown"),
    ],
)
def test_the_layouts_of_a_model_as_one_text(layouts, text):
    assert layouts_text(layouts) == text


@pytest.mark.parametrize(
    ("dtypes", "asked", "text"),
    [
        ({"float32": 9}, False, "float32"),
        ({"float32": 1, "bfloat16": 8}, False, "bfloat16 and float32"),
        ({"float16": None}, True, "float16 (asked)"),
    ],
)
def test_the_dtypes_of_a_model_as_one_text(dtypes, asked, text):
    assert precision_text(EffectivePrecision(dtypes=dtypes, asked=asked)) == text


def test_what_nobody_looked_at_has_no_words():
    assert precision_text(None) is None
