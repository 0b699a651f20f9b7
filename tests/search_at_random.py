"""Search on many made-up machines, and tell how often the search is right: `python tests/search_at_random.py 200`.

Arguments: how many machines, the number of the first one, the scatter of a run's log time. It exits with 1 where a row
is not met; `python benchmarks/run.py worlds` writes the same rows into docs/benchmarks.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from search_world import MADE, World, drive, kept, nulls, random_world
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CLOSE = math.log(1 + MARGIN)


@dataclass
class Score:
    """What came of searches on made-up machines.

    Attributes:
        worlds: Machines.
        found: Of them, those whose kept set is as fast as the best one, or within 2 %.
        nulls, nulls_kept: Levers that do nothing, and those of them that were kept.
        silent, silent_kept: Of these, those that were not in effect.
        claims, covered: Intervals of fresh blocks, and those that hold the truth.
        runs: That were measured.
        one_at_a_time: Runs of a search that tries one lever after the other in 6 blocks, and confirms in the same way.
    """

    worlds: int = 0
    found: int = 0
    nulls: int = 0
    nulls_kept: int = 0
    silent: int = 0
    silent_kept: int = 0
    claims: int = 0
    covered: int = 0
    runs: int = 0
    one_at_a_time: int = 0

    def add(self, world: World, search: Search, runs: int, confirming: int) -> None:
        """Count a search that has ended."""
        on = kept(search)
        self.worlds += 1
        self.found += world.best - world.speed(sorted(on)) <= CLOSE
        self.nulls += len(nulls(world))
        self.nulls_kept += len(nulls(world) & on)
        self.silent += len(world.silent)
        self.silent_kept += len(world.silent & on)
        self.runs += runs
        # A lever that fails, fails at once; the plain trial beside it runs on.
        tried = 16 - len(world.fails)
        self.one_at_a_time += 2 * MIN_BLOCKS * tried + (MIN_BLOCKS + 1) * len(world.fails) + confirming
        if (found := search.confirmation) is None:
            return
        everything = world.speed(_numbers(found.on))
        claims = [(everything, found.total)]
        for part in found.left_out:
            rest = [switch for switch in found.on if switch not in part.switches]
            claims.append((everything - world.speed(_numbers(rest)), part.time))
        sure = [(math.exp(truth), judged) for truth, judged in claims if judged.low is not None]
        self.claims += len(sure)
        self.covered += sum(judged.low <= truth <= judged.high for truth, judged in sure)


def scored(seeds: Iterable[int], **machine: float) -> Score:
    """Return what came of searches on the made-up machines of these numbers.

    Args:
        machine: Attributes of `World` that are not as usual.
    """
    score = Score()
    for seed in seeds:
        world, search = random_world(seed)
        for name, value in machine.items():
            setattr(world, name, value)
        measured = drive(search, world)
        confirming = sum(run.role in (Role.RECIPE, Role.PLAIN_AGAIN) for run in measured.runs)
        score.add(world, measured.search, len(measured.runs), confirming)
    return score


def _numbers(switches: Iterable[Switch]) -> list[int]:
    return [int(switch.lever.removeprefix("made_")) for switch in switches]


def register_levers() -> None:
    """Put the made-up levers into the registry, for good."""
    LEVERS.update(MADE)


def main() -> int:
    """Tell it, as rows of the benchmark; return 1 where one of them is missed."""
    sys.path.append(str(BENCHMARKS))
    from worlds import rows_of

    count, first, sd = (*sys.argv[1:], *("200", "0", "0.016")[len(sys.argv) - 1 :])
    register_levers()
    rows = rows_of(asdict(scored(range(int(first), int(first) + int(count)), sd=float(sd))))
    print(*rows, sep="\n")
    return int(any(row.endswith("| NO |") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
