"""The comparisons of this machine's runs that the articles' claims about several GPUs are checked against.

`articles.evidence.check_claim` picks those that fit a claim. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trainspeed.core.run import Run
from trainspeed.core.trial import STRATEGIES, Trial
from trainspeed.judge.comparison import Verdict, compare_with
from trainspeed.studies.multi_gpu.scaling import scaling_verdicts


def claim_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts on whole steps that the articles' claims are about.

    N devices are compared with one for each input pipeline. On N devices, arrays and processes are compared
    with threads, and PyTorch with TensorFlow.

    Args:
        runs: All runs of the study, including those of the input pipelines.
    """
    whole = [run for run in runs if run.trial.whole_steps]
    return [*scaling_verdicts(whole), *_against_threads(whole), *_against_tensorflow(whole)]


def _against_threads(runs: Sequence[Run]) -> list[Verdict]:
    """Every number of threads that ran is a baseline: the article had 4 and 32."""
    counts = sorted({run.trial.workers for run in runs if run.trial.pipeline == "threads"})

    def threads(trial: Trial) -> list[Trial]:
        if trial.devices == 1 or trial.pipeline not in ("arrays", "processes"):
            return []
        return [replace(trial, pipeline="threads", workers=count, augment=True) for count in counts]

    question = "On several devices, does another input pipeline train faster than threads?"
    return compare_with(runs, threads, "pipeline", question=question)


def _against_tensorflow(runs: Sequence[Run]) -> list[Verdict]:
    """The two need different strategies on several devices, so `compare` would not pair them."""

    def tensorflow(trial: Trial) -> list[Trial]:
        if trial.devices == 1 or (trial.framework, trial.pipeline) != ("torch", "arrays"):
            return []
        return [replace(trial, framework="tensorflow", strategy=s) for s in STRATEGIES["tensorflow"][1:]]

    question = "On several devices, does PyTorch train faster than TensorFlow?"
    return compare_with(runs, tensorflow, "framework", question=question)
