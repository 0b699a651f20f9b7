"""The benchmark's turns, on numbers alone: benchmarks/ is no package, and its programs are not started."""

import importlib.util
import itertools
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "benchmarks/turns.py"


@pytest.fixture(scope="module")
def turns():
    """benchmarks/turns.py, without a change of the import path."""
    spec = importlib.util.spec_from_file_location("benchmark_turns", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulate(epoch_s, on_s, off_s, *, gap_s=0.0):
    """Return the wall seconds of each epoch of a program that runs on_s[k], is stopped off_s, and so on."""
    ends = [sum(on_s[: n + 1]) for n in range(len(on_s) - 1)]  # in running time

    def wall(ran):
        return ran + off_s * sum(end <= ran for end in ends)

    found, ran = [], 0.0
    while ran + epoch_s <= sum(on_s):
        found.append(wall(ran + epoch_s) - wall(ran))
        ran += epoch_s + gap_s
    return found


def test_a_paused_epoch_parts_two_turns_and_belongs_to_neither(turns):
    found = turns.split([0.3, 0.2, 0.2, 6.1, 0.21, 0.22, 0.23, 5.9, 0.24], [1.0, 1.0, 1.0], 2.0)
    assert found == [[0.3, 0.2, 0.2], [0.21, 0.22, 0.23], [0.24]]


def test_a_first_epoch_that_traces_for_longer_than_a_pause_is_no_pause(turns):
    assert turns.split([9.0, 0.2, 6.0, 0.3], [9.5, 0.5], 2.0) == [[9.0, 0.2], [0.3]]


@pytest.mark.parametrize("gap_s", [0.0, 0.02])
def test_every_turn_gets_its_epochs(turns, gap_s):
    """Pauses fall at 0.07 s after a multiple of the turn, never between two epochs."""
    on_s = [3.07, *[2.0] * 5]
    found = turns.split(simulate(0.2 - gap_s, on_s, 6.0, gap_s=gap_s), on_s, 2.0)
    assert [len(turn) for turn in found[1:-1]] == [9, 9, 9, 9]
    assert all(seconds == pytest.approx(0.2 - gap_s) for turn in found for seconds in turn)


def test_turns_whose_pause_fell_between_two_epochs_share_their_epochs_but_those_at_the_seam(turns):
    """The second pause shows in no epoch: turns 1 and 2, of 9 epochs each, run into one another."""
    before, slow, fast, after = [0.2] * 5, [0.21] * 9, [0.2] * 9, [0.3] * 8
    epochs = [*before, 6.2, *slow, *fast, 6.2, *after, 6.2, 0.4]
    found = turns.split(epochs, [1.1, 2.0, 2.0, 2.5, 2.0], 2.0)
    assert (
        found[1] == slow[:7]
    )  # the seam is taken to be after the eighth: the eighth and the ninth are left out
    assert found[2] == fast
    assert [found[0], *found[3:]] == [before, after, [0.4]]


def test_three_turns_that_run_into_one_another_are_three(turns):
    found = turns.split([0.2, 6.2, *[0.2] * 28], [0.3, 2.0, 2.0, 2.0], 2.0)
    assert [len(turn) for turn in found] == [1, 8, 7, 9]


def test_more_pauses_than_turns_raise(turns):
    with pytest.raises(ValueError, match="only 2 turns were given"):
        turns.split([0.2, 6.0, 0.2, 6.0, 0.2], [0.3, 2.0], 2.0)


def test_the_cold_epoch_after_a_pause_does_not_count(turns):
    assert turns.turn_epoch_s([9.0, 0.1, 0.3, 0.2]) == 0.2
    assert turns.turn_epoch_s([9.0, 0.1]) is None


def test_a_round_counts_only_where_every_program_has_a_turn(turns):
    found = turns.paired({"bare": [1.0, None, 3.0, 4.0], "ours": [1.5, 2.5, 3.5]})
    assert found == {"bare": [1.0, 3.0], "ours": [1.5, 3.5]}


def test_nobody_has_two_turns_in_a_row_not_even_after_the_start(turns):
    names = ["bare", "again", "ours"]
    found = turns.orders(names, 50, seed=1)
    in_time = [names[-1], *[name for order in found for name in order]]
    assert all(sorted(order) == sorted(names) for order in found)
    assert all(one != two for one, two in itertools.pairwise(in_time))
    assert found == turns.orders(names, 50, seed=1) != turns.orders(names, 50, seed=2)
