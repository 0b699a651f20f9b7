"""What is compared: a trial of Trainspeed and the bare script of the same work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ours import Ours
from programs import Bare, Monitored, Program
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.levers.lever import ON, Setting
from trainspeed.core.levers.registry import environment_of
from trainspeed.core.trial import Trial
from trainspeed.sensors.memory import huge_pages_mode

HERE = Path(__file__).parent
# Of fresh processes, each with luck of its own with memory: a fused optimizer was seen to gain 7 % in one pair of
# processes and 19 % in another.
SETS, ROUNDS = 17, 8  # of 8 sets, the interval would be from the least ratio to the greatest
# Of a turn, at least: many short ones see more of what disturbs them.
SHORT_TURN_S, SHORT_TURN_EPOCHS = 0.4, 5


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trial of Trainspeed and the bare script of the same work.

    Attributes:
        script: In this folder; prints the seconds of each epoch, a line each.
        launcher: Arguments of the interpreter before the script.
        fork: Whether to look at what the fork costs, too.
    """

    name: str
    trial: Trial
    script: str
    launcher: tuple[str, ...] = ()
    fork: bool = False

    @property
    def framework(self) -> str:
        return self.trial.framework

    def bare(self, *, monitored: bool = False) -> Bare:
        work = self.trial
        numbers = (work.batch_size, work.images_per_epoch, work.image_size)
        make = Monitored if monitored else Bare
        return make(self.framework, str(HERE / self.script), numbers, self.launcher, environment=as_ours())

    def programs(self) -> dict[str, Program]:
        """The bare script twice, the forked run, and where it is looked at the plain process."""
        own = replace(self.trial, levers=tuple(huge_pages()))
        programs = {"bare": self.bare(), "again": self.bare(), "forked": Ours(own, ROUNDS)}
        return programs | ({"plain": Ours(own, ROUNDS, plain=True)} if self.fork else {})


# The work that the bare scripts do too: small, so that a turn of some seconds holds several epochs.
SMALL = {"model": "cnn10", "batch_size": 16, "images_per_epoch": 32, "image_size": 16}
ZOO = {"image_size": 32, "pipeline": "resize", "folds": 5}


def huge_pages() -> list[Setting]:
    """Return huge pages for all programs, where one may ask for them: which small ones a process gets is luck.

    By it two equal processes on one core differ by a standard deviation of 0.9 % in PyTorch (64 processes of cnn10) and
    of 1.1 % in TensorFlow (25); by 0 to 0.3 % with huge pages.
    """
    return [("huge_pages", ON)] if huge_pages_mode() == "madvise" else []


def as_ours() -> dict[str, str]:
    """Return what our runs have in their environment, for a bare script: what is compared is the rest."""
    return MALLOC_THRESHOLDS | environment_of(huge_pages())


def trial(framework: str, layout: str, **work: Any) -> Trial:
    return Trial(framework=framework, layout=layout, epochs=3, dataset="digits", **work).in_block(0)


CASES = [
    Case(
        name="torch",
        trial=trial("torch", "channels_first", **SMALL),
        script="bare_torch.py",
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
    ),
    Case(
        name="keras.applications mobilenet",
        trial=trial(
            "tensorflow", "channels_last", **ZOO, model="mobilenet", batch_size=8, images_per_epoch=16
        ),
        script="bare_keras_zoo.py",
    ),
]
