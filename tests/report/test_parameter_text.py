"""Values that go into a parameters cell, and come from what a person types."""

from __future__ import annotations

import pytest

from trainspeed.core.errors import UserError
from trainspeed.report.parameter_text import as_typed, literal, read_typed, with_values
from trainspeed.report.parameters import parse

CELL = """# What is compared – größer
frameworks: list = ["tensorflow", "torch"]  # frameworks; "jax" too
sizes: list[int] = [
    8,
    16,
]  # images
budget_s: float | None = 180.0  # seconds; None: no limit
name: str = "größe"  # ä = ö
on: bool = False"""
NEW = {"frameworks": ["jax"], "sizes": [32], "budget_s": None, "name": 'a "b"', "on": True}


def values_of(source):
    return {name: known.default for name, known in parse(source, "layout").items()}


def test_values_take_the_place_of_the_older_ones_and_nothing_else_changes():
    changed = with_values(CELL, NEW)

    assert values_of(changed) == NEW
    assert changed.splitlines() == [
        "# What is compared – größer",
        'frameworks: list = ["jax"]  # frameworks; "jax" too',
        "sizes: list[int] = [32]  # images",
        "budget_s: float | None = None  # seconds; None: no limit",
        'name: str = "a \\"b\\""  # ä = ö',
        "on: bool = True",
    ]


def test_values_that_are_there_already_leave_the_text_as_it_is():
    assert with_values(CELL, values_of(CELL)) == CELL


@pytest.mark.parametrize("value", [[], [1, None, 2.5], ["a b", 'c"'], 0.1, 1e-7, True, None, "ß"])
def test_a_value_as_python_is_the_value(value):
    assert eval(literal(value)) == value


@pytest.mark.parametrize(
    "source", [CELL, with_values(CELL, NEW), "x: list = [1, None]\ny: list = []\nz: list = ['a, b', 'on']"]
)
def test_what_is_shown_to_be_typed_is_read_as_the_same_value(source):
    for parameter in parse(source, "layout").values():
        assert read_typed(parameter, as_typed(parameter, parameter.default)) == parameter.default


def test_a_list_is_typed_without_its_brackets():
    known = parse(CELL, "layout")
    assert as_typed(known["sizes"], [8, 16]) == "8, 16"
    assert as_typed(known["frameworks"], ["tensorflow eager", "jax"]) == "tensorflow eager, jax"
    assert read_typed(known["sizes"], "  ") == []


def test_what_cannot_be_read_is_one_line():
    known = parse(CELL, "layout")
    with pytest.raises(UserError, match=r"^sizes: '8, \[' cannot be read as a list$"):
        read_typed(known["sizes"], "8, [")
