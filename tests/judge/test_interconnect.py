"""The constants of links, fitted to made-up sums with answers worked out by hand, and rings over several links."""

import math

import pytest

from trainspeed.core.errors import UserError
from trainspeed.judge.interconnect import (
    Interconnect,
    LinkClass,
    Ring,
    fit_interconnect,
    ring_allreduce_s,
)

SIZE_BYTES = 4_000_000
FAST = Interconnect(alpha_s=1e-6, beta_s_per_byte=1e-10)
SLOW = Interconnect(alpha_s=1e-3, beta_s_per_byte=1e-9)


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
            Interconnect(**{"alpha_s": 0, "beta_s_per_byte": 0} | {name: value})

    def test_says_where_it_comes_from(self):
        given = Interconnect(alpha_s=2e-5, beta_s_per_byte=1e-10)
        measured = Interconnect(
            alpha_s=2e-5, beta_s_per_byte=0, link=LinkClass.BETWEEN, devices=(2, 4), sizes=5, off=0.1
        )
        assert given.words == "α = 20.0 µs a message and β = 0.1 ns a byte, 10 GB/s, given"
        assert measured.words == (
            "between nodes, α = 20.0 µs a message and β = 0, no limit, measured on 2 and 4 devices with 5 sizes"
        )


class TestFit:
    def test_finds_the_constants_that_made_the_points(self):
        """From 1 kB to 1 GB: alpha is 99 % of the time at one end and 0.01 % at the other."""
        points = [
            (p, size, ring_allreduce_s(size, p, 25e-6, 1e-10)) for p in (2, 4) for size in (1e3, 1e6, 1e9)
        ]
        fitted = fit_interconnect(points, LinkClass.WITHIN)
        assert (fitted.alpha_s, fitted.beta_s_per_byte) == pytest.approx((25e-6, 1e-10))
        assert (fitted.devices, fitted.sizes, fitted.link) == ((2, 4), 3, LinkClass.WITHIN)
        assert fitted.off == pytest.approx(0, abs=1e-6)

    def test_noise_at_the_large_sizes_leaves_alpha_alone(self):
        """5 % of the large time is 200 times alpha: absolute errors would lose it."""
        points = [(2, 1, 50e-6), (2, 8, 50e-6), (2, 1e8, 0.095), (2, 1e8, 0.105)]
        assert fit_interconnect(points).alpha_s == pytest.approx(25e-6, rel=0.01)

    def test_tells_how_far_off_it_is_where_it_fits_least(self):
        """The middle size takes half as long again as on a straight line: the fit lies between the two."""
        points = [(2, 1e3, 1e-3), (2, 1e6, 1.5 * 2e-3), (2, 1e9, 1.001)]
        assert 0.1 < fit_interconnect(points).off < 0.5

    @pytest.mark.parametrize(
        "points",
        [
            [(2, 1e6, 1.0), (2, 2e6, 3.0)],  # alpha = -0.5 s
            [(2, 1e6, 2.0), (2, 2e6, 1.0)],  # faster with the size: beta below 0
            [(2, 1e6, 5e-324), (2, 2e6, 1.0)],  # less time than a number can be divided by
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


class TestRingOverNodes:
    def test_within_a_node_only_its_own_link_counts(self):
        ring = Ring(within=FAST, between=SLOW, devices_per_node=4)
        assert ring.links(4) == (FAST,)
        assert ring.allreduce_s(SIZE_BYTES, 4) == pytest.approx(ring_allreduce_s(SIZE_BYTES, 4, 1e-6, 1e-10))

    def test_over_several_nodes_every_round_waits_for_the_slowest_link(self):
        ring = Ring(within=FAST, between=SLOW, devices_per_node=4)
        assert ring.links(8) == (FAST, SLOW)
        assert ring.allreduce_s(SIZE_BYTES, 8) == pytest.approx(ring_allreduce_s(SIZE_BYTES, 8, 1e-3, 1e-9))

    def test_which_link_is_the_slowest_depends_on_the_message(self):
        """Little latency and little bandwidth against much of both: they cross at 1 MB."""
        narrow, far = (
            Interconnect(alpha_s=0, beta_s_per_byte=2e-9),
            Interconnect(alpha_s=1e-3, beta_s_per_byte=1e-9),
        )
        ring = Ring(within=narrow, between=far, devices_per_node=2)
        assert ring.allreduce_s(4 * 1e5, 4) == pytest.approx(6 * far.message_s(1e5))
        assert ring.allreduce_s(4 * 1e7, 4) == pytest.approx(6 * narrow.message_s(1e7))

    def test_one_device_a_node_has_no_link_within(self):
        assert Ring(within=FAST, between=SLOW, devices_per_node=1).links(2) == (SLOW,)

    @pytest.mark.parametrize(
        ("ring", "devices"),
        [
            (Ring(), 2),
            (Ring(within=FAST, devices_per_node=2), 4),
            (Ring(between=SLOW, devices_per_node=2), 2),
        ],
    )
    def test_a_ring_over_a_link_that_is_not_known_has_no_time(self, ring, devices):
        assert ring.links(devices) == ()
        assert ring.allreduce_s(SIZE_BYTES, 1) == 0
        with pytest.raises(ValueError, match=f"nothing is known of the links between {devices} devices"):
            ring.allreduce_s(SIZE_BYTES, devices)
