"""Several CPU cores, each a device, beside a plain script on all of them: medians, not paired. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from trainspeed.core.format import counted, digits
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import DEVICES, OVER_ONE_CORE
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Outcome

UNPAIRED = "by medians, not paired, a plain script"


@dataclass(frozen=True, kw_only=True)
class PlainScript:
    """What a plain script takes for what several devices train, each a core, with threads on as many cores.

    Attributes:
        devices_s, plain_s: Median epoch of the devices, and of the plain script.
        plain_runs: How many runs of the plain script there are, looks at it among them.
        cores: How many both have.
        study: The one that measured the plain script.
        layout: That of the plain script, where the devices had another one; else None.
    """

    devices_s: float
    plain_s: float
    plain_runs: int
    cores: int
    study: str
    layout: str | None

    @property
    def outcome(self) -> Outcome:
        """How the plain script compares with the devices, by the medians alone."""
        ratio = self.devices_s / self.plain_s
        if 1 / (1 + MARGIN) <= ratio <= 1 + MARGIN:
            return Outcome.SAME
        return Outcome.FASTER if ratio > 1 else Outcome.SLOWER

    @property
    def words(self) -> str:
        """The outcome in words, with both medians and where the plain script's is from."""
        where = ", ".join(filter(None, (self.study, self.layout)))
        plain = f"{digits(self.plain_s)} s an epoch ({counted(self.plain_runs, 'run')})"
        times = f"{plain} against {digits(self.devices_s)} s"
        return f"{UNPAIRED} on {self.cores} cores ({where}) {self._does}: {times}"

    @property
    def brief(self) -> str:
        """The same without where the plain script's is from, for a phone's first screen."""
        times = f"{digits(self.plain_s)} s an epoch against {digits(self.devices_s)} s by medians"
        return f"a plain script on {self.cores} cores {self._does}: {times}"

    @property
    def _does(self) -> str:
        return {Outcome.SAME: "takes about as long"}.get(self.outcome, f"is {self.outcome}")


def is_on_cores(verdict: Verdict, machine: Mapping[str, Any]) -> bool:
    """Whether it is about several CPU cores, each a device, against one."""
    return verdict.factor == DEVICES and machine.get("device") == "cpu"


def plain_script(verdict: Verdict, machine: Mapping[str, Any], runs: Iterable[Run]) -> PlainScript | None:
    """Return what a plain script takes on the cores of a verdict's candidate; None where no run of a report tells.

    Of several layouts and studies the one with enough runs, else with the most; the candidate's own layout first.

    Args:
        machine, runs: Those of the report.
    """
    trial = verdict.candidate
    every_core = trial.nodes == 1 and (machine.get("cores") or {}).get("logical") == trial.devices
    if not is_on_cores(verdict, machine) or not every_core or not trial.phase.of_model:
        return None
    known = RunSet(tuple(runs)).ok().where(lambda run: run.trains and run.median_epoch_s is not None)
    own = known.of_study(verdict.study).data().by_trial().get(trial.spec)
    asked = replace(trial, strategy=SINGLE, devices=1).pulled(*ALL_CORES)
    every: dict[tuple[str, Trial], list[Run]] = {}
    for run in known:
        if run.role is not Role.ALLOCATION and _alike(run.trial, asked):
            every.setdefault((run.study, run.trial.spec), []).append(run)
    if not own or not every:
        return None
    # A search measures it in many sets: what it says of it is from fresh blocks.
    fresh = {arm: [run for run in runs if run.role is Role.RECIPE] or runs for arm, runs in every.items()}
    arms = {arm: [run.median_epoch_s for run in runs] for arm, runs in fresh.items()}

    def rank(arm: tuple[str, Trial]) -> tuple[bool, bool, int]:
        return len(arms[arm]) >= MIN_BLOCKS, arm[1].layout == trial.layout, len(arms[arm])

    study, plain = best = max(arms, key=rank)
    return PlainScript(
        devices_s=median(run.median_epoch_s for run in own),
        plain_s=median(arms[best]),
        plain_runs=len(arms[best]),
        cores=trial.devices,
        study=study,
        layout=plain.layout if plain.layout != trial.layout else None,
    )


def _alike(trial: Trial, asked: Trial) -> bool:
    """Whether two trials differ in nothing but what tells of no other work: layout, number of epochs, seed, fold."""
    return replace(trial.spec, layout=asked.layout, epochs=asked.epochs) == asked.spec


def beaten(verdicts: Iterable[Verdict], machine: Mapping[str, Any], runs: RunSet) -> dict[Verdict, str]:
    """Return those whose several cores are faster than one and slower than a plain script on them, with that in words.

    By the medians alone; arguments as of `plain_script`.
    """
    return {
        verdict: "no gain over a plain script"
        for verdict in verdicts
        if verdict.outcome is Outcome.FASTER
        and (plain := plain_script(verdict, machine, runs))
        and plain.outcome is Outcome.FASTER
    }


def over_one_core(verdict: Verdict, machine: Mapping[str, Any], runs: Iterable[Run]) -> str:
    """Return that a gain is one over a single core, and what is known of a plain script on all cores."""
    found = plain_script(verdict, machine, runs)
    return f"over one core; {found.words}" if found else f"{OVER_ONE_CORE}, which was not compared"


def plain_words(verdicts: Sequence[Verdict], machine: Mapping[str, Any], runs: Iterable[Run]) -> str:
    """Return in a line how a plain script compares with the devices of several verdicts; "" where nothing tells."""
    known = [found for verdict in verdicts if (found := plain_script(verdict, machine, runs))]
    if len(known) == len(verdicts) == 1:
        return known[0].brief
    faster = sum(found.outcome is Outcome.FASTER for found in known)
    few = f"{faster} of {len(known)}" if faster else "none of them"
    than = few if faster < len(known) else "both" if faster == 2 else f"all {faster}"
    return f"{UNPAIRED} on all cores is faster than {than}" if known else ""
