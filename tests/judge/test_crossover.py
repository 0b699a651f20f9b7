"""Crossovers of made-up curves: the device takes a + b n, the CPU c n, so they meet at a / (c - b)."""

import math

import numpy as np
import pytest

from trainspeed.judge.crossover import (
    NARROW_BRACKET,
    CrossoverKind,
    SizeSpeedup,
    crossover,
    crossover_sentence,
    judged_points,
    next_size,
)

A, B, C = 10e-3, 0.05e-3, 0.30e-3  # seconds: a call's overhead; per image on the device; per image on the CPU
TRUTH = A / (C - B)  # 40 images
SIZES = (1, 8, 64, 840)


def made(ratios, spread=None):
    """Return the points of size -> speed-up; with `spread` an interval of that ratio to either side."""
    ends = {n: {"low": r / spread, "high": r * spread} if spread else {} for n, r in ratios.items()}
    return [SizeSpeedup(size=n, speedup=r, **ends[n]) for n, r in ratios.items()]


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


@pytest.mark.parametrize("sizes", [SIZES, (8, 64), (1, 8, 64), (8, 64, 840), (2, 39, 43, 800)])
def test_overheads_bend_the_curve_and_the_uncertainty_allows_for_it(sizes):
    """The straight line is off by 5 %, which no interval of a precise measurement would tell."""
    found = crossover(exact(sizes, spread=1.001))
    assert (found.low, found.high) == found.bracket
    assert found.low < TRUTH < found.high
    assert crossover(exact((8, 64))).size > 1.04 * TRUTH
    assert crossover(exact((39, 41))).size == pytest.approx(TRUTH, rel=0.001)


def test_the_order_of_the_points_does_not_matter():
    points = exact(SIZES, spread=1.05)
    assert crossover(points[::-1]) == crossover(points)


def test_a_device_that_is_faster_at_small_sizes_only_has_a_falling_crossover():
    """A transform that costs the same for every filter beats the device from some filter on."""
    found = crossover(made({n: 30 / n for n in (3, 10, 100)}, spread=1.1))
    assert (found.kind, found.rising, found.bracket) == (CrossoverKind.SINGLE, False, (10, 100))
    assert (found.size, found.low, found.high) == pytest.approx((30, 10, 100))


# With noise.


@pytest.mark.parametrize("blocks", [6, 10])
@pytest.mark.parametrize("sizes", [SIZES, (30, 36, 44, 54), (34, 47)])
def test_with_noise_the_truth_lies_within_the_uncertainty(sizes, blocks):
    """In 95 of 100 studies at least."""
    misses = 0
    for seed in range(100):
        found = crossover(judged_points(noisy(sizes, np.random.default_rng(seed), blocks)))
        assert found.kind == CrossoverKind.SINGLE and found.low <= found.size <= found.high
        misses += not found.low < TRUTH < found.high
    assert misses <= 5


def test_estimates_that_cross_1_several_times_by_noise_alone_are_one_crossover():
    ends = {10: (0.5, 0.45, 0.55), 30: (1.02, 0.9, 1.1), 40: (0.98, 0.9, 1.1), 100: (2, 1.8, 2.2)}
    found = crossover(
        [SizeSpeedup(size=n, speedup=r, low=low, high=high) for n, (r, low, high) in ends.items()]
    )
    assert found.kind == CrossoverKind.SINGLE and found.bracket == (10, 100)
    assert (found.low, found.high) == pytest.approx((10, 100))  # nothing is sure but the bracket
    places = [
        10 * 3 ** (math.log(0.5) / math.log(0.5 / 1.02)),
        30 * (4 / 3) ** (math.log(1.02) / math.log(1.02 / 0.98)),
        40 * 2.5 ** (math.log(0.98) / math.log(0.98 / 2)),
    ]
    assert found.size == pytest.approx(math.prod(places) ** (1 / 3))


def test_fewer_than_6_blocks_give_a_crossover_without_an_interval():
    found = crossover(judged_points(noisy(SIZES, np.random.default_rng(0), blocks=5)))
    assert found.kind == CrossoverKind.SINGLE and found.size == pytest.approx(TRUTH, rel=0.2)
    assert (found.low, found.high) == (None, None)


def test_a_size_without_an_interval_is_left_out_beside_others_with_one():
    found = crossover([*exact((8, 64), spread=1.05), *made({32: 5.0, 840: 0.1})])
    assert found.bracket == (8, 64) and found.left_out == (32, 840)
    assert tell(found).endswith("; left out, without an interval: 32, 840.")


def test_one_interval_among_estimates_decides_nothing_alone():
    points = [SizeSpeedup(size=1, speedup=0.9, low=0.5, high=1.5), SizeSpeedup(size=10, speedup=2.0)]
    found = crossover(points)
    assert (found.kind, found.low, found.left_out) == (CrossoverKind.SINGLE, None, ())
    assert crossover(points[:1]).kind == CrossoverKind.UNDECIDED


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
    assert crossover(at(1.01, 1.02, spread=None)).kind == CrossoverKind.ALWAYS
    assert crossover(at(0.5, 1.01, 0.99, spread=None)).kind == CrossoverKind.SEVERAL
    assert crossover(at(0.5, 1.0, spread=None)).kind == CrossoverKind.UNDECIDED


def test_a_made_up_device_that_never_wins_and_one_that_always_does():
    assert crossover(exact(SIZES, per_image=2 * C)).kind == CrossoverKind.NEVER
    assert crossover(exact(SIZES, overhead=0)).kind == CrossoverKind.ALWAYS


