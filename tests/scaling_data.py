"""Made-up verdicts and runs on several devices, for the tests of what the articles are held against."""

from __future__ import annotations

from study_data import make_run
from trainspeed.core.run import Run
from trainspeed.core.trial import STRATEGIES, WITH_WORKERS, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import judge
from trainspeed.studies.multi_gpu.scaling import scaling_trials

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
EQUAL = {"model": "cnn10", "layout": "channels_last", "images_per_epoch": 64, "epochs": 3}
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


def trials(
    counts=(1, 2),
    frameworks=("tensorflow", "torch", "jax"),
    strategies=("mirrored", "ddp", "data_parallel"),
    **more,
):
    """Return the trials of a study of one device against several."""
    return scaling_trials(frameworks, strategies, counts, batch_size=[8], **EQUAL, **more)


def measured(seconds, blocks=6, **kwargs):
    """Runs of every trial; `seconds` says how long an epoch of a trial takes."""
    return [
        make_run(
            trial=trial,
            block=block,
            epoch_s=(9.0, *[seconds(trial) * (1 + 0.001 * block)] * 3),
            images_per_epoch=64,
        )
        for trial in trials(**kwargs)
        for block in range(blocks)
    ]


def halved(trial):
    """Return the seconds of an epoch that devices share without a loss."""
    return 4.0 / trial.devices
