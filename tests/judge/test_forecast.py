"""The forecast on made-up constants, with answers worked out by hand."""

import math

import pytest

from trainspeed.core.errors import UserError
from trainspeed.judge.forecast import (
    Forecast,
    Interconnect,
    fit_interconnect,
    forecast,
    forecast_error,
    forecast_sentence,
    ring_allreduce_s,
    step_s,
)

GIVEN = Interconnect(alpha_s=1e-3, beta_s_per_byte=1e-9, source="given")
FREE = Interconnect(alpha_s=0, beta_s_per_byte=0, source="given")
SIZE_BYTES = 4_000_000


def expect(**changes):
    """Return the forecast for 0.6 s of compute and GIVEN, with these arguments changed."""
    usual = {"compute_1_s": 0.6, "size_bytes": SIZE_BYTES, "devices": [1, 2, 4, 8], "interconnect": GIVEN}
    return forecast(**usual | {"scaling": "strong", "overlap": 0.0} | changes)


def sentence(measured, *, rows=None, interconnect=GIVEN, overlap=0.0):
    return forecast_sentence(
        rows or expect(overlap=overlap),
        measured,
        interconnect,
        size_bytes=SIZE_BYTES,
        scaling="strong",
        overlap=overlap,
    )


class TestRing:
    @pytest.mark.parametrize(
        ("devices", "seconds"),
        # 2(p-1) ms of alpha, and 2(p-1)/p of the 4 ms that 4 MB take at 1 GB/s.
        [(1, 0.0), (2, 2e-3 + 4e-3), (4, 6e-3 + 6e-3), (8, 14e-3 + 7e-3)],
    )
    def test_takes_the_time_of_its_messages(self, devices, seconds):
        assert ring_allreduce_s(SIZE_BYTES, devices, 1e-3, 1e-9) == pytest.approx(seconds)


class TestInterconnect:
    @pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, None, "fast"])
    @pytest.mark.parametrize("name", ["alpha_s", "beta_s_per_byte"])
    def test_a_constant_is_a_number_of_0_or_more(self, name, value):
        with pytest.raises(UserError, match=rf"{name} \(={value!r}\) must be a number of 0 or more"):
            Interconnect(**{"alpha_s": 0, "beta_s_per_byte": 0, "source": "given"} | {name: value})


class TestFit:
    def test_finds_the_constants_that_made_the_points(self):
        """From 1 kB to 1 GB: alpha is 99 % of the time at one end and 0.01 % at the other."""
        points = [
            (p, size, ring_allreduce_s(size, p, 25e-6, 1e-10)) for p in (2, 4) for size in (1e3, 1e6, 1e9)
        ]
        fitted = fit_interconnect(points)
        assert (fitted.alpha_s, fitted.beta_s_per_byte) == pytest.approx((25e-6, 1e-10))
        assert fitted.source == "measured on 2 and 4 devices"

    def test_noise_at_the_large_sizes_leaves_alpha_alone(self):
        """5 % of the large time is 200 times alpha: absolute errors would lose it."""
        points = [(2, 1, 50e-6), (2, 8, 50e-6), (2, 1e8, 0.095), (2, 1e8, 0.105)]
        assert fit_interconnect(points).alpha_s == pytest.approx(25e-6, rel=0.01)

    @pytest.mark.parametrize(
        "points",
        [
            [(2, 1e6, 1.0), (2, 2e6, 3.0)],  # alpha = -0.5 s
            [(2, 1e6, 2.0), (2, 2e6, 1.0)],  # faster with the size: beta below 0
        ],
    )
    def test_times_of_no_ring_give_none_and_nothing_raised_to_zero(self, points):
        assert fit_interconnect(points) is None

    @pytest.mark.parametrize(
        "points",
        [
            [],
            [(2, 1e6, 0.1)],
            [(2, 1e6, 0.1), (2, 1e6, 0.2)],
            [(2, 1e6, 0.1), (4, 2e6, 0.2)],  # size / devices is the same: any alpha fits
        ],
    )
    def test_one_size_cannot_tell_alpha_from_beta(self, points):
        with pytest.raises(ValueError, match="must have two sizes on one number of devices"):
            fit_interconnect(points)


class TestStep:
    @pytest.mark.parametrize(
        ("compute_s", "overlap", "seconds"),
        [
            (0.06, 0.0, 0.06 + 0.012),  # all of the 12 ms on 4 devices
            (0.06, 0.5, 0.06 + 0.006),
            (0.06, 1.0, 0.06),
            (0.006, 1.0, 0.006 + 0.008),  # the backward pass, 4 ms, hides no more than 4 ms
            (0.006, 0.25, 0.006 + 0.009),
            (0.0, 1.0, 0.012),
        ],
    )
    def test_exposes_what_overlap_and_the_backward_pass_leave(self, compute_s, overlap, seconds):
        assert step_s(compute_s, SIZE_BYTES, 4, GIVEN, overlap) == pytest.approx(seconds)

    @pytest.mark.parametrize("overlap", [-0.1, 1.1, math.nan, "half", None])
    def test_refuses_an_overlap_that_is_no_share(self, overlap):
        with pytest.raises(UserError, match=r"overlap \(=.*\) must lie between 0 .* and 1"):
            step_s(1.0, 1, 2, GIVEN, overlap)


