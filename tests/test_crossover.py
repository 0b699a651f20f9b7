"""Crossovers of made-up curves: the device takes a + b n, the CPU c n, so they meet at a / (c - b)."""

import math

import numpy as np
import pytest

from trainspeed.crossover import NARROW, Kind, Point, crossover, crossover_sentence, judged, next_size
from trainspeed.errors import UserError

A, B, C = 10e-3, 0.05e-3, 0.30e-3  # seconds: a call's overhead; per image on the device; per image on the CPU
TRUTH = A / (C - B)  # 40 images
SIZES = (1, 8, 64, 840)


def made(ratios, spread=None):
    """Return the points of size -> speed-up; with `spread` an interval of that ratio to either side."""
    ends = {n: {"low": r / spread, "high": r * spread} if spread else {} for n, r in ratios.items()}
    return [Point(size=n, speedup=r, **ends[n]) for n, r in ratios.items()]


def at(*ratios, spread=1.1):
    """Return points of these ratios at sizes 1, 10, 100, …"""
    return made({10**place: ratio for place, ratio in enumerate(ratios)}, spread)


def exact(sizes, spread=None, overhead=A, per_image=B):
    return made({n: C * n / (overhead + per_image * n) for n in sizes}, spread)


def noisy(sizes, rng, blocks=10):
    """Return size -> (CPU, device) times of some blocks, each with its own noise of 2 %."""
    return {n: [t * rng.lognormal(0, 0.02, blocks) for t in (C * n, A + B * n)] for n in sizes}


# Where it is.


def test_a_straight_line_on_logarithmic_axes_is_met_exactly():
    """Ratio (n / 37)^0.5: nothing is bent, so four sizes far apart suffice."""
    found = crossover(made({n: (n / 37) ** 0.5 for n in SIZES}))
    assert found.kind == "found" and found.rising
    assert found.size == pytest.approx(37)
    assert (found.bracket, found.low, found.high) == ((8, 64), None, None)


def test_the_uncertainty_is_where_the_ends_of_the_intervals_are_1():
    found = crossover(made({n: n / 37 for n in SIZES}, spread=1.2))
    assert (found.low, found.high) == pytest.approx((37 / 1.2, 37 * 1.2))


@pytest.mark.parametrize("sizes", [SIZES, (8, 64), (1, 8, 64), (8, 64, 840), (2, 39, 43, 800)])
def test_overheads_bend_the_curve_and_the_uncertainty_allows_for_it(sizes):
    """The straight line is off by 5 %, which no interval of a precise measurement would tell."""
    found = crossover(exact(sizes, spread=1.001))
    first, last = found.bracket
    assert first - 1e-9 <= found.low < TRUTH < found.high <= last + 1e-9
    assert crossover(exact((8, 64))).size > 1.04 * TRUTH
    assert crossover(exact((39, 41))).size == pytest.approx(TRUTH, rel=0.001)


def test_the_order_of_the_points_does_not_matter():
    points = exact(SIZES, spread=1.05)
    assert crossover(points[::-1]) == crossover(points)


def test_a_device_that_is_faster_at_small_sizes_only_has_a_falling_crossover():
    """A transform that costs the same for every filter beats the device from some filter on."""
    found = crossover(made({n: 30 / n for n in (3, 10, 100)}, spread=1.1))
    assert (found.kind, found.rising, found.bracket) == (Kind.FOUND, False, (10, 100))
    assert (found.size, found.low, found.high) == pytest.approx((30, 30 / 1.1, 30 * 1.1))


# With noise.


@pytest.mark.parametrize("blocks", [6, 10])
@pytest.mark.parametrize("sizes", [SIZES, (30, 36, 44, 54), (34, 47)])
def test_with_noise_the_truth_lies_within_the_uncertainty(sizes, blocks):
    """In 95 of 100 studies at least."""
    misses = 0
    for seed in range(100):
        found = crossover(judged(noisy(sizes, np.random.default_rng(seed), blocks)))
        assert found.kind == Kind.FOUND and found.low <= found.size <= found.high
        misses += not found.low < TRUTH < found.high
    assert misses <= 5


def test_estimates_that_cross_1_several_times_by_noise_alone_are_one_crossover():
    ends = {10: (0.5, 0.45, 0.55), 30: (1.02, 0.9, 1.1), 40: (0.98, 0.9, 1.1), 100: (2, 1.8, 2.2)}
    found = crossover([Point(size=n, speedup=r, low=low, high=high) for n, (r, low, high) in ends.items()])
    assert found.kind == Kind.FOUND and found.bracket == (10, 100)
    assert (found.low, found.high) == pytest.approx((10, 100))  # nothing is sure but the bracket
    places = [
        10 * 3 ** (math.log(0.5) / math.log(0.5 / 1.02)),
        30 * (4 / 3) ** (math.log(1.02) / math.log(1.02 / 0.98)),
        40 * 2.5 ** (math.log(0.98) / math.log(0.98 / 2)),
    ]
    assert found.size == pytest.approx(math.prod(places) ** (1 / 3))


