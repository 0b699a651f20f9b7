"""The bits that survive: a made-up device that rounds as told, and each switch that does not do what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trainspeed.core.probe import Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_arithmetic
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.probes import arithmetic
from trainspeed.worker.probes.arithmetic import Arithmetic, measure_arithmetic
from trainspeed.worker.rounding import KERNEL_PX, kept_bits

BITS = {"fp32": 23, "tf32": 10, "bf16": 7}
OK, NOT_OK = CheckOutcome.OK, CheckOutcome.NOT_OK
UNDECIDED, NOT_APPLICABLE = CheckOutcome.UNDECIDED, CheckOutcome.NOT_APPLICABLE


def rounded(numbers, bits):
    """Return numbers between 1 and 2, or 0, rounded to so many bits of the fraction."""
    return (np.round(numbers.astype(np.float64) * 2**bits) / 2**bits).astype(np.float32)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let numpy multiply no larger matrices than a CPU is asked for."""
    monkeypatch.setattr(arithmetic, "SIDES", dict.fromkeys((True, False), 64))
    monkeypatch.setattr(arithmetic, "IMAGES", dict.fromkeys((True, False), 1))


class Device:
    """A GPU whose switch chooses in what it multiplies; by default TF32 in convolutions alone, as torch does."""

    def __init__(self, *, off="fp32", on="tf32") -> None:
        self.off, self.on = off, on
        self.products, self.convolutions = "fp32", "tf32"

    def switch(self, allowed):
        if allowed is not None:
            self.products = self.convolutions = self.on if allowed else self.off

    def product(self, a, b):
        self.ran = self.products
        return rounded(a, BITS[self.products]) @ b

    def convolution(self, images, filters):
        assert filters.shape[:2] == (KERNEL_PX, KERNEL_PX)
        self.ran = self.convolutions
        return rounded(images, BITS[self.convolutions]) @ filters.sum(axis=(0, 1))  # all but the middle is 0

    def arithmetic(self, **changes):
        device = Arithmetic(
            switch=self.switch, product=self.product, convolution=self.convolution, tf32_possible=True
        )
        return replace(device, **changes)


def checked(device):
    """Return the outcome of both checks on what was measured."""
    trial = Probe(framework="torch", name="arithmetic")
    values = measure_arithmetic(device)
    runs = RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
    return tuple(
        make(runs)[0].outcome for make in (check_arithmetic.strict_is_strict, check_arithmetic.tf32_is_tf32)
    )


def test_switches_that_do_what_they_say_are_right_and_the_default_is_told():
    values = measure_arithmetic(Device().arithmetic())
    assert (values["product_bits_default"], values["convolution_bits_default"]) == (23, 10)
    assert checked(Device().arithmetic()) == (OK, OK)


@pytest.mark.parametrize(
    ("fault", "outcomes"),
    [({"off": "tf32"}, (NOT_OK, OK)), ({"on": "fp32"}, (OK, UNDECIDED)), ({"on": "bf16"}, (OK, NOT_OK))],
    ids=["strict rounds", "tf32 is not used", "tf32 rounds more"],
)
def test_a_switch_that_does_something_else_is_found(fault, outcomes):
    assert checked(Device(**fault).arithmetic()) == outcomes


def test_a_convolution_that_goes_on_rounding_is_found():
    device = Device()
    changed = device.arithmetic(convolution=lambda x, w: rounded(x, BITS["tf32"]) @ w.sum(axis=(0, 1)))
    assert checked(changed) == (NOT_OK, OK)


def test_a_device_without_tf32_is_never_asked_for_it():
    asked = []
    old = Device().arithmetic(switch=asked.append, tf32_possible=False)
    assert checked(old)[1] is NOT_APPLICABLE and asked == [None, False]


@pytest.mark.parametrize("bits", [7, 10, 17, 23])
def test_bits_are_counted_whatever_rounds(bits):
    numbers = np.broadcast_to(1 + 2.0 ** -(1 + np.arange(46) % 23), (2, 46))
    assert kept_bits(rounded(numbers, bits)) == bits
    truncated = np.floor(numbers * 2**bits) / 2**bits
    assert kept_bits(truncated) == bits


def test_the_kernels_that_computed_are_told_beside_the_bits_where_they_are_known():
    """Their names say more than the bits: which library, and which unit of the GPU."""
    device = Device()

    def kernels(compute):
        device.ran = None
        compute()
        return [f"void cutlass::kernel_{device.ran}<256, 128>(int)", "splitk"]

    values = measure_arithmetic(device.arithmetic(kernels=kernels))
    trial = Probe(framework="torch", name="arithmetic")
    runs = RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
    strict, tf32 = (
        make(runs)[0].measured for make in (check_arithmetic.strict_is_strict, check_arithmetic.tf32_is_tf32)
    )

    assert values["product_kernels_tf32"] == "void cutlass::kernel_tf32<256, 128>(int), splitk"
    assert strict == (
        "23 bits in products, 23 in convolutions (by cutlass::kernel_fp32 and cutlass::kernel_fp32); 23 bits in "
        "products, 10 in convolutions (by cutlass::kernel_fp32 and cutlass::kernel_tf32) by the framework's default"
    )
    assert tf32.endswith("(by cutlass::kernel_tf32 and cutlass::kernel_tf32)")
    assert measure_arithmetic(Device().arithmetic())["product_kernels_tf32"] is None


def strict_of(values):
    """Return what the line of strict fp32 says was measured."""
    trial = Probe(framework="jax", name="arithmetic")
    run = Run(session="s", study="check", trial=trial, block=0, probe=values)
    return check_arithmetic.strict_is_strict(RunSet((run,)))[0].measured


def test_a_default_that_is_strict_is_said_in_a_word():
    values = measure_arithmetic(Device().arithmetic(tf32_possible=False))
    alike = {name.replace("fp32", "default"): value for name, value in values.items() if "fp32" in name}

    assert "convolutions; the same by the framework's default" in strict_of(values | alike)


def fails(compute):
    raise RuntimeError("CUPTI is busy")


@pytest.mark.parametrize(
    ("kernels", "why", "words"),
    [
        (None, "on_cpu", "not applicable on a CPU"),
        (lambda compute: [], "nothing_seen", "not known, the profiler saw none of it"),
        (fails, "RuntimeError", "not known, the profiler ended with RuntimeError"),
    ],
)
def test_where_no_kernel_is_known_the_line_says_why_and_the_bits_stay(kernels, why, words):
    values = measure_arithmetic(Device().arithmetic(kernels=kernels))

    assert (values["kernels_unknown"], values["product_kernels_fp32"]) == (why, None)
    assert strict_of(values).endswith(f"; the names of kernels: {words}")
    assert (values["product_bits_fp32"], values["product_bits_tf32"]) == (23, 10)


def test_the_name_of_a_fusion_is_said_not_to_tell_the_unit():
    told = [
        strict_of(measure_arithmetic(Device().arithmetic(kernels=lambda _, name=name: [name])))
        for name in ("gemm_fusion_dot_1", "sm80_xmma_gemm_f32f32")
    ]

    assert told[0].count("does not tell which unit computed") == 2
    assert "does not tell" not in told[1] and "the names of kernels" not in told[1]
