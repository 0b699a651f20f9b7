"""Made-up verdicts and runs on several devices, for the tests of what the articles are held against."""

from __future__ import annotations

from study_data import make_run
from trainspeed.core.run import Run
from trainspeed.core.trial import STRATEGIES, WITH_WORKERS, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import judge

USUAL = {
    "framework": "torch",
    "model": "cnn10",
    "layout": "channels_first",
    "batch_size": 64,
    "images_per_epoch": 640,
    "epochs": 4,
    "devices": 2,
    "pipeline": "arrays",
    "image_size": 32,
}
FED = {"framework": "tensorflow", "model": "cnn_keras", "layout": "channels_last"}  # as in article 002


def fields_of(**changed) -> dict:
    """Return a trial's fields: what follows from devices and pipeline is filled in."""
    fields = USUAL | changed
    fields.setdefault("workers", {"threads": 4, "processes": 16}.get(fields["pipeline"], 0))
    fields.setdefault("augment", fields["pipeline"] != "arrays")
    fields.setdefault("strategy", STRATEGIES[fields["framework"]][fields["devices"] > 1])
    if fields["pipeline"] not in WITH_WORKERS:
        fields["workers"] = 0
    return fields


def make_verdict(ratio=1.5, *, factor="devices", values=(1, 2), blocks=6, quantity="time", **more) -> Verdict:
    """Return a verdict between two trials; a pair among `more` has a value for each."""
    trials = []
    for end, value in enumerate(values):
        changed = {**more, factor: value}
        changed = {name: v[end] if isinstance(v, tuple) else v for name, v in changed.items()}
        trials.append(Trial(**fields_of(**changed)))
    return Verdict(
        session="",
        study="",
        question="",
        quantity=quantity,
        factor=factor,
        baseline=trials[0],
        candidate=trials[1],
        judgement=judge([ratio] * blocks, [1.0] * blocks),
        sentence="",
    )


def make_runs(seconds: float, *, blocks: int = 6, **changed) -> list[Run]:
    """Return runs of one trial, one in each block."""
    return [make_run(seconds, block=block, **fields_of(**changed)) for block in range(blocks)]
