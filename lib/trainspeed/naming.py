"""What a verdict is called where nothing around it says what was compared. Decides and measures nothing."""

from __future__ import annotations

from trainspeed.comparison import Verdict
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.wording import describe_conv2d

# Factors whose two values are in a verdict's own label; a chart of one study has the others in its title.
TOLD = ("framework", "precision", "pipeline", "devices", "control", "recipe")
UNSAID_OF_A_CONVOLUTION = ("1 channel", "1 filter")


def name_of(verdict: Verdict) -> str:
    """Return what was compared and where, such as "channels_last vs channels_first, PyTorch, cnn10, batch 16"."""
    if isinstance(verdict.candidate, Conv2dTrial):
        size = describe_conv2d(verdict.candidate, without=("library", "devices"))
        return ", ".join([verdict.label, *(word for word in size if word not in UNSAID_OF_A_CONVOLUTION)])
    if verdict.factor in TOLD:
        return verdict.label
    candidate, baseline = (_value(trial, verdict.factor) for trial in (verdict.candidate, verdict.baseline))
    return f"{candidate} vs {baseline}, {verdict.label}"


def _value(trial: object, factor: str) -> str:
    value = getattr(trial, factor, factor)
    if factor == "compile":
        return "compiled" if value else "not compiled"
    return f"batch {value}" if factor == "batch_size" else str(value)
