"""Check of an exchange of gradients: are its bytes per second those of what connects the devices?"""

from __future__ import annotations

from trainspeed.core.format import three
from trainspeed.core.links import LinkKind
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, unmeasured_finding

GRADIENT_BYTES = 4  # float32
# Kind of link -> least and most bytes per second in one direction: of each NVLink, and of PCIe as a whole. Wide, since
# a sum of some ten megabytes does not fill a link: what lies outside is counted wrongly, or ran on something else.
# Source: https://www.nvidia.com/en-us/data-center/nvlink/ (20 GB/s of the first generation's link, 25 from the
# second to the fourth, 50 of the fifth); https://pcisig.com (16 lanes: 16 GB/s of PCIe 3.0 to 128 GB/s of 6.0)
PLAUSIBLE_PER_S = {LinkKind.NVLINK: (2e9, 50e9), LinkKind.PCIE: (0.5e9, 128e9)}


def is_plausible(runs: RunSet) -> list[Check]:
    """Return whether gradients are summed as fast as what connects the devices can carry them."""
    sums = {run.trial.framework: run for run in runs if run.trial.phase.sums}
    return [
        Check(name="Gradients are summed at the speed of the link", framework=framework, **_judged(run))
        for framework, run in sums.items()
    ]


def bytes_per_s(run: Run) -> float | None:
    """Return what each device sends in a second, by a ring of devices; None where it is not known.

    Source: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md (2 (n - 1) / n of all bytes)
    """
    if not run.parameters or not run.step_s:
        return None
    devices = run.trial.devices
    return 2 * (devices - 1) / devices * GRADIENT_BYTES * run.parameters / run.step_s


def _judged(run: Run) -> dict[str, str | CheckOutcome]:
    band = _plausible_per_s(run)
    expected = "as the link" if band is None else f"{_rate(band[0])} to {_rate(band[1])}"
    return {"expected": expected, **vars(_found(run, band))}


def _plausible_per_s(run: Run) -> tuple[float, float] | None:
    link = run.machine.get("link")
    if run.machine.get("device") != "gpu" or not link or link.get("kind") not in PLAUSIBLE_PER_S:
        return None
    least, most = PLAUSIBLE_PER_S[link["kind"]]
    count = link.get("count") or 1
    return count * least, count * most


def _found(run: Run, band: tuple[float, float] | None) -> Finding:
    if run.trial.devices < 2:
        return _not_applicable("", "there is one device")
    if run.status is not Status.OK:
        return unmeasured_finding(run)
    rate = bytes_per_s(run)
    if rate is None:
        return _not_applicable("", "the size of the gradients is not known")
    measured = f"{_rate(rate)} between {run.trial.devices} devices"
    if run.machine.get("device") != "gpu":
        return _not_applicable(measured, "CPU cores have no link: they share a memory")
    if band is None:
        return _not_applicable(measured, "what connects these GPUs is not known")
    if band[0] <= rate <= band[1]:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = (
        "more than the link can carry: what is summed is not what is counted"
        if rate > band[1]
        else "far less than the link carries: look whether peer-to-peer access is off (NCCL_DEBUG=INFO says)"
    )
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def _not_applicable(measured: str, reason: str) -> Finding:
    return Finding(measured=measured, outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)


def _rate(per_s: float) -> str:
    return f"{three(per_s / 1e9)} GB/s"
