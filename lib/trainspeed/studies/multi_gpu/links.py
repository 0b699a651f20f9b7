"""The links between devices, and what hides behind computing: what is measured of them, and what is known then.

Pure functions on trials and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from trainspeed.core.errors import UserError
from trainspeed.core.phase import EXCHANGE, LATENCY, LINK
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import LATENCY_BYTES, SINGLE, STRICT, Trial
from trainspeed.judge.forecast import check_device_counts
from trainspeed.judge.interconnect import Interconnect, LinkClass, Ring, fit_interconnect
from trainspeed.judge.link_sums import fitted_points
from trainspeed.judge.overlap import Overlap, given_overlap, measured_overlap

GRADIENT_BYTES = 4  # gradients are summed in fp32, under mixed precision too
SUMS_PER_EPOCH = 16  # in an "epoch" of nothing but sums
LINK_EPOCHS = 6  # the first one finds out how often to sum: five tell how a time scatters
OVERLAP_BLOCKS = 6  # of the parts of a step whose overlap is looked at, at most: so many give an interval
BlockKey = tuple[int, str | None]  # a block, and the node that measured it
PLAIN = {"layout": "channels_last", "precision": STRICT, "compile": False}


@dataclass(frozen=True, kw_only=True)
class Links:
    """What is known of the links between devices.

    Attributes:
        given: By the user, for every link.
        within, between: As measured of each class; None where nothing was, or what was fits no ring.
        unfit: The classes that were measured and fit no ring.
    """

    given: Interconnect | None = None
    within: Interconnect | None = None
    between: Interconnect | None = None
    unfit: tuple[LinkClass, ...] = ()

    def ring(self, trial: Trial) -> Ring:
        """Return the links that a trial's gradients, and those of more devices placed alike, go over."""
        if self.given:
            return Ring(within=self.given)
        per_node = trial.devices_per_node if trial.nodes > 1 else None
        return Ring(within=self.within, between=self.between, devices_per_node=per_node)


