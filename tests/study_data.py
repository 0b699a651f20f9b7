"""Trials and runs for the tests of judgements: exact numbers without noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trainspeed.conduct.given_up import GivenUp
from trainspeed.conduct.plan import Planned
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.trial import Trial

TRIAL = {
    "framework": "torch",
    "model": "cnn10",
    "layout": "channels_first",
    "batch_size": 32,
    "images_per_epoch": 128,
    "epochs": 4,
    "image_size": 16,
}
TINY = {"batch_size": 8, "images_per_epoch": 16, "epochs": 3, "image_size": 8, "dataset": "digits"}
MACHINE = {"device": "cpu", "cpu": "Test CPU", "gpus": []}
VERSIONS = {"torch": "2.15.0", "tensorflow": "2.21.0", "jax": "0.10.2"}


def make_trial(**changed) -> Trial:
    """Return the usual trial with these changes; JAX is compiled, as by `grid`."""
    compiled = {"compile": True} if changed.get("framework") == "jax" else {}
    return Trial(**{**TRIAL, **compiled, **changed})


def tiny_trial(**changed) -> Trial:
    """Return a trial that a framework really trains, in a second or so, with these changes."""
    return make_trial(**{**TINY, **changed})


def make_run(seconds: float = 1.0, *, block: int = 0, status: Status = Status.OK, **more) -> Run:
    """Return a run whose later epochs took so many seconds; `more` are fields of the run or of the trial."""
    of_trial = {name: more.pop(name) for name in list(more) if name in Trial.__dataclass_fields__}
    same = ("batch_size", "images_per_epoch")
    given = {name: getattr(more["trial"], name) for name in same} if "trial" in more else {}
    trial = make_trial(**{"seed": block, **given, **of_trial})
    measured = {
        "epoch_s": (3 * seconds, seconds, seconds, seconds),
        "images_per_epoch": trial.images_per_epoch,
        "compiled_anew": True,
    }
    fields = {
        "session": "20261120T100000Z-abcd",
        "study": "layout",
        "trial": trial,
        "block": block,
        "status": status,
        "machine": MACHINE,
        "versions": {trial.framework: VERSIONS[trial.framework]},
        **(measured if status == Status.OK else {"reason": "for a test"}),
    }
    return Run(**{**fields, **more})


def no_use_after(runs: Iterable[Run], *missing: str) -> Callable[[Planned], bool]:
    """Return what tells of a planned run whether it is no use, by how these runs ended.

    Args:
        missing: Frameworks that cannot be started now.
    """
    given_up = GivenUp("cpu")
    given_up.learn_again(runs, missing)
    return given_up.holds


def make_pair(factor: str, values: tuple, ratios, **more) -> list[Run]:
    """Return runs of two arms in as many blocks as ratios: baseline time / candidate time is the ratio."""
    runs = []
    for block, ratio in enumerate(ratios):
        runs.append(make_run(ratio, block=block, **{factor: values[0]}, **more))
        runs.append(make_run(1.0, block=block, **{factor: values[1]}, **more))
    return runs


def layout_pair(ratios, **more) -> list[Run]:
    """Return channels_first against channels_last."""
    return make_pair("layout", ("channels_first", "channels_last"), ratios, **more)


def control_runs(ratios):
    runs = []
    for block, ratio in enumerate(ratios):
        runs.append(make_run(ratio, block=block, label=Role.CONTROL))
        runs.append(make_run(1.0, block=block, label=Role.CONTROL_AGAIN))
    return runs
