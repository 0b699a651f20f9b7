"""Checks of the machine while it is measured: are a GPU's clocks steady, and does watching it cost nothing?"""

from __future__ import annotations

from statistics import median, quantiles

from trainspeed.core.format import percent
from trainspeed.core.notes import GpuSlowedDown
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, of_probe, within
from trainspeed.judge.clocks import CLOCK_SHARE

PROBE = "monitor"
MIN_TURNS = 10  # of which one at each end may be an exception
CORE_SHARE = 0.01  # of one CPU core, at most, for the monitor


def is_steady(runs: RunSet) -> list[Check]:
    """Return whether GPUs kept their clock over all turns of a training, and nothing but their design held it down."""
    expected = f"within {percent(CLOCK_SHARE)} of its median in 8 of 10 turns, and nothing slows it down"
    name = "The GPU's clock is steady"
    in_turns = [run for run in runs if run.turns]
    slowed = [note for run in runs for note in run.notes if isinstance(note, GpuSlowedDown)]
    return [
        Check(
            name=name,
            expected=expected,
            framework=framework,
            **vars(_steady([run for run in in_turns if run.trial.framework == framework], slowed)),
        )
        for framework in dict.fromkeys(run.trial.framework for run in in_turns)
    ]


def _steady(runs: list, slowed: list[GpuSlowedDown]) -> Finding:
    clocks = [mhz for run in runs for mhz in run.round_clock_mhz.values()]
    if not clocks:
        on_gpu = any(run.machine.get("device") == "gpu" for run in runs)
        reason = "the GPU does not tell its clock" if on_gpu else "there is no GPU to read a clock of"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    middle = median(clocks)
    measured = f"{min(clocks):.0f} to {max(clocks):.0f} MHz in {len(clocks)} turns, median {middle:.0f}"
    if slowed:
        kinds = " and ".join(sorted({f"{note.reason} on GPU {note.gpu}" for note in slowed}))
        reason = f"{kinds}: the cooling or the supply holds its clock down"
        return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)
    if len(clocks) < MIN_TURNS:
        reason = f"{len(clocks)} turns are too few to tell"
        return Finding(measured=measured, outcome=CheckOutcome.UNDECIDED, reason=reason)
    deciles = quantiles(clocks, n=10, method="inclusive")
    if max(deciles[-1] / middle, middle / deciles[0]) <= 1 + CLOCK_SHARE:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = "times are of changing clocks: lock the clock (nvidia-smi -lgc), or make turns longer (turn_s)"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def monitor_is_cheap(runs: RunSet) -> list[Check]:
    """Return whether sampling all sensors takes next to nothing of a CPU core."""
    expected = f"at most {percent(CORE_SHARE)} of a CPU core"
    return of_probe(runs, PROBE, name="The monitor costs little", expected=expected, find=_cheap)


def _cheap(values: Values) -> Finding:
    shares = [seconds / values["interval_s"] for seconds in values["sample_cpu_s"]]
    outcome, _ = within(shares, 0.0, CORE_SHARE)
    measured = f"{100 * median(shares):.2g} % of a core at a sample every {values['interval_s']:g} s"
    reasons = {
        CheckOutcome.NOT_OK: "it takes time from what is measured: sample less often (interval_s)",
        CheckOutcome.UNDECIDED: "too noisy here to tell: try again while the machine does nothing else",
    }
    return Finding(measured=measured, outcome=outcome, reason=reasons.get(outcome, ""))
