"""Prove the protocol of turns: A against A beside a noisy neighbour, planted effects, an arm alone, arms at rest.

Everything is measured by the runner and judged by the judge. Each block is in a ledger as soon as it is measured, so
that an interrupted benchmark can go on.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median

import rows_of_turns as rows
from neighbour import core_for, neighbour
from programs import NO_GPU
from trainspeed.conduct.context import new_id
from trainspeed.conduct.environments import environment_for
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.ledger import Ledger
from trainspeed.core.levers.lever import Setting
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, Trial, grid
from trainspeed.judge.comparison import judge_runs
from trainspeed.report.parameters import resolve_parameters
from trainspeed.sensors import machine as detect
from trainspeed.worker import backends

NAME = "protocol"  # begins the names of the parts
FOLDER = ROOT / ".cache/benchmarks"  # of the ledger
CALIBRATION = 3  # blocks before those that count: the first is warmer and holds the layer table
PLAIN_STEPS, PLANTED_STEPS = 12, 13  # 8 % more
# So that an epoch has about as many images as in a quick report, in the fewest steps that 8 % allow.
PLANTED_BATCH = 5
PLANTED_FRAMEWORK = "torch"
TURNS, ALONE = ("A in turns", "B in turns"), ("A alone", "B alone")  # labels
BEFORE, AFTER = "alone before", "alone after"
PLAIN, AGAIN, PLANTED = "plain", "plain again", "planted"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How much is measured, and beside whom.

    Attributes:
        blocks: Blocks of each way of measuring.
        repeats: Quick comparisons in which an effect is planted, of so many `planted_blocks` each.
        where: Core of the noisy neighbour: see `neighbour.core_for`.
        resume: Whether to go on with what is in the ledger.
    """

    blocks: int = 30
    repeats: int = 20
    planted_blocks: int = 6
    where: str = "other"
    seed: int = 0
    resume: bool = False
    folder: Path = FOLDER

    @property
    def full(self) -> bool:
        """Whether enough is measured, and as is wanted, for the record."""
        usual = Settings()
        enough = self.blocks >= usual.blocks and self.repeats >= usual.repeats
        return enough and self.planted_blocks == usual.planted_blocks and self.where == usual.where

    @cached_property
    def quick(self) -> dict:
        """The parameters of the layout notebook in a quick report."""
        return resolve_parameters(["layout"], ROOT / "notebooks", preset="quick")["layout"]

    def trial(self, framework: str, **changes: int) -> Trial:
        """Return a trial of the quick core comparison."""
        quick = self.quick
        fields = {name: quick[name] for name in ("image_size", "images_per_epoch", "epochs")}
        fields |= {"model": quick["models"][0], "batch_size": quick["batch_sizes"][0], "seed": self.seed}
        fields |= {"framework": framework, "layout": "channels_last", "dataset": "digits"}
        return grid(**fields | changes)[0]


class Study:
    """Blocks of runs, in the ledger or yet to be measured."""

    def __init__(self, name: str, settings: Settings) -> None:
        ledger = Ledger(settings.folder)
        self.name = name
        session = ledger.newest().get(name) if settings.resume else None
        self._runs = list(ledger.read({name: session})[0]) if session else []
        self._runner = Runner(
            ledger=ledger,
            session=session or new_id(),
            study=name,
            device="cpu",
            machine={"device": "cpu", **detect.detect_machine()},
            start=_start_worker,
            timeout_s=settings.quick["timeout_s"],
            turn_s=settings.quick["turn_s"],
            accuracy_blocks=0,
        )

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def measure(self, groups: Sequence[Sequence[Planned]]) -> None:
        """Measure groups of runs one after the other, unless all their runs are there: their pairs are close."""
        known = {run.key for run in self._runs}
        if all(planned.key in known for group in groups for planned in group):
            return
        started = time.monotonic()
        for group in groups:
            found = self._runner.measure_group(group)
            if failed := next((run for run in found if run.status != Status.OK), None):
                raise SystemExit(f"bench: {self.name}: {failed.status}: {failed.reason}")
            self._runs += found
        print(
            f"{self.name}: block {groups[0][0].block}: {time.monotonic() - started:.1f} s",
            file=sys.stderr,
            flush=True,
        )

    def runs(self, *labels: str, blocks: Sequence[int]) -> list[tuple[Run, ...]]:
        """Return block by block the runs with these labels, each as it was measured last."""
        last = {(run.label, run.block): run for run in self._runs}
        return [tuple(last[label, block] for label in labels) for block in blocks]

    def seen(self, label: str, block: int) -> Run | None:
        """Return a run, if it has been measured."""
        return next((r for r in self._runs if (r.label, r.block) == (label, block)), None)


