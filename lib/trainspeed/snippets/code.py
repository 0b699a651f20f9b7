"""The code to paste: what was measured, as a program or as the lines that switch it on, in current APIs.

Makes text from `templates` and knows no framework. The first comment of a program asks the reader for `make_model`,
`images` and `labels`; the program runs with and without GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from trainspeed.core.files import slug
from trainspeed.core.format import DEFAULT_PRECISION, NAMES
from trainspeed.core.levers.registry import is_switched
from trainspeed.core.markdown import escape, visible
from trainspeed.core.trial import KERAS_POLICIES, STRICT, Trial
from trainspeed.snippets.changes import changed
from trainspeed.snippets.keras_lines import JAX, TENSORFLOW
from trainspeed.snippets.lever_lines import LeverLines
from trainspeed.snippets.optimizer_lines import optimizer_of
from trainspeed.snippets.torch_lines import TORCH

PASTED = {"torch": TORCH, "tensorflow": TENSORFLOW, "jax": JAX}
KERAS = {"tensorflow": "Keras on TensorFlow", "jax": "Keras on JAX"}
NOTHING_SAID: Mapping[Trial, Collection[str]] = {}
TORCH_DTYPES = {"fp16": "float16", "bf16": "bfloat16"}


@cache
def _templates() -> Environment:
    loader = PackageLoader("trainspeed.snippets")
    templates = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    templates.globals |= {
        "keras_policies": KERAS_POLICIES,
        "torch_dtypes": TORCH_DTYPES,
        "optimizer_of": optimizer_of,
    }
    return templates


def lines(setting: str, **values: Any) -> str:
    """Return the lines that switch a setting on.

    Args:
        setting: Name of a template: layout, strategy, precision or convolution.
        values: What the template needs: framework and layout or precision; the trial whose strategy is pasted;
            library, mode and on_gpu.
    Raises:
        LookupError: The template has no lines for these values.
        jinja2.TemplateError: There is no such template, or a value that it needs is missing.
    """
    text = _templates().get_template(f"{setting}.py.j2").render(values).rstrip("\n")
    if not text:
        wanted = ", ".join(f"{name}={value}" for name, value in values.items())
        raise LookupError(f"{setting}.py.j2 has no lines for {wanted}.")
    return text


def program_of(
    trial: Trial,
    plain: Trial | None = None,
    confirmed: Collection[str] | None = None,
    *,
    on_cores: bool = False,
) -> str:
    """Return a Python program that trains as the trial does.

    Args:
        plain: What the trial's settings were switched on from: what was switched has a comment that says what it does
            to the numbers. Levers that it had too are left out, as a plain script has them;
            and so is strict fp32: a line that forbids TF32 would make the reader's script slower than it is.
        confirmed: As of `LeverLines`.
        on_cores: Whether a device was a CPU core: a comment says so where a script takes all of them.
    Raises:
        LookupError: A lever of the trial has no lines.
    """
    strict = plain is not None and trial.precision == plain.precision == STRICT
    template = "torch" if trial.framework == "torch" else "keras"
    levers = LeverLines(trial, PASTED[trial.framework], plain, confirmed)
    precision = DEFAULT_PRECISION if strict else trial.precision
    comment = levers.comment("precision", precision)
    one_core = on_cores and trial.cores == 1 and levers.value("threads") is None
    shown = {"precision": precision, "precision_comment": comment, "one_core": one_core}
    return lines(template, trial=trial, levers=levers, **shown)


def changed_lines(trial: Trial, plain: Trial, confirmed: Collection[str] | None = None) -> list[str]:
    """Return the lines of a trial's program that the plain one's has not: see `changes.changed`.

    Raises:
        LookupError: A lever of the trial has no lines.
    """
    return changed(*(program_of(one, plain, confirmed) for one in (plain, trial)))


def program_blocks(
    recipes: Iterable[Sequence[Trial]],
    confirmed: Mapping[Trial, Collection[str]] = NOTHING_SAID,
    *,
    on_cores: bool = False,
) -> list[str]:
    """Return Markdown with a program for each recipe, in their order, each below a heading of its own.

    Args:
        recipes: The plain trial of each, then what it became with every switch, the last one with all.
        confirmed: The last trial of a recipe -> levers as of `LeverLines`; of others nothing is said.
        on_cores: As of `program_of`.
    """
    return [
        block(
            f"### {escape(_heading(trial))}",
            program_of(trial, plain, confirmed.get(trial), on_cores=on_cores),
        )
        for plain, *_, trial in recipes
    ]


def program_anchor(trial: Trial) -> str:
    """Return the id that a page gives to the heading of a trial's program, as `program_blocks` writes it.

    Of two programs of one framework and model it is the first one's: see `report.anchors.name_headings`.
    """
    return slug(visible(_heading(trial)))


def _heading(trial: Trial) -> str:
    return f"{(NAMES | KERAS)[trial.framework]} ({trial.model})"


def introduction(recipes: Iterable[Sequence[Trial]]) -> str:
    """Return the sentence above the programs of `program_blocks`: of comments only where something was switched."""
    switched = any(is_switched(plain, trial) for plain, *_, trial in recipes)
    comments = "; a comment says what each switch does to the numbers" if switched else ""
    return f"A program with what the headline names{comments}."


def block(heading: str, code: str) -> str:
    """Return code below its heading, as Markdown.

    Args:
        heading: Markdown, with what is of a ledger in it escaped.
    """
    return f"{heading}\n\n```python\n{code}\n```"


def faster_block(
    framework: str, name: str, gains: Sequence[tuple[str, float]], code: str, *, not_for: str = ""
) -> str:
    """Return the lines of a setting as Markdown, below how many times as fast it was and where.

    Args:
        gains: (what was measured, speed-up) of each comparison that found the setting faster.
        not_for: Where it is not worth it.
    """
    but = f"; {escape(not_for)}" if not_for else ""
    return block(f"**{NAMES[framework]}**, {name} ({escape(gains_text(gains))}){but}", code)


def gains_text(gains: Iterable[tuple[str, float]]) -> str:
    """Return (what was measured, speed-up) of several comparisons in words."""
    return "; ".join(f"{label}: {gain:.2f}x" for label, gain in gains)
