"""Designs: which switches are on in which arm of a group. Knows no run and no time."""

from __future__ import annotations

import random
from collections.abc import Sequence

from trainspeed.search.switch import Set, Switch

PARTS = 4  # arms of a leave-out block: each switch is off in one of them, and on in three
COLUMNS = (8, 12, 16, 20, 24, 32)  # of a screen
PRIMES = {12: 11, 20: 19, 24: 23}  # order of a matrix -> the prime of its Paley construction


def hadamard(order: int) -> tuple[tuple[int, ...], ...]:
    """Return a Hadamard matrix: order rows of +1 and -1, any two of which differ in half of their places.

    Its first row and its first column are +1 alone. It is Sylvester's, or Paley's of a prime.

    Raises:
        ValueError: The order is no power of 2, and none of `PRIMES`.
    Source: R. E. A. C. Paley, On Orthogonal Matrices, Journal of Mathematics and Physics 12 (1933), 311-320; R. L.
        Plackett, J. P. Burman, The Design of Optimum Multifactorial Experiments, Biometrika 33 (1946), 305-325.
    """
    if order in PRIMES:
        return _of_a_prime(PRIMES[order])
    if order < 1 or order & (order - 1):
        orders = ", ".join(map(str, PRIMES))
        raise ValueError(f"order (={order!r}) must be a power of 2, such as 16, or one of {orders}.")
    rows: tuple[tuple[int, ...], ...] = ((1,),)
    while len(rows) < order:
        rows = (*(row + row for row in rows), *(row + tuple(-sign for sign in row) for row in rows))
    return rows


def _of_a_prime(prime: int) -> tuple[tuple[int, ...], ...]:
    """Return Paley's matrix of a prime that is 3 modulo 4, by which numbers are squares modulo the prime."""
    squares = {number * number % prime for number in range(1, prime)}
    rows = [(1,) * (prime + 1)]
    for row in range(prime):
        # A -1 where the difference is a square, and where it is 0: the rest are +1.
        signs = (-1 if column == row or (column - row) % prime in squares else 1 for column in range(prime))
        rows.append((1, *signs))
    return tuple(rows)


def mirror_pairs(switches: Sequence[Switch], columns: int) -> list[tuple[Set, Set]]:
    """Return the pairs of a folded screen: what is on in the one is off in the other. The first is all and none.

    With a row of a Hadamard matrix and its negative as a pair, the difference of a pair holds no drift and no
    interaction of two, and each switch is on in one arm of every pair: all pairs tell of all switches. Columns beyond
    the switches stay empty.

    Args:
        columns: Order of the matrix, and number of pairs: at least as many as switches.
    Source: G. E. P. Box, J. S. Hunter, W. G. Hunter, Statistics for Experimenters, 2nd ed., section 5.16 (fold-over).
    """
    if len(switches) > columns:
        raise ValueError(f"columns (={columns!r}) must be at least as many as the switches: {len(switches)}.")
    pairs = []
    for row in hadamard(columns):
        signs = list(zip(switches, row[: len(switches)], strict=True))
        pairs.append(tuple(tuple(s for s, sign in signs if sign == side) for side in (1, -1)))
    return pairs


def leave_out_blocks(switches: Sequence[Switch], blocks: int, seed: int) -> list[list[Set]]:
    """Return for each block what is off in each of its arms: every switch in one of them.

    Near to all that are on, where leaving each out alone would take an arm for each switch: here every arm tells of
    several, and which of them go together changes from block to block.

    Returns:
        blocks x arms: `PARTS`; of fewer switches an arm for each, and one in which nothing is off.
    """
    draw = random.Random(f"{seed}:{len(switches)}")
    few = len(switches) < PARTS
    parts = len(switches) if few else PARTS
    found = []
    for _ in range(blocks):
        order = draw.sample(list(switches), len(switches))
        off: list[Set] = [tuple(order[number::parts]) for number in range(parts)]
        found.append([*off, ()] if few else off)
    return found


def covers(one: Switch, other: Switch) -> bool:
    """Whether a switch sets all that another one sets, as one does that needs the other."""
    return set(other.fields) <= set(one.fields) and set(other.settings) <= set(one.settings)


def without_switches(switches: Sequence[Switch], off: Sequence[Switch]) -> Set:
    """Return the switches that are left without some, and without those that would bring them back."""
    return tuple(s for s in switches if s not in off and not any(covers(s, gone) for gone in off))