def _start_worker(framework: str, settings: Iterable[Setting]) -> WorkerProcess:
    python = find_interpreter(framework)
    if python is None:
        raise Unavailable("it is not installed here; `make setup` installs it")
    return WorkerProcess(python, backends.MODULES[framework], environment=NO_GPU | environment_for(settings))


def together(trials: dict[str, Trial], block: int, draw: random.Random) -> list[list[Planned]]:
    """Return the runs of a block as one group, which takes turns; they start in random order."""
    arms = [Planned(block=block, label=label, trial=t.in_block(block)) for label, t in trials.items()]
    return [draw.sample(arms, len(arms))]


def apart(trials: dict[str, Trial], block: int, draw: random.Random) -> list[list[Planned]]:
    """Return the runs of a block as a group each, so that they run one after the other, in random order."""
    return [[arm] for arm in together(trials, block, draw)[0]]


def scatter(framework: str, settings: Settings) -> list[str]:
    """A against A, one after the other and in turns, at equal time, beside a noisy neighbour."""
    trial = settings.trial(framework)
    counted = range(CALIBRATION, CALIBRATION + settings.blocks)
    with ExitStack() as stack:
        study = stack.enter_context(Study(f"scatter {framework}", settings))
        stack.enter_context(neighbour(core_for(settings.where), settings.seed))
        epochs = _epochs_alone(study, trial, settings)
        for block in counted:
            _both_ways(study, trial, epochs, block, settings)
    ways = {
        name: study.runs(*labels, blocks=counted) for name, labels in (("alone", ALONE), ("turns", TURNS))
    }
    return rows.of_scatter(f"{framework}, {_beside(settings)}", ways["alone"], ways["turns"])


def _both_ways(study: Study, trial: Trial, epochs_alone: int, block: int, settings: Settings) -> None:
    draw = random.Random(f"{settings.seed}:{block}")
    alone = apart(dict.fromkeys(ALONE, replace(trial, epochs=epochs_alone)), block, draw)
    for groups in draw.sample([alone, together(dict.fromkeys(TURNS, trial), block, draw)], 2):
        study.measure(groups)


def _epochs_alone(study: Study, trial: Trial, settings: Settings) -> int:
    """Return how many epochs a run has to train alone, so that a block takes as long as one in turns."""
    if known := study.seen(ALONE[0], CALIBRATION):
        return known.trial.epochs
    study.measure(together(dict.fromkeys(TURNS, trial), 0, random.Random(settings.seed)))
    epochs = len(study.seen(TURNS[0], 0).epoch_s)
    blocks = range(1, CALIBRATION)
    for block in blocks:
        _both_ways(study, trial, epochs, block, settings)
    alone, turns = (study.runs(*labels, blocks=blocks) for labels in (ALONE, TURNS))
    # Both train as many epochs, whose noise would hide by how much the rest takes longer in turns.
    longer_s = median(
        _around_epochs_s(two) - _around_epochs_s(one) for one, two in zip(alone, turns, strict=True)
    )
    epoch_s = median(run.median_epoch_s for pair in alone for run in pair)
    return max(trial.epochs, epochs + round(longer_s / (len(ALONE) * epoch_s)))


def _around_epochs_s(runs: Sequence[Run]) -> float:
    return RunSet(runs).wall_s - sum(sum(run.epoch_s) for run in runs)


