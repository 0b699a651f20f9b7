"""The lines that a program has beyond the plain one, as they are pasted into a script of the reader's own."""

import pytest

from program_text import trial_of, unknown_names
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.snippets.code import changed_lines

ENVIRONMENT = {"tensorflow": "onednn=off", "torch": "gpu_allocator=expandable", "jax": "xla_fast_math=on"}


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_a_line_of_which_the_comment_alone_is_another_one_is_none_to_paste(framework):
    """The head of a function without its body would be no Python."""
    lines = changed_lines(trial_of(framework, compile=True), trial_of(framework))

    assert any("compile" in line for line in lines)
    assert not any(line.startswith(("def order", "whole =")) for line in lines)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_variable_says_that_it_is_set_before_the_framework_is_imported(framework):
    """Below the imports of the reader's script it would do nothing, without a word."""
    first, said, _, line = changed_lines(
        trial_of(framework, levers=[ENVIRONMENT[framework]]), trial_of(framework)
    )

    assert first == "import os" and "imported: later it does nothing." in said
    assert line.startswith("os.environ[")


def test_lines_come_with_the_imports_that_they_need():
    plain = trial_of("jax", compile=True)
    lines = "\n".join(changed_lines(plain.pulled("scan_steps", "8"), plain))

    assert unknown_names(lines) <= {"model", "optimizer", "loss"}
    assert {"import itertools", "import jax"} <= {*lines.splitlines()}
    of_torch = changed_lines(trial_of(), trial_of(layout="channels_first"))
    assert "torch." in "\n".join(of_torch)
    assert "import torch" not in of_torch, "every script has it"
