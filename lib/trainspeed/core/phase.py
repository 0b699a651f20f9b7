"""What a trial runs: whole training steps, a phase of one, a ceiling of the device, calls, a probe. Knows no trial."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One kind of work that is timed, and what holds for all its trials.

    Attributes:
        name: Its name in the ledger: the field `part` of a trial.
        words: Its name for a reader.
        timed: The piece of it whose time is compared, in words.
        trains: Whether it runs whole training steps: the model learns, so it is evaluated.
        compared: Whether verdicts are made of it; the others are short by nature.
        traced: Whether the framework traces or compiles layers before the first step.
        ceiling: Whether it measures the most that the device can do, whatever the model.
        calls: Whether it belongs to a convolution: there are neither epochs nor a data set.
        sums: Whether it sums as many gradients as the model has.
        probe: Whether it checks the instrument: values come of it, and no times that are compared.
        repeated: Whether its steps repeat their work until an epoch takes long enough: its length tells no speed.
        torch_only: Whether only torch's backend measures it.
        work: Field of a run that says how much a step of a ceiling does.
    """

    name: str
    words: str
    timed: str = "an epoch after the first"
    trains: bool = False
    compared: bool = False
    traced: bool = True
    ceiling: bool = False
    calls: bool = False
    sums: bool = False
    probe: bool = False
    repeated: bool = False
    torch_only: bool = False
    work: str | None = None

    @property
    def epochs_compare(self) -> bool:
        """Whether an epoch, or a call, is the same work on every machine and in every session."""
        return not (self.probe or self.repeated)

    @property
    def of_model(self) -> bool:
        """Whether it belongs to a model's training, in whole or in part."""
        return not (self.ceiling or self.calls or self.probe)


def _ceiling(name: str, words: str, work: str) -> Phase:
    return Phase(name=name, words=words, work=work, ceiling=True, repeated=True, torch_only=True)


WHOLE = Phase(name="both", words="whole steps", trains=True, compared=True)  # input and compute
INPUT = Phase(name="input", words="input only", traced=False)
COMPUTE = Phase(name="compute", words="compute only", compared=True)  # the same batch again and again
# Both, and validation and a checkpoint within each epoch, as in Keras's tutorials.
FIT = Phase(name="fit", words="with validation and checkpoint", trains=True, compared=True)
# As many gradients as the model has, summed over the devices; sums of several sizes, whatever the model.
EXCHANGE = Phase(
    name="exchange", words="exchange only", traced=False, sums=True, repeated=True, torch_only=True
)
LINK = Phase(name="link", words="sums of several sizes only", traced=False, repeated=True, torch_only=True)
LATENCY = Phase(
    name="latency", words="small messages only", traced=False, repeated=True, torch_only=True
)  # before there was LINK
MATMUL = _ceiling("matmul", "matrix products only", "step_flops")
CONV = _ceiling("conv", "convolutions only", "step_flops")
COPY = _ceiling("copy", "copies only", "step_bytes")
CEILINGS = (MATMUL, CONV, COPY)

# Name -> phase of a `Trial`. A new one needs an entry here, and its code in the backends that measure it.
PHASES = {phase.name: phase for phase in (WHOLE, INPUT, COMPUTE, FIT, EXCHANGE, LINK, LATENCY, *CEILINGS)}

CALLS = Phase(name="calls", words="calls", timed="a warm call", compared=True, calls=True)  # of a convolution
PROBE = Phase(name="probe", words="a check of the instrument", traced=False, probe=True)