def planted(settings: Settings) -> list[str]:
    """Quick comparisons of three arms: one against itself, and against one that trains 8 % more steps."""

    def steps(count: int) -> Trial:
        images = count * PLANTED_BATCH
        return settings.trial(PLANTED_FRAMEWORK, batch_size=PLANTED_BATCH, images_per_epoch=images)

    # The epochs of all three are taken for the same work: none is scaled, since each trains all its images.
    trials = {PLAIN: steps(PLAIN_STEPS), AGAIN: steps(PLAIN_STEPS), PLANTED: steps(PLANTED_STEPS)}
    found = []
    with ExitStack() as stack:
        study = stack.enter_context(Study("planted", settings))
        stack.enter_context(neighbour(core_for(settings.where), settings.seed))
        for repeat in range(settings.repeats):
            blocks = range(repeat * settings.planted_blocks, (repeat + 1) * settings.planted_blocks)
            for block in blocks:
                draw = random.Random(f"{settings.seed}:{block}")
                study.measure(together(trials, block, draw))
            plain, again, more = zip(*study.runs(PLAIN, AGAIN, PLANTED, blocks=blocks), strict=True)
            found.append((judge_runs(plain, again), judge_runs(plain, more)))
            _tell(f"planted: comparison {repeat + 1} of {settings.repeats}", *found[-1])
    blocks = range(settings.repeats * settings.planted_blocks)
    plain, more = zip(*study.runs(PLAIN, PLANTED, blocks=blocks), strict=True)
    what = f"{PLANTED_FRAMEWORK}, comparison of {settings.planted_blocks} blocks, {_beside(settings)}"
    return rows.of_planted(what, found, judge_runs(plain, more), PLANTED_STEPS / PLAIN_STEPS)


def _tell(what: str, *judgements) -> None:
    print(what, *(f"{j.speedup:.3f} {j.outcome}" for j in judgements), sep=", ", file=sys.stderr, flush=True)


def alone(framework: str, settings: Settings) -> list[str]:
    """An arm that trains without a pause, before and after the same arm in turns beside another one."""
    trial = settings.trial(framework)
    counted = range(1, 1 + settings.blocks)  # the first is warmer and tells the number of epochs
    with Study(f"alone {framework}", settings) as study:
        study.measure(together(dict.fromkeys(TURNS, trial), 0, random.Random(settings.seed)))
        epochs = len(study.seen(TURNS[0], 0).epoch_s)
        for block in counted:
            draw = random.Random(f"{settings.seed}:{block}")
            lone = [apart({label: replace(trial, epochs=epochs)}, block, draw) for label in (BEFORE, AFTER)]
            study.measure([*lone[0], *together(dict.fromkeys(TURNS, trial), block, draw), *lone[1]])
    return rows.of_alone(framework, study.runs(BEFORE, AFTER, *TURNS, blocks=counted))


def waiting(settings: Settings) -> list[str]:
    """CPU and GPU use of arms that wait, in the runs of the other parts."""
    ledger = Ledger(settings.folder)
    if not (found := rows.of_waiting(ledger.read(ledger.newest())[0])):
        raise SystemExit("bench: no run of the protocol has waited yet: measure another part of it first.")
    return found


def _beside(settings: Settings) -> str:
    core = core_for(settings.where)
    words = {"own": "on the arms' core", "other": "on the other core"}
    return f"a noisy neighbour {words[settings.where]}" if core is not None else "no neighbour"


def parts(settings: Settings) -> dict[str, Callable[[], list[str]]]:
    """Return the parts of the benchmark by name."""
    here = [name for name in FRAMEWORKS if find_interpreter(name)]
    found = {f"{NAME} scatter {name}": partial(scatter, name, settings) for name in here}
    if PLANTED_FRAMEWORK in here:
        found[f"{NAME} planted"] = partial(planted, settings)
    found |= {f"{NAME} alone {name}": partial(alone, name, settings) for name in here}
    return found | {f"{NAME} waiting": partial(waiting, settings)}
