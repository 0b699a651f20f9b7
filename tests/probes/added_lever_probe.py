"""In PyTorch's environment: a lever that Trainspeed does not have, added as CONTRIBUTING says, and a run with it."""

from __future__ import annotations

import json
import time

from trainspeed.core.levers.lever import Lever, Numbers
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import Trial
from trainspeed.worker import backends
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.events import Failed, ResultSent, decode
from trainspeed.worker.levers.hook import Hook
from trainspeed.worker.levers.torch_levers import HOOKS
from trainspeed.worker.measure import measure_trial
from trainspeed.worker.request import Request

NAME = "weight_decay"
ENTRY = Lever(
    name=NAME,
    words="weight decay",
    frameworks=("torch",),
    values=("0.5", "0.25"),
    numbers=Numbers.MODEL,
    missing=dict.fromkeys(("tensorflow", "jax"), "for a test"),
    evidence="the optimizer's own settings",
)


def options(value):
    return {"optimizer": {"weight_decay": float(value)}}


def seen(_value, training):
    found = training.optimizer.defaults["weight_decay"]
    return str(found), f"optimizer.defaults: weight_decay={found}"


HOOK = Hook(options=options, seen=seen)


class Channel:
    """Keeps the last event."""

    def send(self, line: bytes) -> None:
        self.last = decode(line)


def run(levers):
    """Return what a run saw of its levers, or why there was none."""
    trial = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_last",
        batch_size=8,
        images_per_epoch=16,
        epochs=3,
        image_size=8,
        dataset="digits",
        levers=levers,
    )
    channel = Channel()
    backend = backends.load_backend(backends.MODULES["torch"])
    request = Request(trial=trial, device="cpu", requested_at=time.monotonic())
    measure_trial(request, backend, images_of(trial), channel)
    if isinstance(channel.last, Failed):
        return channel.last.reason
    assert isinstance(channel.last, ResultSent), channel.last
    return channel.last.result.in_effect


def main(out: str) -> None:
    LEVERS[NAME] = ENTRY
    found = {"without a hook": run([f"{NAME}=0.5"])}
    HOOKS[NAME] = HOOK
    found |= {"added": run([f"{NAME}=0.5"]), "other value": run([f"{NAME}=0.25"]), "plain": run([])}
    with open(out, "w") as file:
        json.dump(found, file)