def test_fewer_than_6_blocks_give_a_crossover_without_an_interval():
    found = crossover(judged(noisy(SIZES, np.random.default_rng(0), blocks=5)))
    assert found.kind == Kind.FOUND and found.size == pytest.approx(TRUTH, rel=0.2)
    assert (found.low, found.high) == (None, None)


def test_a_size_without_an_interval_is_left_out_beside_others_with_one():
    found = crossover([*exact((8, 64), spread=1.05), *made({32: 5.0, 840: 0.1})])
    assert found.bracket == (8, 64) and found.left_out == (32, 840)
    assert crossover_sentence(found).endswith("; left out, without an interval: 32, 840.")


def test_one_interval_among_estimates_decides_nothing_alone():
    points = [Point(size=1, speedup=0.9, low=0.5, high=1.5), Point(size=10, speedup=2.0)]
    found = crossover(points)
    assert (found.kind, found.low, found.left_out) == (Kind.FOUND, None, ())
    assert crossover(points[:1]).kind == Kind.UNDECIDED


# The other kinds.


@pytest.mark.parametrize(
    ("ratios", "kind"),
    [
        ((0.1, 0.5, 2, 4), "found"),
        ((4, 2, 0.5), "found"),
        ((1.2, 2, 4), "always"),
        ((4, 2, 1.5), "always"),
        ((3,), "always"),
        ((0.1, 0.2, 0.8), "never"),
        ((0.3,), "never"),
        ((0.5, 2, 0.5), "several"),
        ((2, 0.5, 2, 0.5), "several"),
        ((0.5, 1, 2, 1, 0.5), "several"),
        ((1.01, 0.99), "undecided"),
        ((0.5, 1.05), "undecided"),
        ((1.05, 2, 4), "undecided"),
        ((0.5, 1.05, 0.5), "undecided"),
        ((1.05, 0.5, 2, 0.95), "found"),
        ((), "undecided"),
    ],
)
def test_what_the_sizes_tried_say(ratios, kind):
    found = crossover(at(*ratios))
    assert found.kind == kind
    assert (found.size is None) == (kind != "found") == (found.bracket is None)


def test_without_intervals_the_medians_alone_say_what_they_say():
    assert crossover(at(1.01, 1.02, spread=None)).kind == Kind.ALWAYS
    assert crossover(at(0.5, 1.01, 0.99, spread=None)).kind == Kind.SEVERAL
    assert crossover(at(0.5, 1.0, spread=None)).kind == Kind.UNDECIDED


def test_a_made_up_device_that_never_wins_and_one_that_always_does():
    assert crossover(exact(SIZES, per_image=2 * C)).kind == Kind.NEVER
    assert crossover(exact(SIZES, overhead=0)).kind == Kind.ALWAYS


# What to measure next.


@pytest.mark.parametrize(("truth", "step"), [(3, 1), (42.5, 1), (100, 1), (500, 1), (42.5, 8), (500, 8)])
def test_bisection_finds_it_in_few_steps(truth, step):
    sizes, overhead = [step, 840], truth * (C - B)
    while size := next_size(exact(sizes, overhead=overhead), step=step):
        assert size not in sizes and size % step == 0 and step < size < 840
        sizes.append(size)
    found = crossover(exact(sizes, overhead=overhead))
    low, high = found.bracket
    assert low <= truth <= high and (high / low <= NARROW or high - low <= max(step, 2))
    assert found.size == pytest.approx(truth, rel=0.01)
    assert len(sizes) - 2 <= 7


@pytest.mark.parametrize("seed", range(10))
def test_with_noise_bisection_ends_near_the_truth(seed):
    rng = np.random.default_rng(seed)
    times = noisy((1, 840), rng)
    while size := next_size(judged(times)):
        times |= noisy((size,), rng)
    found = crossover(judged(times))
    assert found.size == pytest.approx(TRUTH, rel=0.05)
    assert found.high / found.low < 1.25
    assert len(times) <= 2 + 10


def test_the_next_size_is_the_geometric_mean_as_a_multiple_of_the_step():
    assert next_size(at(0.1, 0.5, 2)) == 32  # of 10 and 100: 31.6
    assert [next_size(at(0.1, 0.5, 2), step=step) for step in (8, 20, 90)] == [32, 40, 90]
    assert next_size(at(4, 0.5)) == 3


