"""Whether what was measured is what was asked for: devices, arithmetic, a loss that is a number. Measures nothing."""

from __future__ import annotations

import math

from trainspeed.core import user_model
from trainspeed.core.format import counted
from trainspeed.core.notes import AnyNote, LossNotFinite
from trainspeed.core.optimizers import recipe
from trainspeed.core.result import EffectivePrecision, precision_text
from trainspeed.core.trial import Trial
from trainspeed.worker.convolution.reference import WrongResult
from trainspeed.worker.failures import Invalid, Unsupported
from trainspeed.worker.precision import arithmetic_of

SIXTEEN_BITS = {"fp16": "float16", "bf16": "bfloat16"}


def check_placement(placement: str, device: str, devices: int) -> None:
    """Raise WrongResult where a library computed on other devices than it was told to, whatever it calls them."""
    names = {"gpu": ("gpu", "cuda"), "cpu": ("cpu",)}[device]
    used = placement.split(", ")
    strange = [name for name in used if not any(known in name.lower() for known in names)]
    if len(used) != devices:
        raise WrongResult(f"it was told to use {counted(devices, 'device')}, but ran on {placement}")
    if strange:
        raise WrongResult(f"it was told to run on the {device}, but ran on {', '.join(strange)}")


def check_effective_precision(asked: str, ran: EffectivePrecision | None) -> None:
    """Raise Unsupported where no convolution ran in the 16 bits that were asked for: a compiler may widen them."""
    wanted = SIXTEEN_BITS.get(asked)
    if wanted and ran and not ran.asked and wanted not in ran.dtypes:
        raise Unsupported(f"{asked} was asked for, but the convolutions ran in {precision_text(ran)}")


def check_loss(trial: Trial, loss: float | None) -> None:
    """Raise Invalid where a user's own model trains to nan in 32 bits: its speed would mean nothing.

    In 16 bits the range may be to blame, which is a finding, and so a note.
    """
    if (
        not user_model.is_user_model(trial.model)
        or arithmetic_of(trial) in SIXTEEN_BITS
        or not loss_notes(loss)
    ):
        return
    training = recipe(trial.model)
    raise Invalid(
        f"{trial.model}: its training loss is {loss}: the model returns nan or inf, or {training.optimizer} with a "
        f"learning rate of {training.learning_rate:g} makes it so"
    )


def loss_notes(loss: float | None) -> list[AnyNote]:
    """Return a note where the training loss ended as no number."""
    if loss is None or math.isfinite(loss):
        return []
    return [LossNotFinite(loss=str(loss))]
