"""Values of a parameters cell that are of another type than its annotations say, as a reader may type them."""

from __future__ import annotations

import pytest

from trainspeed.conduct.plan import Plan
from trainspeed.core.errors import UserError


@pytest.mark.parametrize("blocks", [None, "x", -1, 1.5])
def test_accuracy_blocks_are_a_whole_number(blocks):
    with pytest.raises(UserError, match=r"^accuracy_blocks \(=.*\) must be a whole number of at least 0"):
        Plan(accuracy_blocks=blocks)
