"""How often a search is right, on made-up machines of which the truth is known: those of `tests/search_at_random.py`.

    python benchmarks/worlds.py

prints the counts; in a process of its own, for the made-up levers that it registers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict

from bounds import met
from scatter import share
from trainspeed.core.paths import ROOT

TESTS = ROOT / "tests"
WORLDS = 200
FOUND, NULLS_KEPT, COVER, RUNS = 0.90, 0.02, 0.93, 0.75  # wanted, of machines, levers, intervals and runs


def rows() -> list[str]:
    """Return how often the search was right, with the intervals of the shares."""
    command = [sys.executable, __file__]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return rows_of(json.loads(answer.stdout))


def rows_of(count: Mapping[str, int]) -> list[str]:
    """Return the rows on counts by name, as in `search_at_random.Score`."""
    what = f"{count['worlds']} made-up machines of 16 levers"
    silent_kept = count["silent_kept"]
    idle, idle_kept = count["nulls"] - count["silent"], count["nulls_kept"] - silent_kept
    runs = count["runs"] / count["one_at_a_time"]
    return [
        f"| {what}: the best set is kept, or one within 2 % | {_share(count['found'], count['worlds'], FOUND)} |",
        f"| the same: levers that are in effect, do nothing and are kept | "
        f"{_share(idle_kept, idle, NULLS_KEPT, most=True)} |",
        f"| the same: levers that are not in effect and are kept | {silent_kept} of {count['silent']} | none | "
        f"{'NO' if silent_kept else 'yes'} |",
        f"| the same: claimed intervals that hold the truth | {_share(count['covered'], count['claims'], COVER)} |",
        f"| the same: runs, of those of one lever after the other | {runs:.0%} | at most {RUNS:.0%} | "
        f"{'yes' if runs <= RUNS else 'NO'} |",
    ]


def _share(hits: int, trials: int, wanted: float, *, most: bool = False) -> str:
    found = share(hits, trials)
    judged = met(found, at_most=wanted) if most else met(found, at_least=wanted)
    return f"{hits} of {trials}: {found:.1%} | at {'most' if most else 'least'} {wanted:.0%} | {judged}"


def counted() -> dict[str, int]:
    """Return the counts of all machines; the levers that it registers stay registered."""
    sys.path.append(str(TESTS))
    from search_at_random import register_levers, scored

    register_levers()
    return asdict(scored(range(WORLDS)))


if __name__ == "__main__":
    print(json.dumps(counted()))
