"""What a lever is worth by Trainspeed, and by two bare scripts of which one has the line that switches it on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from bounds import met
from cases import ROUNDS, SETS, SHORT_TURN_EPOCHS, SHORT_TURN_S, SMALL, as_ours, huge_pages, trial
from ours import Ours
from programs import Bare, Program
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.levers.host import plain_values
from trainspeed.core.levers.lever import Setting
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, judge
from trainspeed.sensors.machine import detect_machine

HERE = Path(__file__).parent
AGREE = 0.03  # between what both say that a lever is worth
FEWER_SETS = 9  # where an epoch takes half a second, as on a processor without AVX-512
SLOWED_EPOCHS = 20  # of a turn beside a program that takes several times as long,
SHORT = {"batch": 4, "images": 8}  # and so that a turn does not take seconds, of a quarter of the images
# An epoch of as many steps as a call that takes several, each so small that the call of it is much of it.
EIGHT_SMALL_STEPS = {"batch": 2, "images": 16, "size": 8}
SCRIPTS = {"torch": "bare_torch.py", "tensorflow": "bare_tensorflow.py"}
LAYOUTS = {"torch": "channels_first", "tensorflow": "channels_last"}


@dataclass(frozen=True, kw_only=True)
class LeverCase:
    """A lever, and how a bare script switches it on.

    Attributes:
        extras: Further arguments of the bare script.
        environment: Further variables of the bare script.
        batch: Images of a step.
        images: Of an epoch.
        size: Height and width of an image, in pixels.
        turn_epochs: Epochs of the bare script that a turn has at least: the slowest program has to train a few.
        sets: Of fresh processes.
    """

    framework: str
    setting: Setting
    extras: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    batch: int = SMALL["batch_size"]
    images: int = SMALL["images_per_epoch"]
    size: int = SMALL["image_size"]
    turn_epochs: int = SHORT_TURN_EPOCHS
    sets: int = SETS

    @property
    def name(self) -> str:
        return f"{self.framework}: {'='.join(self.setting)}"

    def programs(self, rounds: int) -> dict[str, Program]:
        """Return the bare script, once more for an A/A, and our run, without the lever and with it."""
        work = SMALL | {"batch_size": self.batch, "images_per_epoch": self.images, "image_size": self.size}
        pages = huge_pages()
        plain = trial(self.framework, LAYOUTS[self.framework], levers=pages, **work)
        numbers = (plain.batch_size, plain.images_per_epoch, plain.image_size)
        script = str(HERE / SCRIPTS[self.framework])

        def bare(extras: Sequence[str] = (), environment: Mapping[str, str] = MappingProxyType({})) -> Bare:
            # As our runs have them, so that what is compared is the lever alone.
            environment = as_ours() | dict(environment)
            return Bare(self.framework, script, numbers, extras=extras, environment=environment)

        ours = Ours(plain, rounds)
        return {
            "bare": bare(),
            "bare again": bare(),
            "bare with it": bare(self.extras, self.environment),
            "ours": ours,
            "ours with it": Ours(plain.pulled(*self.setting), rounds, sibling=ours),
        }


CASES = (
    LeverCase(framework="tensorflow", setting=("steps_per_call", "8"), extras=("8",), **EIGHT_SMALL_STEPS),
    LeverCase(framework="torch", setting=("threads", "all"), extras=("threads",)),
    LeverCase(
        framework="tensorflow",
        setting=("onednn", "off"),
        environment={"TF_ENABLE_ONEDNN_OPTS": "0"},
        turn_epochs=SLOWED_EPOCHS,
        **SHORT,
    ),
    LeverCase(
        framework="tensorflow",
        setting=("onednn", "on"),
        environment={"TF_ENABLE_ONEDNN_OPTS": "1"},
        sets=FEWER_SETS,
    ),
    LeverCase(framework="torch", setting=("optimizer", "fused"), extras=("fused",)),
    LeverCase(framework="torch", setting=("sync_every_step", "on"), extras=("sync",)),
)


def parts(
    measure: Callable[..., dict[str, list[float]]], sets: int | None = None
) -> dict[str, Callable[[], list[str]]]:
    """Return name -> what measures a lever and returns its row; none of a value that a script has here by itself.

    Args:
        measure: `run.turns_of`.
        sets: Of fresh processes; None: as many as each has.
    """
    plain = plain_values(detect_machine())
    known = [
        case
        for case in CASES
        if find_interpreter(case.framework) and plain.get(case.setting[0]) != case.setting[1]
    ]
    return {f"lever {case.name}": partial(_rows, case, measure, sets or case.sets) for case in known}


def _rows(case: LeverCase, measure: Callable[..., dict[str, list[float]]], sets: int) -> list[str]:
    turns = {"rounds": ROUNDS, "turn_s": SHORT_TURN_S, "turn_epochs": case.turn_epochs}
    seconds = measure(partial(case.programs, ROUNDS), sets=sets, **turns)
    return rows_of(case, seconds, "sets of processes" if sets >= MIN_BLOCKS else "rounds")


def rows_of(
    case: LeverCase, seconds: Mapping[str, list[float]], unit: str = "sets of processes"
) -> list[str]:
    """Return the rows on a lever: what both say that it is worth, and the bare script against itself.

    Args:
        unit: What each number of a program is of.
        seconds: Program -> seconds of an epoch in each set of processes.
    """
    without = [math.sqrt(one * two) for one, two in zip(seconds["bare"], seconds["bare again"], strict=True)]
    by_script = judge(without, seconds["bare with it"])
    by_ours = judge(seconds["ours"], seconds["ours with it"])
    each = zip(without, *(seconds[name] for name in ("bare with it", "ours", "ours with it")), strict=True)
    gains = [(bare / bare_with, ours / ours_with) for bare, bare_with, ours, ours_with in each]
    agreement = judge([ours for _, ours in gains], [script for script, _ in gains])
    noise = judge(seconds["bare"], seconds["bare again"])
    return [
        f"| {case.name}: {ratio(by_ours)} by ours, {ratio(by_script)} by bare scripts; ours / theirs | "
        f"{ratio(agreement)} | within {AGREE:.0%} | {met(agreement, at_least=1 / (1 + AGREE), at_most=1 + AGREE)} |",
        f"| {case.name}: the bare script against itself (A/A) | {ratio(noise)}, {noise.blocks} {unit} | "
        "the resolution | |",
    ]


def ratio(judged: Judgement) -> str:
    """Return a speed-up with its interval."""
    return f"{judged.speedup:.3f} ({judged.low:.3f} to {judged.high:.3f})"
