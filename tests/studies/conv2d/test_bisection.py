"""Which size of a sweep is measured next, on planted curves, and when it is enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conv2d_data import BLOCKS, PAIR, grid, look, make_runs, planted, swept
from conv2d_data import SWEEP_SIZE as SIZES
from trainspeed.conduct.estimates import call_s
from trainspeed.core.errors import UserError
from trainspeed.core.run import Role, Status
from trainspeed.judge.crossover import next_size
from trainspeed.studies.conv2d.sweeps import Bisection
from trainspeed.studies.conv2d.trials import LIBRARY_FACTORS, library_trial


def bisection(factor, values, *, rounds=2, blocks=BLOCKS, filters=0, longest=1e9, libraries=PAIR, **more):
    made = grid(*libraries, {factor: values}, filters=filters, longest_call_s=longest, **{**SIZES, **more})
    return Bisection(made, rounds, blocks)


def ran(parts, seconds, *, blocks=BLOCKS, **changed):
    """Return the runs of what was asked for, with its label."""
    return [
        run
        for part in parts
        for run in make_runs(part.trials, seconds, blocks=blocks, label=part.label, **changed)
    ]


def asked(parts):
    return [
        (trial.library, trial.images, trial.channels, trial.filters)
        for part in parts
        for trial in part.trials
    ]


BENT = (0.25, 0.01, 0.035)  # equal at 10


@pytest.mark.parametrize("blocks", [1, BLOCKS])
@pytest.mark.parametrize(("rounds", "expected"), [(1, [8]), (2, [8, 23]), (3, [8, 23, 14])])
def test_each_round_halves_the_bracket_on_both_sides_of_a_pair(blocks, rounds, expected):
    """The device wins from 10 images on: between 1 and 64, then between 8 and 64, and so on."""
    values, curve = [1, 64], planted("images", *BENT)
    runs = swept("images", values, curve, blocks=blocks)
    more = bisection("images", values, rounds=rounds, blocks=blocks)
    sizes = []
    while parts := more(runs):
        (part,) = parts
        assert (part.blocks, part.factors, part.label) == (blocks, LIBRARY_FACTORS, Role.BISECTED)
        assert [trial.library for trial in part.trials] == ["tensorflow", "scipy_signal"]
        sizes += {trial.images for trial in part.trials}
        runs += ran(parts, curve, blocks=blocks)

    assert sizes == expected
    (sweep,) = look(runs, "images", values)
    assert [point.size for point in sweep.crossover.points] == sorted([*values, *sizes])


@pytest.mark.parametrize(("filters", "expected"), [(0, 8), (16, 16)])
def test_the_next_number_of_channels_has_filters_as_the_sweep_has(filters, expected):
    runs = swept("channels", [1, 64], planted("channels", *BENT), filters=filters)

    assert asked(bisection("channels", [1, 64], filters=filters)(runs)) == [
        (name, 12, 8, expected) for name in ("tensorflow", "scipy_signal")
    ]


@pytest.mark.parametrize("filters", [0, 16])
def test_rounds_of_channels_are_counted_too(filters):
    values, curve = [1, 64], planted("channels", *BENT)
    runs, more = (
        swept("channels", values, curve, filters=filters),
        bisection("channels", values, filters=filters),
    )
    rounds = 0
    while parts := more(runs):
        rounds += 1
        runs += ran(parts, curve)

    assert rounds == 2


def test_each_sweep_has_its_own_rounds():
    """What was measured between in one does not use up those of another."""
    values, sizes = {"images": [1, 64], "channels": [1, 64]}, {**SIZES, "images": 2}

    def curve(trial, block):
        size = trial.images * trial.channels
        return 0.035 * size if trial.on_cpu else 0.25 + 0.01 * size

    runs = make_runs(grid(*PAIR, values, filters=0, **sizes).trials(), curve)
    more = Bisection(grid(*PAIR, values, **sizes), 1, BLOCKS)
    parts = more(runs)

    assert asked(parts) == [
        (name, images, channels, channels)
        for images, channels in ((11, 1), (2, 8))
        for name in ("tensorflow", "scipy_signal")
    ]
    assert more(runs + ran(parts, curve)) == []


@pytest.mark.parametrize("rounds", [-1, 1.5, "two", True])
def test_rounds_that_cannot_be_are_refused(rounds):
    with pytest.raises(UserError, match=r"bisections \(=.*\) must be a whole number of at least 0"):
        Bisection(grid(*PAIR, {}), rounds, BLOCKS)


def test_no_rounds_measure_nothing():
    runs = swept("images", [1, 64], planted("images", *BENT))

    assert bisection("images", [1, 64], rounds=0)(runs) == []


def test_nothing_is_asked_for_where_nothing_is_bracketed():
    runs = swept("images", [1, 8, 64], planted("images", 9, 0.1, 0.1))

    assert bisection("images", [1, 8, 64])(runs) == []


def test_nothing_is_asked_for_before_anything_ran():
    assert bisection("images", [1, 8])([]) == []


def test_sizes_of_several_pairs_are_asked_for_once():
    libraries = (["tensorflow", "torch"], ["scipy_signal"])
    runs = swept("images", [1, 64], planted("images", *BENT), libraries=libraries)
    (part,) = bisection("images", [1, 64], libraries=libraries)(runs)

    assert [(t.library, t.images) for t in part.trials] == [
        ("tensorflow", 8),
        ("scipy_signal", 8),
        ("torch", 8),
    ]


def test_every_pair_has_its_rounds_where_they_cross_at_different_sizes():
    """From 16 images on faster than SciPy, from 91 on faster than OpenCV: two sizes between for each."""
    libraries, values = (["torch"], ["scipy_signal", "opencv"]), [1, 20, 1000]
    each = {"torch": 0.01, "scipy_signal": 0.026, "opencv": 0.01275}
    curve = lambda t, _: each[t.library] * t.images + 0.25 * (t.library == "torch")  # noqa: E731
    runs = swept("images", values, curve, libraries=libraries)
    more = bisection("images", values, libraries=libraries)
    while parts := more(runs):
        runs += ran(parts, curve)

    sizes = {
        s.cpu.library: [p.size for p in s.crossover.points]
        for s in look(runs, "images", values, libraries=libraries)
    }
    assert {name: len(several) - len(values) for name, several in sizes.items()} == {
        "scipy_signal": 2,
        "opencv": 2,
    }


def test_what_would_take_too_long_is_not_asked_for():
    runs = swept("images", [1, 64], planted("images", *BENT))

    assert bisection("images", [1, 64], longest=1e-9)(runs) == []


def test_a_pair_of_which_one_would_take_too_long_is_not_asked_for():
    runs = swept("images", [1, 64], planted("images", *BENT))
    device, cpu = [library_trial(name, **{**SIZES, "images": 8}) for name in ("tensorflow", "scipy_signal")]
    between = (call_s(device) + call_s(cpu)) / 2

    assert call_s(device) < between < call_s(cpu)
    assert bisection("images", [1, 64], longest=between)(runs) == []


def test_the_next_size_has_the_seed_of_the_others():
    values = {"images": [1, 64]}
    trials = grid(*PAIR, values, **SIZES, seed=5).trials()
    more = bisection("images", [1, 64], seed=5)
    (part,) = more(make_runs(trials, planted("images", *BENT)))

    assert {trial.seed for trial in part.trials} == {5}


# Interrupted and resumed: what was asked for is known by the label of its runs alone.


def test_a_resumed_report_makes_no_more_rounds_than_a_whole_one():
    values, curve = [1, 64], planted("images", *BENT)
    runs, more = swept("images", values, curve), bisection("images", values, seed=5)
    while parts := more(runs):
        runs += ran(parts, curve)

    assert next_size(look(runs, "images", values)[0].crossover.points), "there would be more to halve"
    assert bisection("images", values, seed=5)(runs) == []


def test_a_report_that_was_interrupted_between_two_rounds_makes_the_second_one():
    values, curve = [1, 64], planted("images", *BENT)
    runs = swept("images", values, curve)
    runs += ran(bisection("images", values)(runs), curve)

    assert [images for _, images, _, _ in asked(bisection("images", values)(runs))] == [23, 23]


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("kept", [1, 3, 11])
def test_an_interrupted_size_is_asked_for_again(rounds, kept):
    """Of its twelve runs some are there, and too few for an interval: the same size is next, also as the last."""
    values, curve = [1, 64], planted("images", *BENT)
    runs = swept("images", values, curve)
    parts = bisection("images", values, rounds=rounds)(runs)
    runs += ran(parts, curve)[:kept]

    assert bisection("images", values, rounds=rounds)(runs) == parts


def test_an_interrupted_last_round_is_no_room_for_another_size():
    """Finished, it is the last."""
    values, curve = [1, 64], planted("images", *BENT)
    runs = swept("images", values, curve)
    parts = bisection("images", values, rounds=1)(runs)

    assert bisection("images", values, rounds=1)(runs + ran(parts, curve)) == []


def test_a_size_that_failed_is_asked_for_again_and_no_other_instead():
    """What was tried in this call `measure` leaves out, and so it ends; a resumed report may try again."""
    values, curve = [1, 64], planted("images", *BENT)
    runs = swept("images", values, curve)
    parts = bisection("images", values)(runs)
    failed = [replace(run, status=Status.CRASHED) for run in ran(parts, curve)]

    assert bisection("images", values)(runs + failed) == parts
