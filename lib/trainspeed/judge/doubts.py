"""Reasons to distrust a study, and those of its runs in words, each with a remedy. They decide no verdict.

The notes that a run stores are values of `trainspeed.core.notes`; those of `trainspeed.judge.run_notes` follow from
its epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainspeed.core import notes
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import Coverage
from trainspeed.core.format import NAMES, counted, fixed, gigabytes, hundredths, percent
from trainspeed.core.notes import Note
from trainspeed.core.run import Run, Status
from trainspeed.judge.beyond_ceiling import ceiling_doubts
from trainspeed.judge.beyond_parts import part_doubts
from trainspeed.judge.clocks import clock_doubts
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.link_sums import link_doubts
from trainspeed.judge.nodes import node_doubts
from trainspeed.judge.noise import control_doubts, noise_doubts
from trainspeed.judge.run_notes import (
    DRIFT_SHARE,
    SHORT_EPOCH_S,
    EpochsDrifted,
    EpochsShort,
    EpochStalled,
    GpuIdle,
    GpusDiffer,
    PerhapsFromCache,
    StepsSkipped,
    TurnsLeftOut,
    run_notes,
)
from trainspeed.judge.systems import system_doubts

# NVML's reason -> what it means, and what to do. Source: nvml.h, nvmlClocksEventReason*
SLOWED_DOWN_BY = {
    "sw_thermal_slowdown": "it was too warm. Cool it better, or let it rest before measuring.",
    "hw_thermal_slowdown": "it was so hot that it halved its clocks or more. Cool it better.",
    "hw_power_brake_slowdown": "the power supply asked it to. Look at the supply and its cables.",
    "hw_slowdown": "the hardware asked it to: heat, or too little power. Look at cooling and supply.",
}
MOST_WORDS = 2  # of a setting of runs
FREE_THE_GPU = "Stop it, or leave this GPU out with CUDA_VISIBLE_DEVICES."


@dataclass(frozen=True, kw_only=True)
class DoubtedRuns:
    """Runs that have the same doubt.

    Attributes:
        note: The doubt with the largest amounts, which stands for all.
        doubted: Those that have it, of `of` that gave a result.
        setting: What else all of them share and not all that gave a result do, in a few words.
    """

    note: Note
    doubted: tuple[Run, ...]
    of: int
    setting: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """How many have it."""
        return len(self.doubted)

    @property
    def names(self) -> list[str]:
        """The frameworks in words, in the order of these."""
        return sorted({NAMES[run.trial.framework] for run in self.doubted})


def study_doubts(
    runs: Sequence[Run],
    control: Iterable[Verdict] | None,
    verdicts: Iterable[Verdict] = (),
    coverage: Coverage | None = None,
) -> list[str]:
    """Return the doubts about a study, the weightiest first; arguments as of `whole_study_doubts`."""
    of_runs = [
        in_runs(one.note, f"{one.runs} of {one.of} runs ({', '.join([*one.names, *one.setting])})")
        for one in doubted_runs(runs)
    ]
    return [*whole_study_doubts(runs, control, verdicts, coverage), *of_runs]


def whole_study_doubts(
    runs: Sequence[Run],
    control: Iterable[Verdict] | None,
    verdicts: Iterable[Verdict] = (),
    coverage: Coverage | None = None,
) -> dict[str, Verdict | None]:
    """Return the doubts about a study that are not of single runs, each with what it is about, where it is a verdict.

    Args:
        control: Its A/A controls; None where it compares nothing, so that it needs none.
        verdicts: What it compared, held against its controls.
        coverage: What of its plan it had time for; None where it had no limit.
    """
    ok = [run for run in runs if run.status == Status.OK]
    doubts: dict[str, Verdict | None] = dict.fromkeys((*system_doubts(ok), *node_doubts(ok)))
    if control is not None:
        known = list(control)
        doubts |= control_doubts(known, coverage) | noise_doubts(verdicts, known)
    return doubts | dict.fromkeys(
        (*ceiling_doubts(ok), *part_doubts(ok), *clock_doubts(ok), *link_doubts(ok))
    )


def doubted_runs(runs: Sequence[Run]) -> list[DoubtedRuns]:
    """Return the doubts about single runs, the commonest first: equal ones are counted, so that 60 make no 60 lines."""
    ok = [run for run in runs if run.status == Status.OK]
    groups: dict[tuple, list[tuple[Note, Run]]] = {}
    for run in ok:
        for note in run_notes(run):
            groups.setdefault((note.kind, note.subject), []).append((note, run))
    return [
        DoubtedRuns(
            note=max((note for note, _ in group), key=lambda note: note.amounts),
            doubted=tuple(run for _, run in group),
            of=len(ok),
            setting=_setting_of([run for _, run in group], ok),
        )
        for group in sorted(groups.values(), key=len, reverse=True)
    ]


def job_of(trial: AnyTrial) -> tuple[str, str | None]:
    """Return a trial's framework, and its model where it has one."""
    return trial.framework, None if trial.phase.calls else getattr(trial, "model", None)


