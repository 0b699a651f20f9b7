"""Measure Trainspeed itself, as ratios from one run, and write docs/benchmarks.md.

make bench                             everything, several hours; leave the machine alone meanwhile
python benchmarks/run.py ddp mirrored  only the parts that have one of these words in their name
python benchmarks/run.py protocol      what the protocol of turns is worth, about 2 hours; --resume goes on with it
python benchmarks/run.py best --resume with what earlier searches found, where it is kept; the sets are new
python benchmarks/run.py report --report FOLDER --budget-s 900   a report that has been made, and its budget

A part is written as soon as it is measured, and replaces its own section only. With other blocks, repeats, sets,
searches or another neighbour than usual it is printed, not written.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import convolutions
import document
import fleets
import ledgers
import levers
import links
import protocol
import ray_node
import reports
import searches
import worlds
from bounds import Interval, met
from cases import CASES, ROUNDS, SETS, SHORT_TURN_EPOCHS, SHORT_TURN_S, Case
from levers import ratio
from ours import Worker
from programs import Program, take_turns
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, judge, median_interval
from trainspeed.sensors import machine as detect
from trainspeed.worker.request import Request
from turns import TURN_EPOCHS, TURN_S, of_a_set, paired

ENOUGH = 0.98  # of the bare script's throughput
SHORT_RUNS = 6  # for the start-up
START_S = 0.3
MONITOR_SETS, MONITOR_ROUNDS = 12, 4
OF_SETS = ("lever ", "best ", "seeds ", "zoo ")  # parts of many sets of processes, or of searches
INTRODUCTION = f"""# Benchmarks of Trainspeed itself

Written by `make bench`; `python benchmarks/run.py` followed by a part's name measures that part anew and leaves the \
others. The programs of a comparison with a bare script train side by side and take turns of {SHORT_TURN_S} s or \
{SHORT_TURN_EPOCHS} epochs ({searches.TURN_EPOCHS} beside what a search found; {TURN_S} s or {TURN_EPOCHS} with the \
monitor), in a random order in each round, while the others are stopped; from 2026-11-26 on they start in one, too, \
behind one that is not measured, and from 2026-11-29 on with huge pages, where one may ask for them, as it is luck \
which small ones a process gets; ratios of the turns' median epochs, paired by round, with their 95 % interval. What \
has an interval is met where the whole interval is as wanted, not met where none of it is, and else undecided; what is \
counted, such as planted effects that were found, is met by its count. On one core where nothing else is said. \
How the protocol of turns itself is proved: `benchmarks/protocol.py`.
"""


def turns_of(
    make: Callable[[], dict[str, Program]],
    *,
    sets: int,
    rounds: int,
    turn_s: float = TURN_S,
    turn_epochs: int = TURN_EPOCHS,
) -> dict[str, list[float]]:
    """Return the epochs of each program's turns, in seconds, paired by round.

    With enough sets of fresh processes, one number per set instead: processes have luck of their own, with
    memory for one, and then rounds within a set are no repeats of it.

    Args:
        turn_s, turn_epochs: Of a turn, at least.
    """
    pooled: dict[str, list[float]] = {}
    for number in range(sets):
        found = paired(take_turns(make(), rounds=rounds, seed=number, turn_s=turn_s, turn_epochs=turn_epochs))
        if sets >= MIN_BLOCKS:
            found = (
                {name: [seconds] for name, seconds in of_a_set(found).items()} if all(found.values()) else {}
            )
        for name, seconds in found.items():
            pooled.setdefault(name, []).extend(seconds)
        print(
            f"set {number + 1} of {sets} is measured", file=sys.stderr, flush=True
        )  # no numbers: who would stop?
    rounds_left = min(map(len, pooled.values()), default=0)
    if rounds_left < MIN_BLOCKS:
        raise SystemExit(f"bench: only {rounds_left} rounds could be paired: measure again.")
    return pooled


def against_bare(case: Case) -> list[str]:
    """Epochs of a forked run and of the bare script, and the bare script twice."""
    seconds = turns_of(
        case.programs, sets=SETS, rounds=ROUNDS, turn_s=SHORT_TURN_S, turn_epochs=SHORT_TURN_EPOCHS
    )
    bare = [math.sqrt(one * two) for one, two in zip(seconds["bare"], seconds["again"], strict=True)]
    throughput = judge(bare, seconds["forked"])
    noise = judge(seconds["bare"], seconds["again"])
    rows = [
        f"| {case.name}: throughput of a measured epoch / bare script | {ratio(throughput)} | at least {ENOUGH} | "
        f"{met(throughput, at_least=ENOUGH)} |",
        f"| {case.name}: the bare script against itself (A/A) | {ratio(noise)}, {noise.blocks} sets of "
        "processes | the resolution | |",
    ]
    if not case.fork:
        return rows
    forking, start_s = judge(seconds["plain"], seconds["forked"]), starts_s(case)
    start = Interval(*median_interval(start_s))
    return [
        *rows,
        f"| {case.name}: plain process / forked child, epoch time | {ratio(forking)} | within 2 % | "
        f"{met(forking, at_least=1 / (1 + MARGIN), at_most=1 + MARGIN)} |",
        f"| {case.name}: start-up of a run after the first | {median(start_s):.3f} s ({start.low:.3f} to "
        f"{start.high:.3f}) | at most {START_S} s | {met(start, at_most=START_S)} |",
    ]


def starts_s(case: Case) -> list[float]:
    """Seconds from the request to a child that begins to build, of the runs after a worker's first."""
    worker, found = Worker(case.framework), []
    try:
        for _ in range(1 + SHORT_RUNS):
            outcome = worker.run(
                Request(trial=case.trial, device="cpu", requested_at=time.monotonic()), timeout_s=300
            )
            if outcome.status != Status.OK:
                raise SystemExit(f"bench: {case.name}: {outcome.status}: {outcome.reason}")
            found.append(outcome.result.stages_s["start"])
    finally:
        worker.close()
    return found[1:]


