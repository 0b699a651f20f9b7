"""What a lever is worth by Trainspeed, and by two bare scripts of which one has the line that switches it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bounds import met
from cases import SMALL, trial
from programs import Bare, Ours, Program
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.levers.lever import Setting
from trainspeed.judge.verdict import Judgement, judge

HERE = Path(__file__).parent
AGREE = 0.03  # between what both say that a lever is worth
# Of fresh processes, each with luck of its own with memory: a fused optimizer was seen to gain 7 % in one pair of
# processes and 19 % in another.
SETS, ROUNDS = 8, 3
EIGHT_STEPS = 128  # images of an epoch that has as many steps as a call that takes several
SCRIPTS = {"torch": "bare_torch.py", "tensorflow": "bare_tensorflow.py"}
LAYOUTS = {"torch": "channels_first", "tensorflow": "channels_last"}


@dataclass(frozen=True, kw_only=True)
class LeverCase:
    """A lever, and how a bare script switches it on.

    Attributes:
        extras: Further arguments of the bare script.
        environment: Further variables of the bare script.
        images: Of an epoch.
    """

    framework: str
    setting: Setting
    extras: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    images: int = SMALL["images_per_epoch"]

    @property
    def name(self) -> str:
        return f"{self.framework}: {'='.join(self.setting)}"

    def programs(self, rounds: int) -> dict[str, Program]:
        """Return the bare script and our run, without the lever and with it."""
        plain = trial(self.framework, LAYOUTS[self.framework], **SMALL | {"images_per_epoch": self.images})
        numbers = (plain.batch_size, plain.images_per_epoch, plain.image_size)
        bare = partial(Bare, self.framework, str(HERE / SCRIPTS[self.framework]), numbers)
        return {
            "bare": bare(),
            "bare with it": bare(extras=self.extras, environment=self.environment),
            "ours": Ours(plain, rounds),
            "ours with it": Ours(plain.pulled(*self.setting), rounds),
        }


CASES = (
    LeverCase(framework="tensorflow", setting=("steps_per_call", "8"), extras=("8",), images=EIGHT_STEPS),
    LeverCase(framework="torch", setting=("threads", "all"), extras=("threads",)),
    LeverCase(framework="tensorflow", setting=("onednn", "off"), environment={"TF_ENABLE_ONEDNN_OPTS": "0"}),
    LeverCase(framework="torch", setting=("optimizer", "fused"), extras=("fused",)),
    LeverCase(framework="torch", setting=("sync_every_step", "on"), extras=("sync",)),
)


def parts(measure: Callable[..., dict[str, list[float]]]) -> dict[str, Callable[[], list[str]]]:
    """Return name -> what measures a lever and returns its row.

    Args:
        measure: `run.turns_of`.
    """
    known = [case for case in CASES if find_interpreter(case.framework)]
    return {f"lever {case.name}": partial(_rows, case, measure) for case in known}


def _rows(case: LeverCase, measure: Callable[..., dict[str, list[float]]]) -> list[str]:
    return [_row(case, measure(partial(case.programs, ROUNDS), sets=SETS, rounds=ROUNDS))]


def _row(case: LeverCase, seconds: Mapping[str, list[float]]) -> str:
    by_script = judge(seconds["bare"], seconds["bare with it"])
    by_ours = judge(seconds["ours"], seconds["ours with it"])
    each = zip(*(seconds[name] for name in ("bare", "bare with it", "ours", "ours with it")), strict=True)
    gains = [(bare / bare_with, ours / ours_with) for bare, bare_with, ours, ours_with in each]
    agreement = judge([ours for _, ours in gains], [script for script, _ in gains])
    return (
        f"| {case.name}: {ratio(by_ours)} by ours, {ratio(by_script)} by bare scripts; ours / theirs | "
        f"{ratio(agreement)} | within {AGREE:.0%} | {met(agreement, at_least=1 / (1 + AGREE), at_most=1 + AGREE)} |"
    )


def ratio(judged: Judgement) -> str:
    """Return a speed-up with its interval."""
    return f"{judged.speedup:.3f} ({judged.low:.3f} to {judged.high:.3f})"
