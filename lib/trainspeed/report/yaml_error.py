"""What is wrong with a user's YAML, in one line and with its place."""

from __future__ import annotations

from pathlib import Path

import yaml

from trainspeed.core.errors import UserError

TAB = r"'\t' that cannot start any token"  # so PyYAML says it


def yaml_error(path: Path | str, problem: yaml.YAMLError | ValueError) -> UserError:
    """Return the error of a file, or of what else its name says, that cannot be read as YAML."""
    if not isinstance(problem, yaml.MarkedYAMLError):
        return UserError(f"{path} is not YAML: {str(problem).splitlines()[0]}")
    mark = problem.problem_mark or problem.context_mark
    why = problem.problem or problem.context
    if TAB in why:
        why = "it is indented with a tab: use spaces"
    return UserError(f"{path} line {mark.line + 1}, column {mark.column + 1}: {why}")
