"""What is compared: a trial of Trainspeed and the bare script of the same work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ours import Ours
from programs import Bare, Monitored, Program
from trainspeed.core.trial import Trial

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trial of Trainspeed and the bare script of the same work.

    Attributes:
        script: In this folder; prints the seconds of each epoch, a line each.
        launcher: Arguments of the interpreter before the script.
        sets: Of fresh processes: each has its own luck with memory, which turns alone would not show. One
            where tracing takes longer than the turns.
        rounds: Turns of each program in a set.
        fork: Whether to look at what the fork costs, too.
    """

    name: str
    trial: Trial
    script: str
    launcher: tuple[str, ...] = ()
    sets: int = 1
    rounds: int = 22
    fork: bool = False

    @property
    def framework(self) -> str:
        return self.trial.framework

    def bare(self, *, monitored: bool = False) -> Bare:
        work = self.trial
        numbers = (work.batch_size, work.images_per_epoch, work.image_size)
        make = Monitored if monitored else Bare
        return make(self.framework, str(HERE / self.script), numbers, self.launcher)

    def programs(self) -> dict[str, Program]:
        """The bare script twice, the forked run, and where it is looked at the plain process."""
        programs = {"bare": self.bare(), "again": self.bare(), "forked": Ours(self.trial, self.rounds)}
        return programs | ({"plain": Ours(self.trial, self.rounds, plain=True)} if self.fork else {})


# The work that the bare scripts do too: small, so that a turn of some seconds holds several epochs.
SMALL = {"model": "cnn10", "batch_size": 16, "images_per_epoch": 32, "image_size": 16}
ZOO = {"image_size": 32, "pipeline": "resize", "folds": 5}


def trial(framework: str, layout: str, **work: Any) -> Trial:
    return Trial(framework=framework, layout=layout, epochs=3, dataset="digits", **work).in_block(0)


CASES = [
    Case(
        name="torch",
        trial=trial("torch", "channels_first", **SMALL),
        script="bare_torch.py",
        sets=2,
        rounds=11,
        fork=True,
    ),
    Case(
        name="tensorflow",
        trial=trial("tensorflow", "channels_last", **SMALL),
        script="bare_tensorflow.py",
        fork=True,
    ),
    Case(
        name="torch ddp on 2 CPU devices",
        # Longer epochs: each ends in a barrier.
        trial=trial(
            "torch", "channels_first", **SMALL | {"images_per_epoch": 128}, strategy="ddp", devices=2
        ),
        script="bare_ddp.py",
        launcher=("-m", "torch.distributed.run", "--nproc-per-node", "2"),
        sets=12,
        rounds=2,
    ),
    Case(
        name="tensorflow mirrored on 2 CPU devices",
        trial=trial("tensorflow", "channels_last", **SMALL, strategy="mirrored", devices=2),
        script="bare_mirrored.py",
    ),
    Case(
        name="timm resnet50",
        trial=trial("torch", "channels_last", **ZOO, model="resnet50", batch_size=4, images_per_epoch=4),
        script="bare_timm.py",
        rounds=16,
    ),
    Case(
        name="keras.applications mobilenet",
        trial=trial(
            "tensorflow", "channels_last", **ZOO, model="mobilenet", batch_size=8, images_per_epoch=16
        ),
        script="bare_keras_zoo.py",
        rounds=16,
    ),
]
