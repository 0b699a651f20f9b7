"""The exceptions that a notebook or a command raises on purpose. Knows nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

VALUE = "{field} (={value!r}) {rule}"
NAME = "{field} {value!r} {rule}"
UNKNOWN = "unknown {field} {value!r}{rule}"
EMPTY = "{field} is an empty list: {rule}"


class UserError(ValueError):
    """Wrong input, in one line: what is wrong, the value, and what to do.

    `UserError(field, value, rule)` puts the sentence together where a value is wrong; `UserError(sentence)` takes
    it as it is where something else is wrong, such as a folder. The command line prints it without a traceback
    and exits with code 2.

    Attributes:
        field: Name of the value as its reader knows it; None where no value is wrong.
        value: The wrong value.
        rule: What must hold and what to do, as it stands in the sentence; None where no value is wrong.
    """

    def __init__(
        self,
        wrong: str,
        value: object = None,
        rule: str | None = None,
        *,
        form: str = VALUE,
        names: Mapping[str, str] = MappingProxyType({}),
        **others: object,
    ) -> None:
        """Make the sentence.

        Args:
            form: How field, value and rule are put together.
            names: Field -> the name that its reader knows, where that is another one.
            others: Values of other fields, which the rule refers to as "{field}".
        """
        self._parts, self._form, self._others = (wrong, value, rule), form, others
        self.field = None if rule is None else names.get(wrong, wrong)
        self.value, self.rule = value, rule
        if rule is None:
            super().__init__(wrong)
            return
        for name, other in others.items():
            self.rule = self.rule.replace(f"{{{name}}}", f"{names.get(name, name)} (={other!r})")
        super().__init__(form.format(field=self.field, value=value, rule=self.rule))

    def named(self, names: Mapping[str, str]) -> UserError:
        """Return the error under the names of a notebook's parameters: field -> parameter."""
        return UserError(*self._parts, form=self._form, names=names, **self._others)


class PlanOnly(Exception):
    """Ends a notebook whose plan has been printed: nothing is measured and nothing is wrong."""
