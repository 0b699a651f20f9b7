"""Whether the device gains over the CPU as filters grow or channels become more, in planted worlds."""

from __future__ import annotations

import pytest

from conv2d_data import BLOCKS, NOISE, PAIR, SWEEP_SIZE, asked, grid, make_runs
from trainspeed.articles.claims import Result
from trainspeed.core.convolution import CPU_LIBRARIES
from trainspeed.core.format import digits

AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result
VALUES = {"filter_size": [3, 5, 10], "channels": [1, 10, 64]}
WHAT = {"filter_size": "px of filter", "channels": "channels"}


def swept(factor, exponent, *, filters=0, blocks=BLOCKS):
    """Return runs in which the device's speed-up grows as a power of the size."""

    def seconds(trial, block):
        size = getattr(trial, factor)
        gain = size**exponent if exponent is not None else (1.0 if size == 1 or size == 3 else NOISE[block])
        return 8.0 if trial.library in CPU_LIBRARIES else 8.0 / gain

    trials = grid(*PAIR, {factor: VALUES[factor]}, filters=filters, **SWEEP_SIZE).trials()
    return make_runs(trials, seconds, blocks=blocks)


@pytest.mark.parametrize("factor", VALUES)
@pytest.mark.parametrize("filters", [0, 16])
@pytest.mark.parametrize(
    ("exponent", "answer"), [(0.5, AGREES), (0.0, DISAGREES), (-0.5, DISAGREES), (None, UNDECIDED)]
)
def test_a_size_is_the_reason_where_the_device_gains_as_it_grows(factor, filters, exponent, answer):
    runs = swept(factor, exponent, filters=filters)
    got, why = asked(factor, runs, sweeps={factor: VALUES[factor]}, filters=filters)

    first, middle, last = VALUES[factor]
    assert got == answer
    assert why.startswith("Here TensorFlow (graph) vs scipy.signal.convolve2d (")
    if exponent is not None:
        ratios = [f"{digits(size**exponent)}x at {size}" for size in (first, middle, last)]
        assert f" ({', '.join(ratios)} {WHAT[factor]}), gain from {first} to {last}: " in why
        assert f"{(last / first) ** exponent:.2f}x (95 % interval" in why


@pytest.mark.parametrize("factor", VALUES)
def test_a_size_that_was_not_measured_is_left_out_of_the_growth(factor):
    last = VALUES[factor][-1]
    runs = [
        run
        for run in swept(factor, 0.5)
        if (run.trial.library, getattr(run.trial, factor)) != ("scipy_signal", last)
    ]
    _, why = asked(factor, runs, sweeps={factor: VALUES[factor]})

    assert f"gain from {VALUES[factor][0]} to {VALUES[factor][1]}: " in why
    assert f"at {last}" not in why


@pytest.mark.parametrize("factor", VALUES)
@pytest.mark.parametrize("left", [0, 1])
def test_one_size_has_no_growth(factor, left):
    sizes = VALUES[factor][:left]
    runs = [run for run in swept(factor, 0.5) if getattr(run.trial, factor) in sizes]

    assert asked(factor, runs, sweeps={factor: VALUES[factor]})[0] == UNMEASURED
    assert asked(factor, runs, sweeps={factor: sizes})[0] == UNMEASURED


def test_sizes_may_be_given_in_any_order():
    runs = swept("channels", 0.5)

    one, other = [asked("channels", runs, sweeps={"channels": v}) for v in ([64, 1, 10], [1, 10, 64])]
    assert one == other


def test_a_large_gain_is_told_in_plain_digits():
    _, why = asked("channels", swept("channels", 1.2), sweeps={"channels": VALUES["channels"]})

    assert "e+" not in why


def test_a_size_whose_two_sides_share_no_block_is_not_measured():
    """One of them crashed in each of the two blocks."""
    runs = [
        run
        for run in swept("channels", 0.5, blocks=2)
        if run.trial.channels != 64 or run.block == (run.trial.library == "tensorflow")
    ]
    answer, _ = asked("channels", runs, sweeps={"channels": VALUES["channels"]})

    assert answer in (UNDECIDED, UNMEASURED)
