"""The words for what makes a run doubtful, each with a remedy: see `trainspeed.core.notes` for the values."""

from __future__ import annotations

from trainspeed.core import notes
from trainspeed.core.format import percent
from trainspeed.core.notes import AnyNote, Note

DRIFT_SHARE = 0.10  # of the median epoch: the last against the second
SHORT_EPOCH_S = 0.05  # below, the framework's own overhead per epoch weighs more than the training
FREE_THE_GPU = "Stop it, or leave this GPU out with CUDA_VISIBLE_DEVICES."


class StepsSkipped(Note, tag="steps_skipped"):
    """The loss scaler left out half of all steps or more."""

    skipped: int
    steps: int


class EpochsDrifted(Note, tag="epochs_drifted"):
    """The last epoch differs from the second by more than `DRIFT_SHARE`."""


class EpochsShort(Note, tag="epochs_short"):
    """The median epoch is below `SHORT_EPOCH_S`."""


def text(note: AnyNote | StepsSkipped | EpochsDrifted | EpochsShort) -> str:
    """Return a note as a sentence."""
    match note:
        case notes.GpuBusy():
            return (
                f"GPU {note.gpu} was busy ({note.load_percent:.0f} % load) before the run began: another process "
                f"uses it. {FREE_THE_GPU}"
            )
        case notes.GpuMemoryHeld():
            return (
                f"Another process held {note.held_bytes / 1e9:.1f} GB of GPU {note.gpu}'s memory before the "
                f"run began, so less fits. {FREE_THE_GPU}"
            )
        case notes.CoresBusy():
            return f"Other processes kept {note.cores:.1f} CPU cores busy meanwhile: stop them."
        case notes.CpuTimeStolen():
            return f"The hypervisor took {percent(note.share)} of the CPU time meanwhile: use a machine of your own."
        case notes.LossNotFinite():
            return f"The training loss ended as {note.loss}: the model did not learn."
        case notes.NotInspected():
            return f"what ran was not found out: {note.error}: {note.message}"
        case notes.ConvolutionsNotSeen():
            return f"effective layout and precision not found out: {note.error}"
        case notes.PrecisionNotAsked():
            return f"{' and '.join(note.asked)} was asked, convolutions ran in {' and '.join(note.ran)}"
        case notes.OtherNote():
            return note.text
        case StepsSkipped():
            return (
                f"The loss scaler left out {note.skipped} of {note.steps} steps while it looked for its scale: the "
                "accuracy is that of few steps. Train more epochs."
            )
        case EpochsDrifted():
            return (
                f"The epoch time changed by more than {percent(DRIFT_SHARE)} during a run: "
                "heat, another process or tracing in epoch 2. Train more epochs."
            )
        case EpochsShort():
            return f"Epochs were shorter than {SHORT_EPOCH_S} s: raise images_per_epoch."
    raise TypeError(f"no words for {note!r}")
