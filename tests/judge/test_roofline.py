"""The roofline on made-up ceilings, with answers worked out by hand."""

from dataclasses import replace

import pytest

from trainspeed.judge.roofline import (
    Ceiling,
    Work,
    at_best_gain,
    attainable_flop_per_s,
    best_step_s,
    ceiling_sentence,
    gain_sentence,
    matrix_gain,
    memory_gain,
    mfu,
)
from trainspeed.judge.verdict import Judgement, Outcome

FP32 = Ceiling(
    precision="fp32", matmul_flop_per_s=200e9, conv_flop_per_s=180e9, bandwidth_bytes_per_s=20e9
)  # the ridge is at 10 FLOP per byte
BF16 = Ceiling(precision="bf16", matmul_flop_per_s=800e9, conv_flop_per_s=540e9, bandwidth_bytes_per_s=20e9)
TF32 = replace(BF16, precision="tf32")
NOTHING = Ceiling(precision="bf16")
WORK = Work(flops=400e9, bytes=20e9)  # 20 FLOP per byte: 2 s of fp32 arithmetic, 1 s of fp32 traffic


def judged(speedup, low=None, high=None):
    blocks = 6 if low else 1
    outcome = Outcome.UNDECIDED  # no sentence is about the outcome
    return Judgement(speedup=speedup, low=low, high=high, confidence=0.95, blocks=blocks, outcome=outcome)


def sentence(*interval, **changes):
    """Return the gain of bf16 for 71 % of matrix work, measured as 1.5x, with these arguments changed."""
    usual = {"framework": "torch", "model": "resnet50", "work": WORK, "base": FP32, "candidate": BF16}
    measured = {"judgement": judged(*interval or (1.5, 1.4, 1.6)), "matrix_share": 0.71}
    return gain_sentence(**usual | measured | changes)


class TestCeiling:
    def test_the_peak_is_the_larger_of_product_and_convolution(self):
        assert FP32.peak_flop_per_s == 200e9
        assert replace(FP32, matmul_flop_per_s=None).peak_flop_per_s == 180e9
        assert NOTHING.peak_flop_per_s is None


class TestWork:
    def test_16_bits_move_half_the_bytes_and_tf32_moves_all(self):
        assert [WORK.bytes_in(p) for p in ("fp32", "tf32", "fp16", "bf16")] == [20e9, 20e9, 10e9, 10e9]
        assert (WORK.intensity(), WORK.intensity("fp16")) == (20, 40)

    def test_what_is_unknown_has_no_intensity(self):
        assert Work(flops=1.0).intensity() is None
        assert Work(bytes=1.0).intensity() is None


class TestRoof:
    @pytest.mark.parametrize(("intensity", "speed"), [(1, 20e9), (10, 200e9), (100, 200e9)])
    def test_slopes_with_the_bandwidth_and_ends_at_the_peak(self, intensity, speed):
        assert attainable_flop_per_s(intensity, FP32) == speed

    def test_is_not_known_without_its_parts(self):
        assert attainable_flop_per_s(10, NOTHING) is None
        assert attainable_flop_per_s(10, replace(FP32, bandwidth_bytes_per_s=None)) is None
        assert attainable_flop_per_s(None, FP32) is None

    def test_the_shortest_step_is_the_longer_of_arithmetic_and_traffic(self):
        """fp32: 2 s against 1 s. bf16: 0.5 s against 0.5 s; with twice the traffic 1 s."""
        assert best_step_s(WORK, FP32) == 2.0
        assert best_step_s(WORK, BF16) == 0.5
        assert best_step_s(Work(flops=400e9, bytes=40e9), BF16) == 1.0

    def test_mfu_is_the_share_of_the_measured_peak(self):
        """400 GFLOP in 4 s are half of 200 GFLOP/s."""
        assert mfu(WORK, 4.0, FP32) == 0.5
        assert (mfu(WORK, 4.0, NOTHING), mfu(WORK, 4.0, None), mfu(WORK, None, FP32)) == (None, None, None)


class TestGain:
    def test_of_products_is_the_ratio_of_the_peaks(self):
        assert matrix_gain(FP32, BF16) == 4.0

    def test_a_product_is_never_compared_with_a_convolution(self):
        """Only convolutions were measured in both: 540 to 180."""
        assert matrix_gain(replace(FP32, matmul_flop_per_s=None), BF16) == 3.0
        assert matrix_gain(replace(FP32, matmul_flop_per_s=None), replace(BF16, conv_flop_per_s=None)) is None

    def test_of_memory_is_that_of_the_bytes(self):
        assert (memory_gain(FP32, BF16), memory_gain(FP32, TF32), memory_gain(BF16, BF16)) == (2, 1, 1)

    @pytest.mark.parametrize(
        ("work", "candidate", "gain"),
        [
            (WORK, BF16, 4.0),  # 2 s to 0.5 s
            (WORK, TF32, 2.0),  # traffic of 1 s stays: 2 s to 1 s
            (Work(flops=400e9, bytes=40e9), BF16, 2.0),  # 2 s to 1 s of traffic
            (Work(flops=1e9, bytes=40e9), BF16, 2.0),  # memory alone: the bytes are halved
            (Work(flops=1e9, bytes=40e9), TF32, 1.0),
        ],
    )
    def test_by_the_roofline(self, work, candidate, gain):
        assert at_best_gain(work, FP32, candidate) == gain

    @pytest.mark.parametrize(
        ("share", "candidate", "gain"),
        [
            (1.0, BF16, 4.0),
            (0.0, BF16, 2.0),
            (0.0, TF32, 1.0),
            (0.5, BF16, 1 / (0.125 + 0.25)),
            (0.5, TF32, 1 / (0.125 + 0.5)),
        ],
    )
    def test_by_amdahl_where_the_share_of_matrix_work_is_known(self, share, candidate, gain):
        assert at_best_gain(WORK, FP32, candidate, share) == pytest.approx(gain)

    def test_amdahl_needs_neither_the_work_nor_the_bandwidth(self):
        base, candidate = (replace(c, bandwidth_bytes_per_s=None) for c in (FP32, BF16))
        assert at_best_gain(Work(), base, candidate, 1.0) == 4.0
        assert at_best_gain(Work(), base, candidate) is None

    @pytest.mark.parametrize("share", [None, 0.5])
    def test_is_none_without_a_ceiling_never_0(self, share):
        assert at_best_gain(WORK, FP32, NOTHING, share) is None
        assert at_best_gain(WORK, replace(NOTHING, precision="fp32"), BF16, share) is None


