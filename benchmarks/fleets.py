"""What a fleet of many machines costs the head: planning, taking in, resuming and comparing, of runs that are made up.

    python benchmarks/fleets.py FOLDER MACHINES

does it for so many machines of two nodes in a fresh process, and prints seconds of each part and peak bytes.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import TrialSet, still_to_do
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, Ledger, as_line
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet, elapsed_s
from trainspeed.core.trial import grid
from trainspeed.report.intake import Intake
from trainspeed.report.request import ReportRequest

MACHINES, NODES = 500, 2
GROUPS, ARMS, BLOCKS = 10, 2, 10  # of each machine: 200 runs
RUNS = MACHINES * GROUPS * ARMS * BLOCKS
BLOCKS_AT_ONCE = 5  # a node's report is looked at twice a second
SECONDS, BYTES, LINEAR = 60, 2e9, 1.25  # wanted: of all, and of twice the cost of half the machines
SESSION, STUDY = "20260101T000000Z-0000", "layout"
TRIALS = grid(
    framework="torch",
    model="cnn10",
    layout=["channels_first", "channels_last"],
    batch_size=[8 * (number + 1) for number in range(GROUPS)],
    dataset="digits",
    image_size=8,
    images_per_epoch=160,
    epochs=3,
)


def planned(machine: str) -> Iterator[tuple[str, list[Run]]]:
    """Yield (node, the runs of a block) as two nodes share the blocks of a machine."""
    pace = Pace((), "cpu")
    part = TrialSet(trials=TRIALS, blocks=BLOCKS, factors=("layout",))
    table = Timetable(groups=groups_of([part], [""], [True], 0, block_s=pace.block_s), block_s=pace.block_s)
    done: dict[object, list[Run]] = {}
    queue = BlockQueue(
        table=table,
        end_s=math.inf,
        left_of=lambda group, number: still_to_do(
            group.blocks[number],
            [run for one in group.blocks[number] for run in done.get(one.key, ())],
            lambda one: False,
        ),
        begin=lambda groups: None,
        hands=NODES,
    )
    while blocks := [
        block
        for number in range(NODES)
        if (block := queue.take(f"twin {number}" if number else "", wait=False))
    ]:
        for number, block in enumerate(blocks, 1):
            seconds = 1.0 + block.number / 100
            runs = [_run(f"{machine}-{number}", one, seconds) for one in block.planned]
            pace.learn(block.group, seconds)
            for run in runs:
                done.setdefault(run.key, []).append(run)
            queue.finished(block)
            yield f"{machine}-{number}", runs


def _run(node: str, one, seconds: float) -> Run:
    return Run(
        session=SESSION,
        study=STUDY,
        trial=one.trial,
        block=one.block,
        label=one.label,
        node=node,
        machine={"device": "cpu", "cpu": "Example CPU", "gpus": []},
        versions={"torch": "2.15"},
        epoch_s=(seconds,) * 3,
        stages_s={"train": 3 * seconds},
        images_per_epoch=one.trial.images_per_epoch,
        started_at="2026-01-01T00:00:00.000+00:00",
    )


def measure(folder: Path, machines: int) -> dict[str, float]:
    """Return the seconds of each part, for so many machines."""
    names = [f"m{number}" for number in range(machines)]
    begun_s = time.perf_counter()
    sent = {name: [*planned(name)] for name in names}
    planned_s = time.perf_counter()
    request = ReportRequest(session=SESSION, preset="quick", notebooks=(STUDY,))
    for name, blocks in sent.items():
        intake, first = Intake(folder / name), f"{name}-1"
        intake.take(SESSIONS_FILE, as_line(asdict(request)) + "\n", first)
        for begin in range(0, len(blocks), BLOCKS_AT_ONCE):
            lines = [
                as_line(run.as_dict()) for _, runs in blocks[begin : begin + BLOCKS_AT_ONCE] for run in runs
            ]
            intake.take(RUNS_FILE, "\n".join(lines), first, [first, f"{name}-2"])
        if intake.taken != GROUPS * ARMS * BLOCKS:
            raise SystemExit(f"bench: {intake.taken} runs of {name} were kept.")
    taken_s = time.perf_counter()
    for name in names:
        text = Intake(folder / name, resume=True).of_session()[RUNS_FILE]
        elapsed_s(Ledger(folder / name).read({STUDY: SESSION})[0])
        if text.count("\n") != GROUPS * ARMS * BLOCKS:
            raise SystemExit(f"bench: {name} would not go on with all of its runs.")
    resumed_s = time.perf_counter()
    best = {}
    for name in names:
        runs = RunSet(Ledger(folder / name).read()[0]).newest().data()
        for trial, median_s in runs.medians(lambda run: run.median_s).items():
            best[trial] = min(best.get(trial, (math.inf, "")), (median_s, name))
    if len(best) != len({replace(trial, seed=0) for trial in TRIALS}):
        raise SystemExit(f"bench: {len(best)} jobs are compared.")
    return {
        "planning": planned_s - begun_s,
        "taking in": taken_s - planned_s,
        "resuming": resumed_s - taken_s,
        "comparing": time.perf_counter() - resumed_s,
    }


def measured(machines: int) -> tuple[dict[str, float], float]:
    """Return the seconds of each part and the peak of memory in bytes, of a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, folder, str(machines)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak_bytes = json.loads(answer.stdout)
    return seconds, peak_bytes


def rows(machines: int = MACHINES) -> list[str]:
    """Return the rows of the benchmark."""
    seconds, peak_bytes = measured(machines)
    half, _ = measured(machines // 2)
    total_s = sum(seconds.values())
    grown = total_s / (2 * sum(half.values()))
    runs = machines * GROUPS * ARMS * BLOCKS
    parts = ", ".join(f"{part} {spent_s:.1f} s" for part, spent_s in seconds.items())
    what = f"a made-up fleet of {machines * NODES:,} nodes and {runs:,} runs"
    return [
        f"| {what}: {parts} | {total_s:.0f} s | under {SECONDS} s | {'yes' if total_s < SECONDS else 'NO'} |",
        f"| the same, peak memory | {peak_bytes / 1e9:.2f} GB | under {BYTES / 1e9:.0f} GB | "
        f"{'yes' if peak_bytes < BYTES else 'NO'} |",
        f"| the same, cost of a run / with half the machines | {grown:.2f} | at most {LINEAR} | "
        f"{'yes' if grown <= LINEAR else 'NO'} |",
    ]


if __name__ == "__main__":
    spent = measure(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
