"""The exceptions that a notebook or a command raises on purpose. Knows nothing else."""

from __future__ import annotations

from collections.abc import Mapping

# How field, value and rule are put together.
VALUE_FORM = "{field} (={value!r}) {rule}"
NAME_FORM = "{field} {value!r} {rule}"
UNKNOWN_FORM = "unknown {field} {value!r}{rule}"
EMPTY_FORM = "{field} is an empty list: {rule}"


class UserError(ValueError):
    """Wrong input, in one line: what is wrong, the value, and what to do.

    The command line prints it without a traceback and exits with code 2.
    """

    def __init__(
        self,
        wrong: str,
        value: object = None,
        rule: str | None = None,
        *,
        form: str = VALUE_FORM,
        **others: object,
    ) -> None:
        """Make the sentence.

        Args:
            wrong: The field whose value is wrong; without a rule, the whole sentence: something else is wrong,
                such as a folder.
            rule: What must hold, and what to do.
            form: How field, value and rule are put together.
            others: Values of other fields, which the rule refers to as "{field}".
        """
        self._parts = wrong, value, rule, form, others
        super().__init__(self._sentence({}))

    def named(self, names: Mapping[str, str]) -> UserError:
        """Return the error under the names of a notebook's parameters: field -> parameter."""
        return UserError(self._sentence(names))

    def _sentence(self, names: Mapping[str, str]) -> str:
        wrong, value, rule, form, others = self._parts
        if rule is None:
            return wrong
        for name, other in others.items():
            rule = rule.replace(f"{{{name}}}", f"{names.get(name, name)} (={other!r})")
        return form.format(field=names.get(wrong, wrong), value=value, rule=rule)


class PlanOnly(Exception):
    """Ends a notebook whose plan has been printed: nothing is measured and nothing is wrong."""