def _setting_of(doubted: Sequence[Run], ok: Sequence[Run]) -> tuple[str, ...]:
    """Return in words what these runs share and not all do, without their framework: a few words, or none."""
    own, others = ([{*run.trial.describe()} for run in runs] for runs in (doubted, ok))
    words = doubted[0].trial.describe(without=("framework",))
    telling = [word for word in words if all(word in s for s in own) and not all(word in s for s in others)]
    return tuple(telling[:MOST_WORDS])


def in_runs(note: Note, where: str) -> str:
    """Return a doubt in words: the cause, what to do, and which runs have it; its amounts are the largest of these."""
    return f"{note_sentence(note).rstrip('.')}. In {where}."


def note_sentence(note: Note) -> str:
    """Return a note in words, with what to do: amounts as limits, as it may stand for the notes of several runs."""
    match note:
        case notes.GpuBusy():
            return (
                f"GPU {note.gpu} was busy (up to {note.load_percent:.0f} % load) before the run began: another process "
                f"uses it. {FREE_THE_GPU}"
            )
        case notes.GpuMemoryHeld():
            return (
                f"Another process held up to {note.held_bytes / 1e9:.1f} GB of GPU {note.gpu}'s memory before the "
                f"run began, so less fits. {FREE_THE_GPU}"
            )
        case notes.GpuShared():
            return (
                f"Another process used GPU {note.gpu} while the run was timed ({note.load_percent:.0f} % load at the "
                f"most). {FREE_THE_GPU}"
            )
        case notes.GpuTakenMeanwhile():
            return (
                f"GPU {note.gpu} was free before the run and in use by another process when it had ended: part of "
                f"the run may have been disturbed. {FREE_THE_GPU}"
            )
        case notes.GpuSlowedDown():
            return (
                f"GPU {note.gpu} slowed itself down while the run was timed, in up to {percent(note.share)} of the "
                f"looks at it: {SLOWED_DOWN_BY.get(note.reason, note.reason)}"
            )
        case notes.CoresBusy():
            return f"Other processes kept up to {note.cores:.1f} CPU cores busy meanwhile: stop them."
        case notes.CpuTimeStolen():
            share = percent(note.share)
            return f"The hypervisor took up to {share} of the CPU time meanwhile: use a machine of your own."
        case notes.CpuThrottled():
            return (
                f"The limit of {hundredths(note.cores)} cores of this container or job stopped it in up to "
                f"{percent(note.share)} of its periods while a run was timed: give it whole cores, in Docker by "
                "--cpuset-cpus, or raise the limit, --cpus there and limits.cpu in Kubernetes."
            )
        case notes.BusyWhileWaiting():
            share = fixed(100 * note.cores, 1, " %")
            return (
                f"A run that waited for its turns kept up to {share} of a CPU core busy, which disturbs those that had "
                "theirs."
            )
        case notes.GpuBusyWhileWaiting():
            return (
                f"A run that waited for its turns kept a GPU busy for up to {percent(note.share)} of that time, which "
                "disturbs those that had theirs."
            )
        case notes.OnHeadNode():
            return (
                "The services of the fleet's head ran on the same machine, and took about 2 % of a core: have the head "
                "on a machine that measures nothing."
            )
        case notes.NotAllTogether(together=1):
            return (
                f"Measured one after the other: the {note.arms} runs that are compared did not fit together into "
                "memory, or on a GPU or on nodes that serve one at a time, so a machine that got slower or faster "
                "meanwhile is in their ratios. Measure more blocks, or compare smaller runs."
            )
        case notes.NotAllTogether():
            return (
                f"Took turns in groups of {note.together}: all {note.arms} runs that are compared did not fit together "
                "into memory, or on nodes that serve one at a time, so a machine that got slower or faster meanwhile "
                "is in the ratios between groups. Measure more blocks, or compare smaller runs."
            )
        case notes.EpochNotResident():
            return (
                f"The images of an epoch, up to {gigabytes(note.images_bytes, 1)} as 32-bit floats, did not stay on "
                f"the GPU, where they may take {gigabytes(note.limit_bytes, 1)}: every step uploaded its own, and its "
                "time holds that. Lower images_per_epoch or image_size."
            )
        case notes.LossNotFinite():
            return f"The training loss ended as {note.loss}: the model did not learn."
        case notes.NotInspected():
            return f"What ran was not found out: {note.error}: {note.message}"
        case notes.NotEvaluated():
            return f"The test accuracy could not be measured: {note.error}: {note.message}"
        case notes.NotReadAfterwards():
            return f"The {note.what} could not be read after the training: {note.error}: {note.message}"
        case notes.EndedAfterMeasuring():
            return (
                f"Measured, but then {note.status} in stage {note.stage!r}, so that what was to be looked up from "
                f"there on is missing: {note.message}"
            )
        case notes.ConvolutionsNotSeen():
            return f"The effective layout and precision were not found out: {note.error}"
        case notes.PrecisionNotAsked():
            return (
                f"Convolutions ran in {' and '.join(note.ran)}, though {' and '.join(note.asked)} was asked."
            )
        case notes.SetByFile():
            return (
                f"The file of the model set {note.setting} to {note.after}, which was {note.before}: all that is "
                "compared has it, so a switch that sets the same is compared with itself. Leave it out of the file, "
                "and try it as a switch."
            )
        case notes.OtherNote():
            return note.text
        case StepsSkipped():
            return (
                f"The loss scaler left out up to {note.skipped} of {note.steps} steps while it looked for its scale: "
                "the accuracy is that of few steps. Train more epochs."
            )
        case PerhapsFromCache():
            return (
                "An older version measured it, which let runs share compiled programs: its first epoch may hold no "
                "compiling, and on a GPU all blocks may have run what one of them chose. Measure again."
            )
        case GpuIdle():
            return (
                f"The GPU had nothing to do for up to {percent(note.share)} of the time: the host was launching steps "
                "and feeding images, and what is compared is in part its time. Train larger "
                "batches, compile, or record CUDA graphs of what is compiled already."
            )
        case EpochsDrifted():
            return (
                f"The epoch time changed by more than {percent(DRIFT_SHARE)} during a run: "
                "heat, another process or tracing in epoch 2. Train more epochs."
            )
        case EpochStalled():
            return (
                f"Single epochs took up to {note.times:.0f} times as long as the median one: the machine stood still, "
                "or something else had the cores. A block counts the median of its turns, which one such epoch moves "
                "where there are few: stop other programs, and measure again."
            )
        case TurnsLeftOut():
            return (
                f"Other processes, or the hypervisor, used the CPU in up to {counted(note.turns, 'turn')} of a run, "
                "which are left out, as is the same round of what it is compared with: stop other programs, so "
                "that more turns count."
            )
        case GpusDiffer():
            return (
                f"Ran on GPUs of several kinds, {' and '.join(note.names)}, which wait for the slowest: choose equal "
                "ones with CUDA_VISIBLE_DEVICES."
            )
        case EpochsShort():
            return f"Epochs were shorter than {SHORT_EPOCH_S} s: raise images_per_epoch."
    raise TypeError(f"no words for {note!r}")
