"""The sums that a link was measured with, before and after a study: what a fit takes of them, and what is doubted.

Pure functions on runs. A cloud lets bursts through faster than what lasts, by a bucket of tokens or credits; another
tenant takes bandwidth: a link that is measured once may not be the one that trains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from trainspeed.core.format import percent, three
from trainspeed.core.phase import LINK
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import Trial
from trainspeed.judge.interconnect import LinkClass

# By what share two measures of one size must differ beside their ranges: a forecast is wanted to within as much.
CHANGE_SHARE = 0.10


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """How the sums of one size on so many devices changed while a study ran.

    Attributes:
        before_s, after_s: Median time of a sum before the study, and after it.
    """

    link: LinkClass
    devices: int
    size_bytes: int
    before_s: float
    after_s: float

    @property
    def factor(self) -> float:
        """The longer time / the shorter one."""
        return max(self.before_s, self.after_s) / min(self.before_s, self.after_s)


def link_of(trial: Trial) -> LinkClass:
    """Return the class of the slowest link that a trial's gradients go over."""
    return LinkClass.BETWEEN if trial.nodes > 1 else LinkClass.WITHIN


def fitted_points(runs: Iterable[Run], link: LinkClass) -> list[tuple[int, float, float]]:
    """Return (devices, size in bytes, seconds) of each size that was summed over one class of link.

    Where a size took longer or shorter after the study than before, beyond what either scattered, the later time
    counts: it is nearer to what lasts. A size that the last measure had no time for counts no more: its time would be
    from before, beside later ones. Between nodes only sums of one device a node are of that link alone.
    """
    points = []
    for trial, known in _measured(runs).items():
        alone = link is LinkClass.WITHIN or trial.devices == trial.nodes
        if link_of(trial) is not link or not alone:
            continue
        changed = {change.size_bytes for change in _changes(trial, known)}
        lasting = _by_size(known[-1:])
        for size, series in _by_size(known).items():
            if size not in lasting:
                continue
            seconds = series[-1] if size in changed else [s for one in series for s in one]
            points.append((trial.devices, size, median(seconds)))
    return points


def link_changes(runs: Iterable[Run]) -> list[LinkChange]:
    """Return the sizes whose sums took another time after a study than before, beyond what either scattered."""
    return [change for trial, known in _measured(runs).items() for change in _changes(trial, known)]


def link_doubts(runs: Iterable[Run]) -> list[str]:
    """Return the doubts about links: what changed, by its largest change, and what was not measured again."""
    runs = list(runs)
    changes: dict[tuple[LinkClass, int], list[LinkChange]] = {}
    for change in link_changes(runs):
        changes.setdefault((change.link, change.devices), []).append(change)
    once = [trial for trial, known in _measured(runs).items() if len(known) == 1]
    return [
        *(_changed_sentence(link, devices, of_one) for (link, devices), of_one in changes.items()),
        *(
            f"The link {link_of(trial)} was measured once only, on {trial.devices} devices: whether it was the same "
            "before and after the study is not known. Measure again without an interruption."
            for trial in once
        ),
    ]


def _changed_sentence(link: LinkClass, devices: int, changes: Sequence[LinkChange]) -> str:
    most = max(changes, key=lambda change: change.factor)
    slower = "longer" if most.after_s > most.before_s else "shorter"
    share = percent(abs(most.after_s / most.before_s - 1))
    return (
        f"The link {link} changed while the study ran: a sum of {three(most.size_bytes / 1e6)} MB on {devices} devices "
        f"took {share} {slower} after it than before. Clouds let bursts through faster than what lasts, and others may "
        "use the link. The forecast takes the later time. Measure again, for longer."
    )


def _measured(runs: Iterable[Run]) -> Mapping[Trial, list[Run]]:
    """Return the runs of each trial that measured a link, in the order of their blocks."""
    known: dict[Trial, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.block):
        if run.trial.phase is LINK and run.status is Status.OK and run.link_sums:
            known.setdefault(run.trial.spec, []).append(run)
    return known


def _by_size(runs: Iterable[Run]) -> dict[int, list[Sequence[float]]]:
    """Return size in bytes -> the seconds of its sums in each run that measured it."""
    series: dict[int, list[Sequence[float]]] = {}
    for run in runs:
        for sums in run.link_sums:
            if sums.sum_s:
                series.setdefault(sums.size_bytes, []).append(sums.sum_s)
    return series


def _changes(trial: Trial, runs: Sequence[Run]) -> list[LinkChange]:
    """Compare the first run with the last one, size by size."""
    found = []
    for size, series in _by_size(runs).items():
        before, after = series[0], series[-1]
        apart = len(series) > 1 and (max(before) < min(after) or max(after) < min(before))
        change = LinkChange(
            link=link_of(trial),
            devices=trial.devices,
            size_bytes=size,
            before_s=median(before),
            after_s=median(after),
        )
        if apart and change.factor > 1 + CHANGE_SHARE:
            found.append(change)
    return found
