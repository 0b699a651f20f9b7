"""How many turns an arm has, and how many epochs each: as short as may be, in the time of a few."""

from __future__ import annotations

import pytest

from trainspeed.conduct import turns
from trainspeed.conduct.turns import (
    FEW_ROUNDS,
    MOST_ROUNDS,
    MOST_TIME,
    ROUNDS,
    TURN_S,
    shortest_turn_s,
    turns_of_epochs,
)
from trainspeed.sensors import cpu
from trainspeed.worker.meter import MIN_SPAN_S
from trainspeed.worker.turns import EPOCHS_BEFORE_TURNS


@pytest.mark.parametrize("epoch_s", [0.003, 0.05, 0.1, 0.133, 0.2, 0.3, 0.5, 0.7, 9.0])
@pytest.mark.parametrize("shortest_s", [0.1, 0.5])
@pytest.mark.parametrize("rounds", [ROUNDS, FEW_ROUNDS])
def test_turns_take_their_time_all_together_and_none_is_too_short(epoch_s, shortest_s, rounds):
    found = turns_of_epochs([epoch_s], TURN_S, 4, shortest_s=shortest_s, rounds=rounds)
    epochs, wanted = found.rounds * found.each.epochs, max(rounds, round(rounds * TURN_S / epoch_s))

    assert not found.rounds % 2 and rounds <= found.rounds <= MOST_ROUNDS
    assert wanted <= epochs <= max(MOST_TIME * wanted, wanted + rounds - 1)
    assert found.each.epochs * epoch_s >= shortest_s or found.rounds == rounds


@pytest.mark.parametrize(
    ("epoch_s", "rounds", "epochs"),
    [
        ([0.1, 0.1, 0.2], 18, 1),
        ([0.022], 16, 7),
        ([0.2, 0.2], 12, 1),
        ([0.06], 20, 2),
        ([0.3, 0.002], 4, 4),  # a turn of one epoch of 2 ms would show how cold the caches are
        ([2.0], 4, 1),
        ([], 4, 1),
        ([0.0, 0.1], 4, 12),
    ],
)
def test_there_are_as_many_turns_as_the_fastest_arm_allows(epoch_s, rounds, epochs):
    found = turns_of_epochs(epoch_s, 0.6, epochs=4, shortest_s=0.1)
    assert (found.rounds, found.each.epochs) == (rounds, epochs)


@pytest.mark.parametrize("asked", [3, 6, 7, 25, 43, 100])
def test_a_run_trains_all_epochs_that_were_asked_for_and_hardly_more(asked):
    """However long they take: the articles trained for 100."""
    found = turns_of_epochs([9.0], TURN_S, asked, shortest_s=0.1)
    epochs = EPOCHS_BEFORE_TURNS + found.rounds * found.each.epochs
    assert asked <= epochs <= max(EPOCHS_BEFORE_TURNS + ROUNDS, asked + 1, MOST_TIME * asked)


@pytest.mark.parametrize(("cores", "least_s"), [(1, 0.1), (2, 0.1), (16, 0.2)])
def test_a_turn_is_long_enough_to_tell_what_others_used(monkeypatch, cores, least_s):
    """A tick of each busy core may be counted wrong."""
    monkeypatch.setattr(cpu, "usable_cores", lambda: [*range(cores)])
    assert shortest_turn_s("cpu") == cpu.least_turn_s() == least_s


def test_a_turn_on_a_gpu_is_long_enough_for_its_energy_and_load():
    assert shortest_turn_s("gpu") >= turns.MIN_SPAN_S == MIN_SPAN_S
