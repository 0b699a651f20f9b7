"""Sums of several sizes over a link whose times are made up."""

from __future__ import annotations

import pytest

from trainspeed.worker.sums_by_size import LONGEST_SUM_S, SIZE_S, SIZES_BYTES, SumsBySize

ALPHA_S, BARRIER_S = 1e-3, 2e-3


class FakeLink:
    """Messages that take alpha + beta times their size, and a wait for all ranks that takes a while."""

    def __init__(self, clock, beta_s_per_byte: float) -> None:
        self.clock, self.beta, self.summed = clock, beta_s_per_byte, []

    def sum_of(self, size: int):
        def summed() -> None:
            self.summed.append(size)
            self.clock.advance(self.sum_s(size))

        return summed

    def sum_s(self, size: int) -> float:
        return ALPHA_S + self.beta * size

    def epoch(self) -> SumsBySize:
        return SumsBySize(
            self.sum_of,
            lambda: self.clock.advance(BARRIER_S),
            finish=lambda: None,
            agree=lambda seconds: seconds,
            clock=self.clock,
        )


def test_every_size_has_the_time_of_one_sum_an_epoch_without_the_wait_for_all_ranks(fake_clock):
    link = FakeLink(fake_clock, 1e-9)
    epoch = link.epoch()
    for _ in range(3):
        epoch()

    assert [sums.size_bytes for sums in epoch.measured] == list(SIZES_BYTES)
    for sums in epoch.measured:
        assert sums.sum_s == pytest.approx([link.sum_s(sums.size_bytes)] * 2)


def test_the_first_epoch_finds_out_how_often_and_counts_for_nothing(fake_clock):
    link = FakeLink(fake_clock, 1e-9)
    epoch = link.epoch()
    epoch()
    assert epoch.measured == ()

    link.summed.clear()
    epoch()
    for size in SIZES_BYTES:
        assert link.summed.count(size) * link.sum_s(size) == pytest.approx(SIZE_S, rel=0.1)


def test_on_a_slow_link_sizes_that_would_take_too_long_are_left_out(fake_clock):
    """20 Mbit/s: 2 MiB take 0.84 s, 16 MiB would take 6.7 s."""
    link = FakeLink(fake_clock, 8 / 20e6)
    epoch = link.epoch()
    epoch()
    epoch()

    found = [sums.size_bytes for sums in epoch.measured]
    assert found == list(SIZES_BYTES[:-1])
    assert link.sum_s(found[-1]) < LONGEST_SUM_S < link.sum_s(SIZES_BYTES[-1])
