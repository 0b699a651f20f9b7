"""A study on the fake backend, as a program that a test can interrupt and kill.

python fake_study.py OUT SESSION [--resume] [--hang FRAMEWORK]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from trainspeed.conduct.context import Context
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework
from trainspeed.conduct.study import measure
from trainspeed.core.runs import Measured
from trainspeed.core.trial import FRAMEWORKS, grid
from trainspeed.worker import backends

BLOCKS = 2
RUNS = BLOCKS * 3 * 2  # frameworks and layouts


def run_study(
    context: Context, *, frameworks=FRAMEWORKS, weights=None, blocks: int = BLOCKS, **options
) -> Measured:
    """Measure both layouts in every framework, each by the fake backend."""
    tests = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    for framework in FRAMEWORKS:
        backends.MODULES[framework] = "fake_backend"
        os.environ.setdefault(f"TRAINSPEED_PYTHON_{framework.upper()}", sys.executable)
    trials = grid(
        framework=list(frameworks),
        model="cnn10",
        layout=["channels_first", "channels_last"],
        batch_size=8,
        images_per_epoch=16,
        epochs=3,
        image_size=8,
        weights=weights,
        dataset="digits",
    )
    controls = one_per_framework(trials) if options.pop("control", False) else ()
    part = TrialSet(trials=trials, blocks=blocks, controls=controls)
    plan = Plan(others=(part,), more=options.pop("more", None), **options.pop("plan", {}))
    return measure("layout", plan, context=context, **{"timeout_s": 60, "interval_s": 0.2, **options})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("session")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--hang", action="store_true")
    chosen = parser.parse_args()
    behaviour = [None, "hang with grandchild"] if chosen.hang else None
    measured = run_study(
        Context(id=chosen.session, out=chosen.out, resume=chosen.resume),
        weights=behaviour,
        frameworks=["torch"],
    )
    print(measured.summary())
