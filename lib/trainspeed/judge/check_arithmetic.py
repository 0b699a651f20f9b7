"""Checks of the arithmetic: is strict fp32 strict, and TF32 TF32?"""

from __future__ import annotations

import re

from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, not_profiled, of_probe

STRICT_BITS = 18  # at least: fast convolutions (Winograd, Fourier) round the last few of 23
TF32_BITS = 10
PROBE = "arithmetic"
MAX_LETTERS = 60  # of a kernel's name
FUSION = "; XLA's own, whose name is that of a fusion and does not tell which unit computed"


def strict_is_strict(runs: RunSet) -> list[Check]:
    """Return whether products and convolutions keep 32 bits where strict fp32 is asked for."""
    expected = f"at least {STRICT_BITS} of 23 bits in both"
    return of_probe(runs, PROBE, name="Strict fp32 is strict", expected=expected, find=_strict)


def _strict(values: Values) -> Finding:
    strict, default = (f"{_bits(values, each)}{_kernels(values, each)}" for each in ("fp32", "default"))
    measured = f"{strict}; {'the same' if default == strict else default} by the framework's default"
    if unknown := values.get("kernels_unknown"):  # older runs do not tell
        measured += f"; the names of kernels: {not_profiled(unknown)}"
    if min(_pair(values, "fp32")) >= STRICT_BITS:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = "numbers are rounded where strict fp32 was asked for: what is called fp32 is not"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def tf32_is_tf32(runs: RunSet) -> list[Check]:
    """Return whether products and convolutions round to TF32 where that is asked for."""
    expected = f"{TF32_BITS} of 23 bits in both"
    return of_probe(runs, PROBE, name="TF32 is TF32", expected=expected, find=_tf32)


def _tf32(values: Values) -> Finding:
    if not values["tf32_possible"]:
        reason = "this device has no TF32"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    measured = _bits(values, "tf32") + _kernels(values, "tf32")
    if set(_pair(values, "tf32")) == {TF32_BITS}:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    if min(_pair(values, "tf32")) >= TF32_BITS:  # it is a permission: a library may find another way faster
        reason = "the library chose to round to no TF32 for this size, though it may"
        return Finding(measured=measured, outcome=CheckOutcome.UNDECIDED, reason=reason)
    reason = "numbers are rounded more than TF32 rounds them: what is called tf32 is not"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def _pair(values: Values, switch: str) -> tuple[int, int]:
    return values[f"product_bits_{switch}"], values[f"convolution_bits_{switch}"]


def _bits(values: Values, switch: str) -> str:
    product, convolution = _pair(values, switch)
    return f"{product:.0f} bits in products, {convolution:.0f} in convolutions"


def _kernels(values: Values, switch: str) -> str:
    """Return the names of what computed, shortened, in brackets; nothing where they are not known, as in older runs."""
    names = [values.get(f"{kind}_kernels_{switch}") for kind in ("product", "convolution")]
    if not all(names):
        return ""
    of_xla = FUSION if any("fusion" in _short(name) for name in names) else ""
    return f" (by {' and '.join(_short(name) for name in names)}{of_xla})"


def _short(kernels: str) -> str:
    """Return the kernel that took most of the time, without the arguments of its template."""
    name = re.split(r"[<(,]", kernels.removeprefix("void "), maxsplit=1)[0]
    return name if len(name) <= MAX_LETTERS else f"{name[:MAX_LETTERS]}…"
