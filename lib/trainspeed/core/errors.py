"""What a notebook or a command may raise on purpose. Knows nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

VALUE = "{field} (={value!r}) {rule}"
NAME = "{field} {value!r} {rule}"
UNKNOWN = "unknown {field} {value!r}{rule}"
EMPTY = "{field} is an empty list: {rule}"


class UserError(ValueError):
    """Wrong input, in one line: what is wrong, the value, and what to do.

    `UserError(field, value, rule)` where a value is wrong: the sentence is made here. `UserError(sentence)`
    where it is something else, such as a folder. The command line prints it without a traceback and exits
    with code 2.

    Attributes:
        field: Name of the value, as its reader knows it; None where no value is wrong.
        value: What was given.
        rule: What must hold and what to do, as the sentence has it; None where no value is wrong.
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
            form: How it is put together.
            names: Field -> what its reader calls it, where that is another name.
            others: Values of other fields, of which the rule speaks as "{field}".
        """
        self._made_of, self._form, self._others = (wrong, value, rule), form, others
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
        return UserError(*self._made_of, form=self._form, names=names, **self._others)


class PlanOnly(Exception):
    """Ends a notebook whose plan has been printed: nothing is measured and nothing is wrong."""