class TestForecast:
    def test_strong_scaling_divides_the_compute(self):
        """0.6 s on one device; on four 0.15 s and 12 ms of exchange: 0.6 / 0.162."""
        four = expect(devices=[4])[0]
        assert (four.step_s, four.speedup) == pytest.approx((0.162, 0.6 / 0.162))
        assert four.efficiency == pytest.approx(0.15 / 0.162)

    def test_weak_scaling_multiplies_the_work(self):
        """Four times the images in 0.612 s."""
        four = expect(devices=[4], scaling="weak")[0]
        assert (four.step_s, four.speedup) == pytest.approx((0.612, 4 * 0.6 / 0.612))
        assert four.efficiency == pytest.approx(0.6 / 0.612)

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    @pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
    def test_one_device_is_one_device(self, scaling, overlap):
        (one,) = expect(devices=[1], scaling=scaling, overlap=overlap)
        assert (one.step_s, one.speedup, one.efficiency) == (0.6, 1.0, 1.0)

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    def test_a_free_interconnect_is_ideal(self, scaling):
        speedups = [row.speedup for row in expect(interconnect=FREE, scaling=scaling)]
        assert speedups == pytest.approx([1, 2, 4, 8])

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    @pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
    def test_a_slower_interconnect_never_trains_faster(self, scaling, overlap):
        alphas = [0, 1e-6, 1e-3, 0.1, 10]
        links = [Interconnect(alpha_s=alpha, beta_s_per_byte=1e-9, source="given") for alpha in alphas]
        steps = [
            [row.step_s for row in expect(interconnect=i, scaling=scaling, overlap=overlap)] for i in links
        ]
        for of_one_count in zip(*steps, strict=True):
            assert list(of_one_count) == sorted(of_one_count)

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    @pytest.mark.parametrize("compute_1_s", [1e-4, 1e-2, 1.0])
    def test_more_overlap_never_trains_slower(self, scaling, compute_1_s):
        shares = [1.0, 0.7, 0.3, 0.0]
        steps = [
            [row.step_s for row in expect(compute_1_s=compute_1_s, scaling=scaling, overlap=o)]
            for o in shares
        ]
        for of_one_count in zip(*steps, strict=True):
            assert list(of_one_count) == sorted(of_one_count)

    def test_the_order_of_the_devices_is_kept(self):
        assert [row.devices for row in expect(devices=(8, 1, 2))] == [8, 1, 2]

    def test_refuses_an_unknown_scaling(self):
        with pytest.raises(UserError, match="unknown scaling 'stong': did you mean 'strong'"):
            expect(scaling="stong")

    def test_refuses_no_devices(self):
        with pytest.raises(UserError, match="devices is an empty list"):
            expect(devices=[])

    @pytest.mark.parametrize("devices", [0, -1, 1.5, "2", True])
    def test_refuses_what_is_no_number_of_devices(self, devices):
        with pytest.raises(UserError, match=r"devices \(=.*\) must be a whole number of at least 1"):
            expect(devices=[devices])


class TestError:
    ROWS = (
        Forecast(devices=1, step_s=1.0, speedup=1.0),
        Forecast(devices=2, step_s=0.5, speedup=2.0),
        Forecast(devices=4, step_s=0.3, speedup=3.0),
    )

    def test_is_the_mean_relative_to_the_measured(self):
        """2 against 1.6 is 25 % too much, 3 against 4 is 25 % too little, 3 devices were not forecast."""
        assert forecast_error(self.ROWS, {1: 1.0, 2: 1.6, 3: 2.2, 4: 4.0}) == pytest.approx(0.25)

    @pytest.mark.parametrize("measured", [{}, {1: 1.0}, {1: 1.0, 3: 2.5}])
    def test_is_none_where_nothing_can_be_compared(self, measured):
        assert forecast_error(self.ROWS, measured) is None


class TestSentence:
    def test_says_what_is_expected_and_what_is_assumed(self):
        """8 devices: 0.6 / (0.075 + 0.021 / 2)."""
        said = sentence({1: 1.0}, overlap=0.5)
        assert said.startswith(
            "Forecast, not measured: 8 devices give 7.02x the throughput of one in strong scaling (88 % of the "
            "ideal), for a ring all-reduce of 4 MB with an overlap of 50 % with the backward pass, "
            "α = 1,000.0 µs a message and β = 1 ns a byte (1 GB/s), given; "
        )

    def test_says_how_far_off_it_was(self):
        assert sentence({1: 1.0, 2: 1.6, 4: 4.0}, rows=TestError.ROWS).endswith(
            "; checked against 2 and 4 devices: off by 25 % on average."
        )

    def test_says_that_it_was_not_checked(self):
        assert sentence({1: 1.0}).endswith("; not checked: only one device measured.")
        assert sentence({1: 1.0, 3: 2.0}).endswith(
            "; not checked: nothing was forecast for the 3 devices that were measured."
        )

    def test_an_interconnect_without_limit_is_named(self):
        assert "β = 0 (no limit)" in sentence({}, interconnect=FREE)