def one_device_share(trial: Trial) -> Trial:
    """Return the trial of one device with its share of the batch of several."""
    return replace(trial, devices=1, nodes=1, strategy=SINGLE, batch_size=trial.batch_size // trial.devices)


def exchange_of(trial: Trial) -> Trial:
    """Return the sum of a model's gradients alone, by PyTorch.

    The other frameworks hide the sum in their graph; on GPUs its transport is the same, NCCL.
    """
    return replace(trial, images_per_epoch=SUMS_PER_EPOCH * trial.batch_size, **PLAIN).only(EXCHANGE)


def link_trials(trials: Iterable[Trial], *, shared_memory: bool) -> tuple[Trial, ...]:
    """Return the sums of several sizes that tell what the links of these trials cost: within a node, and between nodes.

    Args:
        shared_memory: Whether the devices of a node share its memory, as CPU cores do: they have no link.
    """
    found = []
    for trial in (trial for trial in trials if trial.strategy == "ddp"):
        sums = replace(trial, epochs=LINK_EPOCHS, **PLAIN).only(LINK)
        if trial.nodes > 1:  # one device a node: the others would go over another link
            found.append(_on(sums, trial.nodes, trial.nodes))
        if trial.devices_per_node > 1 and not shared_memory:
            found.append(_on(sums, trial.devices_per_node, 1))
    return _firsts(found, lambda trial: (trial.devices, trial.nodes))


def overlap_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the parts of a step of the first trial of each model and number of devices: compute and exchange alone."""
    spread = (trial for trial in trials if trial.strategy == "ddp")
    firsts = _firsts(spread, lambda trial: (trial.model, trial.devices, trial.nodes))
    parts = (part for trial in firsts for part in (one_device_share(trial), exchange_of(trial)))
    return tuple(dict.fromkeys(parts))


def _on(trial: Trial, devices: int, nodes: int) -> Trial:
    """Return a trial of sums on so many devices: its batch and epoch are an image each, and nothing is made of them."""
    return replace(trial, devices=devices, nodes=nodes, batch_size=devices, images_per_epoch=devices)


def _firsts(trials: Iterable[Trial], key: Callable[[Trial], Hashable]) -> tuple[Trial, ...]:
    firsts: dict[Hashable, Trial] = {}
    for trial in trials:
        firsts.setdefault(key(trial), trial)
    return tuple(firsts.values())


def links_of(runs: Iterable[Run], *, alpha_s: float | None, bytes_per_s: float | None) -> Links:
    """Return what is known of the links: as given, else as measured; between CPU cores there is none.

    Raises:
        UserError: One constant without the other, or one that makes no sense.
    """
    if given := _given(alpha_s, bytes_per_s):
        return Links(given=given)
    runs, fits, unfit = list(runs), {}, []
    for link in LinkClass:
        points = fitted_points(runs, link)
        if link is LinkClass.WITHIN:
            on_gpus = [run for run in runs if run.machine.get("device") == "gpu"]
            points = fitted_points(on_gpus, link) or _two_sizes(on_gpus)
        if points := _of_two_sizes(points):
            fits[link] = fit_interconnect(points, link)
            unfit += [] if fits[link] else [link]
    return Links(within=fits.get(LinkClass.WITHIN), between=fits.get(LinkClass.BETWEEN), unfit=tuple(unfit))


def check_forecast(
    alpha_s: float | None, bytes_per_s: float | None, devices: Sequence[int], overlap: float | None
) -> None:
    """Raise a UserError, before anything is measured, where a forecast cannot be made with these values."""
    _given(alpha_s, bytes_per_s)
    given_overlap(overlap)
    if devices:
        check_device_counts(devices)


def overlap_of(runs: Iterable[Run], trial: Trial) -> Overlap | None:
    """Return how much of a trial's exchange hides behind its computing; None where that was not measured.

    Only PyTorch's ddp has an exchange that can be measured alone.
    """
    if trial.strategy != "ddp":
        return None
    exchange = trial.model, trial.devices, trial.nodes
    share = one_device_share(trial)
    parts: tuple[dict[BlockKey, float], ...] = ({}, {}, {})
    for run in RunSet(tuple(runs)).ok().data():
        own, seconds = run.trial.spec, run.step_s
        if seconds is None:
            continue
        if own == trial:
            parts[0][run.block_key] = seconds
        elif own == share:
            parts[1][run.block_key] = seconds
        elif run.trial.phase is EXCHANGE and (own.model, own.devices, own.nodes) == exchange:
            parts[2][run.block_key] = seconds
    return measured_overlap(*parts, devices=trial.devices)


def gradient_sizes(runs: Iterable[Run]) -> dict[tuple[str, str], int]:
    """Return (framework, model) -> bytes of all its gradients, where its parameters were counted."""
    return {
        (run.trial.framework, run.trial.model): GRADIENT_BYTES * run.parameters
        for run in runs
        if run.parameters is not None
    }


def _given(alpha_s: float | None, bytes_per_s: float | None) -> Interconnect | None:
    """Return the link that the user gave; None where there is none."""
    if (alpha_s is None) != (bytes_per_s is None):
        rule = "and {link_bytes_per_s} go together: give both or neither."
        raise UserError("link_alpha_s", alpha_s, rule, link_bytes_per_s=bytes_per_s)
    if alpha_s is None:
        return None
    if not bytes_per_s > 0:
        raise UserError("link_bytes_per_s", bytes_per_s, "must be positive, for example 25.0e+9.")
    return Interconnect(alpha_s=alpha_s, beta_s_per_byte=1 / bytes_per_s)


def _two_sizes(runs: Sequence[Run]) -> list[tuple[int, float, float]]:
    """Return the points of an older ledger: sums of a model's gradients, and of a small message."""
    sizes, points = gradient_sizes(runs), []
    for trial, sum_s in RunSet(tuple(runs)).medians(lambda run: run.step_s).items():
        size = sizes.get((trial.framework, trial.model))
        if trial.phase is LATENCY:
            points.append((trial.devices, LATENCY_BYTES, sum_s))
        elif trial.phase is EXCHANGE and trial.nodes == 1 and size is not None:
            points.append((trial.devices, size, sum_s))
    return points


def _of_two_sizes(points: Sequence[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Return the points of numbers of devices that have two sizes: one alone cannot tell latency from bandwidth."""
    known = {count: {size for devices, size, _ in points if devices == count} for count, _, _ in points}
    return [point for point in points if len(known[point[0]]) > 1]
