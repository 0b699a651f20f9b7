"""One of two nodes: a process on a core of its own, which has its worker measure what it is asked to.

    unshare --net python benchmarks/one_node.py CORE PARENT

A line of JSON on its standard input is a trial, its gang and a time limit; a line on its standard output is how the run
ended and what it measured. It dies with its parent. See `namespaces.py`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import msgspec

from programs import NO_GPU
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.trial import Trial
from trainspeed.sensors.processes import die_with_parent
from trainspeed.worker import backends
from trainspeed.worker.gang import Gang
from trainspeed.worker.request import Request

FRAMEWORK = "torch"
FIRST_OF_ALL = -20
MEASURED = ("epoch_s", "repeats", "link_sums", "parameters")


def main(core: int, parent: int) -> None:
    """Measure what is asked for until the input ends.

    Args:
        parent: Process that either node descends from. What uses a GPU below it is no stranger there; of the CPU, a
            run counts what its own process started alone.
    """
    os.sched_setaffinity(0, {core})
    os.nice(FIRST_OF_ALL)  # a node of one's own has nobody else who wants its core
    _tell({"ready": True})
    worker = WorkerProcess(find_interpreter(FRAMEWORK), backends.MODULES[FRAMEWORK], environment=NO_GPU)
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            request = Request(
                trial=Trial.from_dict(asked["trial"]),
                device="cpu",
                requested_at=time.monotonic(),
                inspect=True,
                runner_pid=parent,
                gang=msgspec.convert(asked.get("gang"), Gang | None),
            )
            outcome = worker.run(request, asked["timeout_s"])
            measured = {name: msgspec.to_builtins(getattr(outcome.result, name)) for name in MEASURED}
            _tell({"status": str(outcome.status), "reason": outcome.reason, "result": measured})
    finally:
        worker.close()


def _tell(values: dict[str, Any]) -> None:
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    die_with_parent(parent=int(sys.argv[2]))
    main(int(sys.argv[1]), int(sys.argv[2]))
