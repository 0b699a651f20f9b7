"""Values of a parameters cell that are of another type than its annotations say, as a reader may type them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from trainspeed.conduct.plan import Plan, planner
from trainspeed.core.errors import UserError


@pytest.mark.parametrize("blocks", [None, "x", -1, 1.5])
def test_accuracy_blocks_are_a_whole_number(blocks):
    with pytest.raises(UserError, match=r"^accuracy_blocks \(=.*\) must be a whole number of at least 0"):
        Plan(accuracy_blocks=blocks)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("bf16", "precisions (='bf16') must be a list: write ['bf16']."),
        (8, "precisions (=8) must be a list: write [8]."),
        (None, "precisions (=None) must be a list: write []."),
        (np.array([4, 8]), "precisions must be a list, not of type ndarray: write its elements in brackets"),
        ({"bf16"}, "precisions must be a list, not of type set: write its elements in brackets"),
    ],
)
def test_a_parameter_that_is_to_be_a_list_is_one(value, message):
    """A text was taken for its letters: unknown precision 'b'."""

    @planner
    def plan(*, precisions: Sequence[str], usd_per_hour: float | None = None) -> Plan:
        return Plan()

    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        plan(precisions=value)
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        plan(precisions=["bf16"]).change(precisions=value)
    assert plan(precisions=("bf16",)) == Plan()
