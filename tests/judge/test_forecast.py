"""The forecast on made-up constants, with answers worked out by hand."""

import pytest

from trainspeed.core.errors import UserError
from trainspeed.judge.forecast import (
    Forecast,
    forecast,
    forecast_error,
    forecast_sentence,
    step_s,
)
from trainspeed.judge.interconnect import Interconnect, LinkClass, Ring
from trainspeed.judge.overlap import Overlap

GIVEN = Ring(within=Interconnect(alpha_s=1e-3, beta_s_per_byte=1e-9))
FREE = Ring(within=Interconnect(alpha_s=0, beta_s_per_byte=0))
SIZE_BYTES = 4_000_000


def expect(**changes):
    """Return the forecast for 0.6 s of compute and GIVEN, with these arguments changed."""
    usual = {"compute_1_s": 0.6, "size_bytes": SIZE_BYTES, "devices": [1, 2, 4, 8], "ring": GIVEN}
    return forecast(**usual | {"scaling": "strong", "overlap": 0.0} | changes)


def sentence(measured, *, rows=None, ring=GIVEN, overlap=None, scaling="strong"):
    share = overlap.share if overlap else 0.0
    return forecast_sentence(
        rows or expect(ring=ring, scaling=scaling, overlap=share),
        measured,
        ring,
        size_bytes=SIZE_BYTES,
        scaling=scaling,
        overlap=overlap,
        batch_size=16,
    )


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
        assert step_s(compute_s, 0.012, overlap) == pytest.approx(seconds)


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
        speedups = [row.speedup for row in expect(ring=FREE, scaling=scaling)]
        assert speedups == pytest.approx([1, 2, 4, 8])

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    @pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
    def test_a_slower_interconnect_never_trains_faster(self, scaling, overlap):
        alphas = [0, 1e-6, 1e-3, 0.1, 10]
        links = [Interconnect(alpha_s=alpha, beta_s_per_byte=1e-9) for alpha in alphas]
        steps = [
            [row.step_s for row in expect(ring=Ring(within=link), scaling=scaling, overlap=overlap)]
            for link in links
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

    def test_leaves_out_devices_between_which_no_link_is_known(self):
        ring = Ring(within=GIVEN.within, devices_per_node=2)
        assert [row.devices for row in expect(ring=ring)] == [1, 2]

    def test_refuses_more_devices_than_it_is_made_for(self):
        with pytest.raises(UserError, match=r"devices \(=1025\)"):
            expect(devices=[1025])

    @pytest.mark.parametrize("devices", [0, -1, 1.5, "2", True])
    def test_refuses_what_is_no_number_of_devices(self, devices):
        with pytest.raises(UserError, match=r"devices \(=.*\) must be a whole number"):
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
    def test_says_what_is_expected_and_all_that_is_assumed(self):
        """8 devices: 0.6 / (0.075 + 0.021 / 2)."""
        assert sentence({1: 1.0}, overlap=Overlap(share=0.5)) == (
            "Forecast, not measured: 8 devices give 7.02x the throughput of one in strong scaling (88 % of the ideal). "
            "It assumes that 4 MB of gradients go round a ring (α = 1,000.0 µs a message and β = 1 ns a byte, 1 GB/s, "
            "given); that 50 % (given) of that hides behind the backward pass, as far as that is long; that each "
            "device computes its 2 of 16 images as efficiently as one does all; that no device waits for another one "
            "or for images. Not checked: only one device was measured."
        )

    def test_says_of_links_that_were_measured_which_class_they_are_and_how_far_they_are_stretched(self):
        links = [
            Interconnect(alpha_s=1e-6, beta_s_per_byte=1e-10, link=link, devices=(2,), sizes=5, off=0)
            for link in LinkClass
        ]
        said = sentence({}, ring=Ring(within=links[0], between=links[1], devices_per_node=2))
        assert (
            "(within a node, α = 1.0 µs a message" in said and "(between nodes, α = 1.0 µs a message" in said
        )
        assert "the slower of which decides, all 8 connected as those that were measured;" in said

    def test_says_that_an_overlap_was_not_measured(self):
        assert "none of that hides behind the backward pass, since the overlap was not measured" in sentence(
            {}
        )

    def test_weak_scaling_keeps_the_batch_on_each_device(self):
        assert "that each device has 16 images a step, as the one has;" in sentence({}, scaling="weak")

    def test_says_how_far_off_it_was_and_where_nothing_was_measured(self):
        assert sentence({1: 1.0, 2: 1.6, 4: 4.0}, rows=TestError.ROWS).endswith(
            "Checked against 2 and 4 devices: off by 25 % on average. Nothing was measured beyond 4 devices."
        )

    def test_the_step_that_gave_the_overlap_is_no_check_of_it(self):
        measured = {1: 1.0, 2: 1.6, 4: 4.0}
        overlap = Overlap(share=0.5, devices=2)
        said = sentence(measured, rows=TestError.ROWS, overlap=overlap)
        assert "Checked against 4 devices: off by 25 % on average." in said
        del measured[4]
        said = sentence(measured, rows=TestError.ROWS, overlap=overlap)
        assert "Not checked: the step on 2 devices gave the overlap. Nothing was measured beyond 2" in said

    def test_says_that_nothing_was_forecast_for_what_was_measured(self):
        assert "Not checked: nothing was forecast for the 3 devices that were measured." in sentence(
            {1: 1.0, 3: 2.0}
        )
