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


@pytest.mark.parametrize(
    ("dtype", "tf32", "text"),
    [
        ("float32", (), "float32"),  # strict, or a device without TF32
        ("float32", None, "float32"),
        ("float32", ("convolutions",), "float32, TF32 allowed in convolutions"),
        ("float32", ("convolutions", "matrix products"), "float32, TF32 allowed"),
        ("bfloat16", ("convolutions",), "bfloat16"),  # what is left in 32 bits is no convolution
    ],
)
def test_32_bits_that_may_be_rounded_to_tf32_are_told(dtype, tf32, text):
    assert precision_text(EffectivePrecision(dtypes={dtype: 9}), tf32) == text
