"""The comparisons of this machine's runs that the articles' claims about several GPUs need. Measures nothing.

`evidence.check_claim` picks from them what fits a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trainspeed.core.run import Run
from trainspeed.core.trial import STRATEGIES, Trial
from trainspeed.judge.comparison import Verdict, compare_with
from trainspeed.studies.multi_gpu.scaling import scaling_verdicts

ARRAYS, PROCESSES, THREADS = "arrays", "processes", "threads"  # names of pipelines, as in a trial
PIPELINE_QUESTION = "On several devices, does another input pipeline train faster than threads?"
FRAMEWORK_QUESTION = "On several devices, does PyTorch train faster than TensorFlow?"


def claim_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return N devices over one; on N devices other pipelines over threads, and PyTorch over TensorFlow.

    Of whole steps only. N devices are compared with one at each input pipeline.

    Args:
        runs: Of the whole study, those of the input pipelines among them.
    """
    whole = [run for run in runs if run.trial.whole_steps]
    return [*scaling_verdicts(whole), *_over_threads(whole), *_over_tensorflow(whole)]


def _over_threads(runs: Sequence[Run]) -> list[Verdict]:
    """Plain arrays and processes over threads: over each number of them, since the article had 4 and 32."""
    counts = sorted({run.trial.workers for run in runs if run.trial.pipeline == THREADS})

    def threads(trial: Trial) -> list[Trial]:
        if trial.devices == 1 or trial.pipeline not in (ARRAYS, PROCESSES):
            return []
        return [replace(trial, pipeline=THREADS, workers=count, augment=True) for count in counts]

    return compare_with(runs, threads, "pipeline", question=PIPELINE_QUESTION)


def _over_tensorflow(runs: Sequence[Run]) -> list[Verdict]:
    """PyTorch over TensorFlow on as many devices: each with a strategy of its own, so not by `compare`."""

    def tensorflow(trial: Trial) -> list[Trial]:
        if trial.devices == 1 or (trial.framework, trial.pipeline) != ("torch", ARRAYS):
            return []
        return [replace(trial, framework="tensorflow", strategy=s) for s in STRATEGIES["tensorflow"][1:]]

    return compare_with(runs, tensorflow, "framework", question=FRAMEWORK_QUESTION)
