"""The lines that a program has beyond the plain one, as they are pasted into a script of the reader's own."""

import pytest

from program_text import trial_of, unknown_names
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.snippets.code import changed_lines

ENVIRONMENT = {
    "tensorflow": ("onednn", "off"),
    "torch": ("gpu_allocator", "expandable"),
    "jax": ("xla_fast_math", "on"),
}


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_a_line_of_which_the_comment_alone_is_another_one_is_none_to_paste(framework):
    """The head of a function without its body would be no Python."""
    lines = changed_lines(trial_of(framework, compile=True), trial_of(framework))

    assert any("compile" in line for line in lines)
    assert not any(line.startswith(("def order", "whole =")) for line in lines)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_variable_says_that_it_is_set_before_the_framework_is_imported(framework):
    """Below the imports of the reader's script it would do nothing, without a word."""
    plain = trial_of(framework)
    first, _, said, _, line = changed_lines(plain.pulled(*ENVIRONMENT[framework]), plain)

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


def test_a_loss_that_is_scaled_says_which_lines_go():
    """Beside it, the plain step would train a second time, with gradients that are not scaled back."""
    lines = changed_lines(trial_of(precision="fp16"), trial_of())

    at = lines.index("        # instead of:")
    assert lines[at + 1 : at + 4] == [
        "        #     loss = cross_entropy(model(x).float(), y)",
        "        #     loss.backward()",
        "        #     optimizer.step()",
    ]
    assert "        scaler.step(optimizer)" in lines[at:]


def test_a_line_that_is_to_go_is_named_where_nothing_takes_its_place():
    lines = changed_lines(trial_of(levers=["resident=off"]), trial_of())

    assert "# without: images, labels = images.to(device), labels.to(device)" in lines


def test_a_call_with_another_argument_is_no_second_call():
    plain = trial_of("tensorflow")
    lines = changed_lines(trial_of("tensorflow", compile=True), plain)

    assert lines[0] == "# instead of: model.compile(optimizer=optimizer, loss=loss, jit_compile=False)"
    assert lines[-1] == "model.compile(optimizer=optimizer, loss=loss, jit_compile=True)"


def test_functions_and_what_lies_apart_have_empty_lines_between():
    """What is the same in both programs is between them there, and not here."""
    threads = trial_of(pipeline="threads")
    lines = changed_lines(threads, trial_of(pipeline="generator"))

    assert lines[lines.index("def batches():  # threads make them, 10 ahead of the training") - 1] == ""
    assert "" not in (lines[0], lines[-1])


def test_what_did_not_change_has_no_lines():
    assert changed_lines(trial_of(), trial_of()) == []
