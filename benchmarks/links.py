"""The forecast against ddp's measured step over a link of a set rate: two nodes of this machine, a core each.

What the forecast is made of does not come from the step that it is compared with: the link's constants are fitted to
sums at each rate, before and after all blocks; the computing is that of one device alone, on both nodes at once; how
much of the exchange hides is measured at another rate than those that are compared.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec
import psutil

import namespaces
from bounds import met
from trainspeed.core.format import percent
from trainspeed.core.result import DISTURBED_CORES, LinkSum
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import Trial
from trainspeed.judge.forecast import step_s
from trainspeed.judge.interconnect import Interconnect, LinkClass, Ring, fit_interconnect
from trainspeed.judge.link_sums import fitted_points, link_changes
from trainspeed.judge.overlap import Overlap, measured_overlap
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, judge
from trainspeed.sensors.cpu import foreign_cores, host_load
from trainspeed.studies.multi_gpu.links import GRADIENT_BYTES, exchange_of, link_trials, one_device_share
from trainspeed.worker.gang import Gang

RATES_MBIT = (200, 50, 20)
OVERLAP_MBIT = 100  # of none of them
WITHIN = 0.10  # of the measured step
BLOCKS = MIN_BLOCKS
FIRST_PORT = 29_400  # of the first run; the namespaces have no other
TIMEOUT_S = 300.0
BITS = 8
WHOLE = Trial(
    framework="torch",
    model="cnn10",
    layout="channels_last",
    strategy="ddp",
    devices=2,
    nodes=2,
    batch_size=16,
    images_per_epoch=32,
    image_size=16,
    epochs=3,
    dataset="digits",
)
EXCHANGE = replace(
    exchange_of(WHOLE), images_per_epoch=WHOLE.batch_size
)  # a sum an epoch, or as many as take a while


class TwoNodes:
    """Two nodes and the link between them: measures trials on both, and keeps their runs by rate.

    Attributes:
        runs: Rate in Mbit/s, None where the link did not matter -> what was measured.
        others: CPU cores that processes of neither node kept busy during each run; None where that is not known. Not
            by the ranks' own notes: a rank counts its own descendants, and to it the other node's rank is a stranger.
    """

    def __init__(self, nodes: tuple[namespaces.Node, namespaces.Node], seed: int = 0) -> None:
        self._nodes, self._draw = nodes, random.Random(seed)
        self._port = FIRST_PORT
        self.runs: dict[float | None, list[Run]] = {}
        self.others: list[float | None] = []

    def measure(self, trial: Trial, block: int, rate_mbit: float | None = None) -> Run:
        """Measure a trial on both nodes, over a link of this rate; one of a single node on each by itself, at once."""
        if rate_mbit:
            namespaces.shape(self._nodes, rate_mbit)
        self._port += 1
        addresses = [node.address for node in self._nodes]
        everything = psutil.Process()  # both nodes are below this process
        before = host_load(process=everything)
        for number, node in enumerate(self._nodes):
            gang = Gang(addresses=addresses, port=self._port, node=number, interface=namespaces.LINK)
            together = {"gang": msgspec.to_builtins(gang)} if trial.nodes > 1 else {}
            node.ask(trial=trial.in_block(block).as_dict(), timeout_s=TIMEOUT_S, **together)
        answers = [node.answer() for node in self._nodes]
        self.others.append(foreign_cores(before, host_load(process=everything)))
        for answer in answers:
            if answer["status"] != Status.OK:
                raise SystemExit(f"bench: links: {trial.part}: {answer['status']}: {answer['reason']}")
        run = _run(trial, block, answers)
        self.runs.setdefault(rate_mbit, []).append(run)
        return run

    def blocks(self, count: int) -> None:
        """Measure everything; rates come in random order, the sums of several sizes in the first block and the last."""
        (sums,) = link_trials([WHOLE], shared_memory=True)
        for block in range(count):
            self.measure(one_device_share(WHOLE), block)
            for rate in self._draw.sample((*RATES_MBIT, OVERLAP_MBIT), 1 + len(RATES_MBIT)):
                if block in (0, count - 1) and rate != OVERLAP_MBIT:
                    self.measure(sums, block, rate)
                if rate == OVERLAP_MBIT:
                    self.measure(EXCHANGE, block, rate)
                self.measure(WHOLE, block, rate)


def rows() -> list[str]:
    """Return the forecast against the measured step at each rate, and what it is made of."""
    with namespaces.two_nodes() as nodes:
        found = TwoNodes(nodes)
        found.blocks(BLOCKS)
    compute_s = _steps(found.runs[None], one_device_share(WHOLE))
    at_other = found.runs[OVERLAP_MBIT]
    overlap = measured_overlap(
        _steps(at_other, WHOLE), compute_s, _steps(at_other, EXCHANGE), devices=WHOLE.devices
    )
    size_bytes = GRADIENT_BYTES * next(run.parameters for run in at_other if run.parameters)
    lines = [
        f"| ddp over two nodes, {size_bytes / 1e6:.3g} MB of gradients: share of the exchange that hides, measured at "
        f"{OVERLAP_MBIT} Mbit/s | {_words(overlap)} | used at the other rates | |"
    ]
    lines.append(row_of_others(found.others))
    for rate in RATES_MBIT:
        lines += _rows_of(rate, found.runs[rate], compute_s, size_bytes, overlap)
    return lines


def row_of_others(cores: Sequence[float | None]) -> str:
    """Return the row on the CPU cores that processes of neither node kept busy, a number for each run."""
    known = [number for number in cores if number is not None]
    busy = sum(number > DISTURBED_CORES for number in known)
    most = f"{max(known):.2f}" if known else "not known"
    sure = "yes" if len(known) == len(cores) else "undecided"
    return (
        f"| runs beside which other processes kept more than {DISTURBED_CORES} CPU cores busy, and how many at most | "
        f"{busy} of {len(cores)}, {most} | none | {'NO' if busy else sure} |"
    )


def _rows_of(
    rate: float,
    runs: Sequence[Run],
    compute_s: Mapping[int, float],
    size_bytes: float,
    overlap: Overlap | None,
) -> Iterable[str]:
    fitted = fit_interconnect(fitted_points(runs, LinkClass.BETWEEN), LinkClass.BETWEEN)
    if fitted is None:
        return [f"| {rate} Mbit/s: the link's constants | its sums fit no ring | a fit | NO |"]
    judged, step = forecast_over_measured(fitted, _steps(runs, WHOLE), compute_s, size_bytes, overlap)
    changed = link_changes(runs)
    return [
        f"| {rate} Mbit/s: forecast / measured step of ddp, {step:.2f} s | {judged.speedup:.3f} ({judged.low:.3f} to "
        f"{judged.high:.3f}) | within {percent(WITHIN)} | {met(judged, at_least=1 - WITHIN, at_most=1 + WITHIN)} |",
        f"| {rate} Mbit/s: bandwidth of the fit / set, latency, and how far off the fit is where it fits least | "
        f"{BITS / fitted.beta_s_per_byte / 1e6 / rate:.3f}, {1e6 * fitted.alpha_s:.0f} µs, {percent(fitted.off)} | "
        "printed | |",
        f"| {rate} Mbit/s: sizes whose sums changed between the first and the last block | {len(changed)} | none | "
        f"{'NO' if changed else 'yes'} |",
    ]


def forecast_over_measured(
    link: Interconnect,
    measured_s: Mapping[int, float],
    compute_s: Mapping[int, float],
    size_bytes: float,
    overlap: Overlap | None,
) -> tuple[Judgement, float]:
    """Return the forecast of a step on one device a node / the measured step, by block, and the median of the latter.

    Args:
        measured_s, compute_s: Block -> seconds of a whole step, and of one device alone with its share of the batch.
    """
    ring = Ring(between=link, devices_per_node=1)
    exchange_s = ring.allreduce_s(size_bytes, WHOLE.devices)
    share = overlap.share if overlap else 0.0
    blocks = sorted(measured_s.keys() & compute_s.keys())
    expected_s = [step_s(compute_s[block], exchange_s, share) for block in blocks]
    return judge(expected_s, [measured_s[block] for block in blocks]), median(measured_s.values())


def _run(trial: Trial, block: int, answers: Sequence[Mapping[str, Any]]) -> Run:
    """Return the run of node 0; of one that each node measured by itself, that of the slower, which ddp waits for."""
    slowest = max(answers, key=lambda answer: median(answer["result"]["epoch_s"][1:]))
    result = answers[0]["result"] if trial.nodes > 1 else slowest["result"]
    return Run(
        session="bench",
        study="links",
        trial=trial.in_block(block),
        block=block,
        epoch_s=tuple(result["epoch_s"]),
        images_per_epoch=trial.images_per_epoch,
        repeats=result["repeats"],
        parameters=result["parameters"],
        link_sums=msgspec.convert(result["link_sums"], tuple[LinkSum, ...]),
    )


def _steps(runs: Iterable[Run], trial: Trial) -> dict[int, float]:
    return {run.block: run.step_s for run in runs if run.trial.spec == trial.spec}


def _words(overlap: Overlap | None) -> str:
    return overlap.words if overlap else "not measured: none is assumed"


def parts() -> dict[str, Any]:
    """Return the part of the benchmark by name; none, and a line on standard error, where there can be no two nodes."""
    if reason := namespaces.obstacle():
        print(f"bench: links is left out: {reason}.", file=sys.stderr)
        return {}
    return {"links": rows}