# What to measure next.


@pytest.mark.parametrize("truth", [3, 42.5, 100, 500])
def test_bisection_finds_it_in_few_steps(truth):
    sizes, overhead = [1, 840], truth * (C - B)
    while size := next_size(exact(sizes, overhead=overhead)):
        assert size not in sizes and 1 < size < 840
        sizes.append(size)
    found = crossover(exact(sizes, overhead=overhead))
    low, high = found.bracket
    assert low <= truth <= high and (high / low <= NARROW_BRACKET or high - low <= 2)
    assert found.size == pytest.approx(truth, rel=0.01)
    assert len(sizes) - 2 <= 7


@pytest.mark.parametrize("seed", range(10))
def test_with_noise_bisection_ends_near_the_truth(seed):
    rng = np.random.default_rng(seed)
    times = noisy((1, 840), rng)
    while size := next_size(judged_points(times)):
        times |= noisy((size,), rng)
    found = crossover(judged_points(times))
    assert found.size == pytest.approx(TRUTH, rel=0.05)
    assert found.high / found.low < 1.5
    assert len(times) <= 2 + 10


def test_the_next_size_is_the_geometric_mean():
    assert next_size(at(0.1, 0.5, 2)) == 32  # of 10 and 100: 31.6
    assert next_size(at(4, 0.5)) == 3
    assert next_size(made({1: 0.5, 3: 2})) == 2


def test_a_bracket_that_is_narrow_enough_or_holds_no_size_is_not_split():
    assert next_size(made({100: 0.9, 109: 1.1})) is None
    assert next_size(made({100: 0.9, 120: 1.1})) == 110
    assert next_size(made({8: 0.5, 9: 2})) is None


def test_a_size_that_noise_left_undecided_is_not_proposed_again_but_its_wider_side_is():
    points = made({10: 0.5, 30: 1, 100: 2}, spread=1.1)
    assert next_size(points) == 55
    assert next_size([*points, *made({55: 1, 90: 1}, spread=1.1)]) == 17


@pytest.mark.parametrize("ratios", [(2, 3), (0.2, 0.3), (0.5, 2, 0.5), (0.99, 1.01), ()])
def test_nothing_is_proposed_where_nothing_is_bracketed(ratios):
    assert next_size(at(*ratios)) is None


@pytest.mark.parametrize(
    ("points", "nearest"),
    [
        (made({n: n / 1.92 for n in (1, 3)}), 2),
        (made({n: 1.92 / n for n in (1, 3)}), 1),
        (made({n: n / 37 for n in (30, 64)}), 37),
        (at(2, 3), None),
    ],
    ids=["from", "up to", "whole", "none"],
)
def test_the_device_is_faster_at_whole_sizes(points, nearest):
    assert crossover(points).nearest_faster == nearest


# In words.


def tell(found, unit="images"):
    return crossover_sentence(found, device="PyTorch", cpu="SciPy", unit=unit)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (
            made({n: n / 37 for n in (1, 30, 64)}, spread=1.2),
            "PyTorch is faster than SciPy from about 37 px on (measured as slower at 30, as faster at 64).",
        ),
        (
            made({n: 8 / n for n in (3, 16)}),
            "PyTorch is faster than SciPy up to about 8 px (measured as faster at 3, as slower at 16); by medians "
            "without an interval: measure 6 blocks or more.",
        ),
        (
            made({1: 0.6, 840: 3.0}, spread=1.1),
            "PyTorch is faster than SciPy from somewhere between 1 and 840 px on (measured as slower at 1, as faster "
            "at 840).",
        ),
        (
            made({1: 0.01, 840: 0.42}, spread=1.1),
            "PyTorch is nowhere faster than SciPy: the crossover is not within the sizes tried (1 to 840 px); "
            "nearest at 840 (0.42x, 0.38 to 0.46).",
        ),
        (
            at(1.5, 4, spread=None),
            "PyTorch is faster than SciPy at every size tried: the crossover is not within the sizes tried "
            "(1 to 10 px); nearest at 1 (1.50x); by medians without an interval: measure 6 blocks or more.",
        ),
        (
            at(0.5, 0.6, 2, 0.5),
            "PyTorch against SciPy: no single crossover within the sizes tried (1 to 1,000 px): PyTorch is slower at "
            "1 to 10, faster at 100, slower at 1,000.",
        ),
        (
            at(0.5, 1.05),
            "PyTorch against SciPy: no single crossover within the sizes tried (1 to 10 px): PyTorch is slower at 1, "
            "neither for sure at 10; measure more blocks.",
        ),
        ([], "PyTorch against SciPy: crossover undecided, no size was measured in both."),
    ],
)
def test_what_was_found_is_told_with_the_sizes_that_say_so(points, expected):
    assert tell(crossover(points), unit="px") == expected


def test_times_are_judged_in_pairs_and_sizes_without_a_block_are_left_out():
    (point,) = judged_points({8: ([2.0] * 6, [1.0] * 6), 16: ([], [])})
    assert (point.size, point.speedup, point.low, point.high) == (8, 2, 2, 2)


@pytest.mark.parametrize(("last", "rough"), [(16, False), (17, True)])
def test_no_size_is_named_between_sizes_that_are_far_apart(last, rough):
    """A cost of each call and one of each image bend the curve: log-log lines said 7 where it was 2."""
    found = crossover(made({1: 0.6, last: 3.0}, spread=1.1))
    assert found.is_rough == rough
    assert found.size_words.startswith("somewhere between 1 and 17" if rough else "about ")