class TestGainSentence:
    def test_says_what_could_be_gained_why_and_what_was(self):
        """1 / (0.71 / 4 + 0.29 / 2) = 3.10; of its 2.10, 0.50 are 24 %."""
        assert sentence() == (
            "PyTorch, resnet50, bf16 vs fp32: at best 3.10x could be gained (matrix work is 4.00x as fast here and "
            "71 % of the device's time in fp32; the rest moves half the bytes), 1.50x (1.40 to 1.60) was: 24 % of "
            "the way from 1x."
        )

    def test_without_a_profile_the_roofline_gives_the_reason(self):
        assert sentence(matrix_share=None, work=Work(flops=400e9, bytes=40e9)) == (
            "PyTorch, resnet50, bf16 vs fp32: at best 2.00x could be gained (matrix work is 4.00x as fast here and "
            "half the bytes are moved; by the roofline arithmetic limits a step in fp32, memory in bf16), "
            "1.50x (1.40 to 1.60) was: 50 % of the way from 1x."
        )

    def test_tf32_moves_as_many_bytes(self):
        assert "the rest moves as many bytes" in sentence(candidate=TF32)
        assert "as many bytes are moved; by the roofline" in sentence(candidate=TF32, matrix_share=None)

    def test_a_missing_interval_is_said(self):
        assert sentence(1.5).endswith(", 1.50x (no interval) was: 24 % of the way from 1x.")

    def test_more_than_the_bound_shows_that_the_bound_is_none_here(self):
        said = sentence(3.5, 3.4, 3.6)
        assert "3.50x (3.40 to 3.60) was measured, more than the 3.10x that could be gained" in said
        assert "the bound's assumptions do not hold here" in said

    def test_an_interval_that_reaches_down_to_the_bound_is_at_the_bound(self):
        assert sentence(3.2, 3.0, 3.6).endswith(
            "3.20x (3.00 to 3.60) was: all of it, as far as the interval tells."
        )

    def test_hardly_any_gain_is_hardly_any_share_of_it(self):
        assert sentence(1.004, 0.99, 1.02).endswith("was: 0 % of the way from 1x.")

    def test_a_loss_is_no_share_of_the_gain(self):
        assert sentence(0.9, 0.8, 0.95).endswith("0.90x (0.80 to 0.95) was measured: no gain.")

    def test_a_slower_precision_could_gain_nothing(self):
        slow = Ceiling(precision="fp16", matmul_flop_per_s=40e9)
        said = sentence(0.15, 0.14, 0.16, candidate=slow, matrix_share=1.0)
        assert "fp16 vs fp32: nothing could be gained, 0.20x at best (matrix work is 0.20x" in said
        assert said.endswith("0.15x (0.14 to 0.16) was measured: no gain.")

    def test_what_was_not_measured_is_said(self):
        assert sentence(None).endswith("; how much was is not known: not measured.")
        assert sentence(candidate=NOTHING, matrix_share=None).endswith(
            "bf16 vs fp32: how much could be gained at best is not known (not measured: the ceiling of bf16, the "
            "bandwidth in bf16); 1.50x (1.40 to 1.60) was."
        )
        assert sentence(None, work=Work(), matrix_share=None).endswith(
            "(not measured: the model's FLOPs, its memory traffic); how much was is not known either: not measured."
        )
        odd = replace(FP32, matmul_flop_per_s=None), replace(BF16, conv_flop_per_s=None)
        assert "the same ceiling in fp32 and bf16" in sentence(base=odd[0], candidate=odd[1])


class TestCeilingSentence:
    def test_compares_products_and_convolutions_with_fp32(self):
        assert ceiling_sentence([FP32, BF16]) == (
            "On this machine bf16 multiplies matrices 4.00x as fast as fp32 (800 against 200 GFLOP/s) and convolves "
            "3.00x as fast (540 against 180 GFLOP/s); memory moves 20 GB/s."
        )

    def test_large_speeds_are_in_tera(self):
        fast = Ceiling(precision="bf16", matmul_flop_per_s=800e12)
        slow = Ceiling(precision="fp32", matmul_flop_per_s=5e12)
        assert ceiling_sentence([slow, fast]) == (
            "On this machine bf16 multiplies matrices 160.00x as fast as fp32 (800 against 5 TFLOP/s); "
            "its bandwidth was not measured."
        )

    def test_fp32_alone_and_fp32_missing(self):
        assert ceiling_sentence([FP32]).startswith(
            "On this machine fp32 multiplies matrices at 200 GFLOP/s and convolves at 180 GFLOP/s; no other "
        )
        assert ceiling_sentence([BF16]).startswith(
            "On this machine bf16 multiplies matrices at 800 GFLOP/s and"
        )
        assert "; fp32 was not measured; " in ceiling_sentence([BF16])
        assert ceiling_sentence([]).startswith("No ceiling was measured on this machine: ")
        assert ceiling_sentence([], otherwise="No time.") == "No time."
