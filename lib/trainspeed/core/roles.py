"""What a run is for, beside its trial: the labels of runs. Knows no run."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a run is for; the value is its label in the ledger.

    Of a step of the recipe the label goes on with the factor that the step switches: "recipe: devices".
    """

    DATA = ""
    CONTROL = "A"  # the first half of an A/A control: data of its trial, too
    CONTROL_AGAIN = "A again"
    ALLOCATION = "default allocation"  # shows how much memory a framework takes when left alone
    BISECTED = "bisected"  # at a size that depends on what was found
    CONFIRMATION = "confirmation"
    RECIPE_STEP = "recipe: "
    RECIPE = "recipe"  # all switches together, in fresh blocks

    @classmethod
    def of(cls, label: str) -> Role:
        """Return the role of a label; a label that means nothing here is read as a recipe's step."""
        return cls(label) if label in cls._value2member_map_ else cls.RECIPE_STEP


DATA_ROLES = frozenset(
    {Role.DATA, Role.CONTROL, Role.BISECTED}
)  # what verdicts, tables and charts are made of