@pytest.mark.parametrize(
    ("first", "last", "step", "expected"),
    [(16, 35, 16, 32), (9, 15, 8, None), (8, 9, 1, None), (8, 16, 8, None)],
)
def test_a_bracket_without_a_multiple_inside_cannot_shrink(first, last, step, expected):
    assert next_size(made({first: 0.5, last: 2}), step=step) == expected


def test_a_bracket_that_is_narrow_enough_is_not_split():
    points = made({100: 0.9, 109: 1.1})
    assert (next_size(points), next_size(points, narrow=1.01)) == (None, 104)


def test_a_size_that_noise_left_undecided_is_not_proposed_again_but_its_wider_side_is():
    points = made({10: 0.5, 30: 1, 100: 2}, spread=1.1)
    assert next_size(points) == 55
    points += made({31: 1}, spread=1.1)
    assert next_size(points, narrow=3.1) == 56  # 31 to 100; 10 to 30 is narrow enough
    assert next_size(points, narrow=3.3) is None


@pytest.mark.parametrize("ratios", [(2, 3), (0.2, 0.3), (0.5, 2, 0.5), (0.99, 1.01), ()])
def test_nothing_is_proposed_where_nothing_is_bracketed(ratios):
    assert next_size(at(*ratios)) is None


# In words.


def test_a_crossover_is_told_with_its_uncertainty_and_its_bracket():
    found = crossover(made({n: n / 37 for n in (1, 30, 64)}, spread=1.2))
    assert crossover_sentence(found, device="PyTorch on 1 GPU", cpu="SciPy") == (
        "PyTorch on 1 GPU is faster than SciPy from about 37 images on (30.8 to 44.4 by the 95 % intervals and "
        "the curve's bend; measured as slower at 30, as faster at 64)."
    )


def test_a_falling_crossover_is_told_as_an_upper_end_and_without_an_interval_asks_for_blocks():
    found = crossover(made({n: 8 / n for n in (3, 16)}))
    assert crossover_sentence(found, unit="pixels of filter width") == (
        "The device is faster than the CPU up to about 8 pixels of filter width (no interval: measure 6 blocks "
        "or more; measured as faster at 3, as slower at 16)."
    )


def test_never_is_told_as_not_within_the_sizes_tried():
    found = crossover(made({1: 0.01, 840: 0.42}, spread=1.1))
    assert crossover_sentence(found, device="TensorFlow", cpu="SciPy") == (
        "TensorFlow is nowhere faster than SciPy: the crossover is not within the sizes tried (1 to 840 images); "
        "nearest at 840 (0.42x, 0.382x to 0.462x)."
    )


def test_always_is_told_with_the_size_at_which_it_is_nearest():
    assert crossover_sentence(crossover(at(1.5, 4, spread=None)), unit="channels") == (
        "The device is faster than the CPU at every size tried: the crossover is not within the sizes tried "
        "(1 to 10 channels); nearest at 1 (1.5x); by medians without an interval: measure 6 blocks or more."
    )


def test_several_and_undecided_are_told_by_stretches_without_a_number():
    assert crossover_sentence(crossover(at(0.5, 0.6, 2, 0.5))) == (
        "The device against the CPU: the faster one changes 2 times within the sizes tried (1 to 1,000 images), so "
        "no single size is the crossover: the device is slower at 1 to 10, faster at 100, slower at 1,000."
    )
    assert crossover_sentence(crossover(at(0.5, 1.05))) == (
        "The device against the CPU: crossover undecided within the sizes tried (1 to 10 images): the device is "
        "slower at 1, neither for sure at 10; measure more blocks."
    )
    assert crossover_sentence(crossover([]), device="JAX") == (
        "JAX against the CPU: crossover undecided, no size was measured in both."
    )


# Input.


@pytest.mark.parametrize(
    "values", [{"size": 0}, {"speedup": -1}, {"speedup": math.nan}, {"low": 0.9}, {"low": 1.1, "high": 1.2}]
)
def test_a_point_that_makes_no_sense_is_refused(values):
    with pytest.raises(ValueError, match=r"Point\(size="):
        Point(**{"size": 1, "speedup": 1} | values)


def test_a_size_twice_and_a_step_that_is_none_are_refused():
    with pytest.raises(ValueError, match="has the size 1 twice"):
        crossover([Point(size=1, speedup=2), Point(size=1, speedup=3)])
    for step in (0, -1, 1.5, True):
        with pytest.raises(UserError, match=r"step .* whole number"):
            next_size([], step=step)
    with pytest.raises(UserError, match=r"narrow .* above 1"):
        next_size([], narrow=1)


def test_times_are_judged_in_pairs_and_sizes_without_a_block_are_left_out():
    (point,) = judged({8: ([2.0] * 6, [1.0] * 6), 16: ([], [])})
    assert (point.size, point.speedup, point.low, point.high) == (8, 2, 2, 2)
