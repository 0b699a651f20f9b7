"""Trials and runs of input pipelines, of which it is planted what each part of an epoch takes."""

from study_data import make_run
from trainspeed.studies.multi_gpu.pipelines import pipeline_trials

ALL = ["arrays", "generator", "threads", "processes", "tf_data", "in_model"]
MODELS = ["cnn_keras"]
FIELDS = {
    "layout": "channels_last",
    "batch_size": 8,
    "images_per_epoch": 64,
    "epochs": 3,
}
# Seconds per epoch: the generator is slower than the computing, workers are not.
SECONDS = {"input": {"arrays": 0.1, "generator": 3.0, "threads": 1.5, "processes": 0.5, "tf_data": 0.4}}


def trials(pipelines=ALL, counts=(1,), workers=(2,), frameworks=("tensorflow", "torch")):
    return pipeline_trials(frameworks, MODELS, pipelines, workers, counts, **FIELDS)


def seconds_of(trial) -> float:
    if trial.part == "compute":
        return 1.0 / trial.devices
    taken = SECONDS["input"].get(trial.pipeline, 0.1)
    return taken if trial.part == "input" else taken + 1.0 / trial.devices


def measured(blocks=6, **kwargs):
    return [make_run(seconds_of(t), block=b, trial=t) for t in trials(**kwargs) for b in range(blocks)]
