"""What a fleet of many machines costs the head: planning, taking in, resuming, and the page that compares them.

The runs are made up.

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
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import TrialSet, still_to_do
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.files import FLEET
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, Ledger, as_line
from trainspeed.core.run import Run
from trainspeed.core.runs import elapsed_s
from trainspeed.core.trial import grid
from trainspeed.report.compare import compare_reports
from trainspeed.report.intake import Intake
from trainspeed.report.request import ReportRequest

MACHINES, NODES = 500, 2
GROUPS, ARMS, BLOCKS = 10, 2, 10  # of each machine
RUNS_EACH = GROUPS * ARMS * BLOCKS
BLOCKS_AT_ONCE = 5  # a node's report is looked at twice a second
SECONDS, BYTES, LINEAR = 60, 2e9, 1.25  # wanted: of all, and of twice the cost of half the machines
KIB = 1024  # Linux tells the peak of memory in them
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
    groups = groups_of([part], [""], [True], 0, first_s=pace.first_s)
    table = Timetable(groups=groups, first_s=pace.first_s, block_s=pace.block_s)
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
            pace.learn(block.group, seconds, runs)
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
    """Return the seconds of planning, taking in and resuming, for so many machines, one after another.

    The runs of a machine are dropped with it, as on the head, which holds no run that a node sends: what is measured
    is then what a machine costs, not what the collector of garbage has to walk through for all of them.
    """
    spent = dict.fromkeys(("planning", "taking in", "resuming"), 0.0)
    for name in names_of(machines):
        begun_s = time.perf_counter()
        blocks = [*planned(name)]
        planned_s = time.perf_counter()
        _take_in(folder / name, name, blocks)
        taken_s = time.perf_counter()
        text = Intake(folder / name, resume=True).of_session()[RUNS_FILE]
        elapsed_s(Ledger(folder / name).read({STUDY: SESSION})[0])
        if text.count("\n") != RUNS_EACH:
            raise SystemExit(f"bench: {name} would not go on with all of its runs.")
        spent["planning"] += planned_s - begun_s
        spent["taking in"] += taken_s - planned_s
        spent["resuming"] += time.perf_counter() - taken_s
    return spent


def _take_in(folder: Path, name: str, blocks: Sequence[tuple[str, list[Run]]]) -> None:
    request = ReportRequest(session=SESSION, preset="quick", notebooks=(STUDY,))
    intake, first = Intake(folder), f"{name}-1"
    intake.take(SESSIONS_FILE, as_line(asdict(request)) + "\n", first)
    for begin in range(0, len(blocks), BLOCKS_AT_ONCE):
        lines = [as_line(run.as_dict()) for _, runs in blocks[begin : begin + BLOCKS_AT_ONCE] for run in runs]
        intake.take(RUNS_FILE, "\n".join(lines), first, [first, f"{name}-2"])
    if intake.taken != RUNS_EACH:
        raise SystemExit(f"bench: {intake.taken} runs of {name} were kept.")


def compare(folder: Path, machines: int) -> dict[str, float]:
    """Return the seconds of comparing the machines that `measure` left there: the fleet's own page, by its kernel."""
    begun_s = time.perf_counter()
    sides = [folder / name for name in names_of(machines)]
    with redirect_stdout(sys.stderr):
        code = compare_reports(sides, out=folder, name=FLEET)
    if code or not (folder / f"{FLEET}.html").is_file():
        raise SystemExit(f"bench: the page of {machines} machines was not drawn: exit code {code}.")
    return {"comparing, as a page": time.perf_counter() - begun_s}


def names_of(machines: int) -> list[str]:
    """Return what the machines are called, and their folders."""
    return [f"m{number}" for number in range(machines)]


def peak_bytes() -> float:
    """Return the peak memory of this process and, beside it, of the largest that it started: the page's kernel.

    An upper limit: a process that was started is said to have used at least what its parent did then.
    """
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(who).ru_maxrss * KIB for who in whose)


def measured(machines: int) -> tuple[dict[str, float], float]:
    """Return the seconds of each part and the peak of memory in bytes, of a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, folder, str(machines)]
        answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"bench: a fleet of {machines} machines failed:\n{answer.stderr.strip()}")
    seconds, most_bytes = json.loads(answer.stdout)
    return seconds, most_bytes


def rows(machines: int = MACHINES) -> list[str]:
    """Return the rows of the benchmark."""
    seconds, most_bytes = measured(machines)
    half, _ = measured(machines // 2)
    total_s = sum(seconds.values())
    grown = total_s / (2 * sum(half.values()))
    runs = machines * RUNS_EACH
    parts = ", ".join(f"{part} {spent_s:.1f} s" for part, spent_s in seconds.items())
    what = f"a made-up fleet of {machines * NODES:,} nodes and {runs:,} runs"
    return [
        f"| {what}: {parts} | {total_s:.0f} s | under {SECONDS} s | {'yes' if total_s < SECONDS else 'NO'} |",
        f"| the same, peak memory of the head and its page's kernel, at most | {most_bytes / 1e9:.2f} GB | "
        f"under {BYTES / 1e9:.0f} GB | {'yes' if most_bytes < BYTES else 'NO'} |",
        f"| the same, cost of a run / with half the machines | {grown:.2f} | at most {LINEAR} | "
        f"{'yes' if grown <= LINEAR else 'NO'} |",
    ]


if __name__ == "__main__":
    where, count = Path(sys.argv[1]), int(sys.argv[2])
    spent = measure(where, count) | compare(where, count)
    print(json.dumps([spent, peak_bytes()]))