def monitor_cost() -> list[str]:
    """Epochs with and without the monitor beside them, and what the monitor itself uses."""
    case, monitored = CASES[0], []

    def programs() -> dict[str, Program]:
        monitored.append(case.bare(monitored=True))
        return {"off": case.bare(), "off again": case.bare(), "on": monitored[-1]}

    seconds = turns_of(programs, sets=MONITOR_SETS, rounds=MONITOR_ROUNDS)
    off = [math.sqrt(one * two) for one, two in zip(seconds["off"], seconds["off again"], strict=True)]
    judged = judge(seconds["on"], off)
    noise = judge(seconds["off again"], seconds["off"])
    ran_s = sum(sum(program.on_s[1:]) for program in monitored)
    share = sum(program.cpu_s for program in monitored) / ran_s
    return [
        f"| monitor on / off, epoch time | {ratio(judged)} | at most 1.01 | {met(judged, at_most=1.01)} |",
        f"| monitor off / off (A/A) | {ratio(noise)}, {noise.blocks} sets of processes | the resolution | |",
        f"| monitor at 1 s, share of one core over {ran_s:.0f} s | {share:.2%} | under 1 % | "
        f"{'yes' if share < 0.01 else 'NO'} |",
    ]


def work_of(case: Case) -> str:
    work = case.trial
    return (
        f"{case.name}: {work.model}, batch {work.batch_size}, epochs of {work.images_per_epoch} images of "
        f"{work.image_size} px, {SETS * ROUNDS} rounds in {SETS} sets of processes."
    )


def about(part: str, machine: dict, cases: Sequence[Case]) -> str:
    """Return when and where a part was measured, and of which work."""
    gpus = ", ".join(gpu["name"] for gpu in machine["gpus"]) or "no GPU"
    best = "".join(f" ({flag})" for flag in machine["cpu_flags"][-1:])  # several processors have one name
    cores = f"{machine['cores']['logical']} cores"
    facts = f"{datetime.now(UTC):%Y-%m-%d}", f"{machine['cpu']}{best}", cores, gpus, f"{machine['os']}."
    return " ".join([", ".join(facts), *(work_of(case) for case in cases if case.name == part)])


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for."""
    usual = protocol.Settings()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts to measure, by words in their names; all by default")
    parser.add_argument("--blocks", type=int, default=usual.blocks, help="of each way of measuring")
    parser.add_argument("--repeats", type=int, default=usual.repeats, help="comparisons with planted effects")
    parser.add_argument("--planted-blocks", type=int, default=usual.planted_blocks, help="of each of them")
    parser.add_argument("--neighbour", choices=("other", "own", "none"), default=usual.where, help="its core")
    parser.add_argument("--resume", action="store_true", help="go on with the protocol; do not search again")
    parser.add_argument(
        "--sets", type=int, help="of fresh processes, of a lever or a search; 1: does it run?"
    )
    parser.add_argument("--search-s", type=float, help="seconds of each search")
    parser.add_argument("--report", type=Path, default=ROOT / "outputs", help="folder of a finished report")
    parser.add_argument("--budget-s", type=float, help="of that report, where its folder does not tell")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else stopped programs would stay behind
    asked = options(arguments)
    settings = protocol.Settings(
        blocks=asked.blocks,
        repeats=asked.repeats,
        planted_blocks=asked.planted_blocks,
        where=asked.neighbour,
        resume=asked.resume,
    )
    machine = detect.detect_machine()
    cases = [case for case in CASES if find_interpreter(case.framework)]
    parts = reports.parts(asked.report, asked.budget_s)
    parts |= {"ledger": ledgers.reading, "fleet": fleets.rows, "monitor": monitor_cost}
    parts |= {"conv2d harness": convolutions.harness, "conv2d limit": convolutions.limit}
    parts |= {case.name: partial(against_bare, case) for case in cases} | protocol.parts(settings)
    parts |= levers.parts(turns_of, asked.sets) | links.parts() | ray_node.parts(settings)
    amount = searches.Amount(sets=asked.sets, search_s=asked.search_s, resume=asked.resume)
    parts |= searches.parts(turns_of, amount) | {"worlds": worlds.rows}
    wanted = {
        name: part
        for name, part in parts.items()
        if not asked.words or any(word in name for word in asked.words)
    }
    if not wanted:
        raise SystemExit(f"bench: no part has one of these words: choose of {', '.join(parts)}.")
    for name, part in wanted.items():
        rows = part()
        print(*rows, sep="\n", flush=True)
        full = settings.full if name.startswith((protocol.NAME, ray_node.NAME)) else True
        if name.startswith(OF_SETS):
            full = not (asked.sets or asked.search_s)
        if full:
            document.put(
                ROOT / "docs/benchmarks.md",
                INTRODUCTION,
                [document.section(name, about(name, machine, cases), rows)],
                list(parts),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
