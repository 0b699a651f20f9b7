"""What can be measured of one convolution: a library, a size, its devices. Knows no library and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from trainspeed.core.check import check_least, check_most, check_name, check_shared
from trainspeed.core.errors import NAME, UserError
from trainspeed.core.factors import CONTROL, RESIDENCY, Factor, HasFactors, always, never, rows
from trainspeed.core.format import counted
from trainspeed.core.phase import CALLS
from trainspeed.core.trial import Trial

# Library -> its modes, the usual one first.
LIBRARIES = {
    "tensorflow": ("graph", "eager", "xla"),
    "keras": ("graph", "eager"),
    "torch": ("eager",),
    "jax": ("xla",),
    "scipy_signal": ("loop",),
    "scipy_ndimage": ("loop",),
    "scipy_fft": ("batch",),
    "scipy_oaconvolve": ("batch",),
    "opencv": ("loop",),
}
LIBRARY_NAMES = {
    "tensorflow": "TensorFlow",
    "keras": "Keras layer",
    "torch": "PyTorch",
    "jax": "JAX",
    "scipy_signal": "scipy.signal.convolve2d",
    "scipy_ndimage": "scipy.ndimage",
    "scipy_fft": "scipy fftconvolve",
    "scipy_oaconvolve": "scipy oaconvolve",
    "opencv": "OpenCV filter2D",
}
CPU_LIBRARIES = ("scipy_signal", "scipy_ndimage", "scipy_fft", "scipy_oaconvolve", "opencv")
PYTHONS = {"keras": "tensorflow"} | dict.fromkeys(CPU_LIBRARIES, "scipy")  # else one of its own name
PROCESSORS = ("device", "cpu")
# Of a call, in this order; a first call begins with the context.
STAGES = ("to_device", "kernel", "from_device", "gather")
FIRST_STAGES = ("context", *STAGES)
NUMBER_BYTES = 4  # float32
MIN_CALLS = 3
MAXIMUM = {"filter_size": 255, "channels": 4096, "filters": 4096, "images": 10_000_000, "height": 16384}
MAXIMUM |= {"width": 16384, "calls": 10_000, "devices": 1024}
PACKAGES = ("tensorflow", "keras", "torch", "jax", "scipy", "opencv")  # versions that a sentence tells


def library_of(trial: Conv2dTrial) -> str:
    """Return a library and, where it has several modes, how it is called."""
    name = LIBRARY_NAMES[trial.library]
    name += f" ({trial.mode})" if len(LIBRARIES[trial.library]) > 1 else ""
    return f"{name} on the CPU" if trial.processor == "cpu" else name


CONVOLUTION = rows(
    Factor(name="library", of_trial=library_of, lead=Factor.versus, described=always, in_head=True),
    Factor(name="mode", of_trial=library_of, lead=Factor.versus, hides=("library",)),
    Factor(name="processor", of_trial=library_of, lead=Factor.versus, hides=("library",)),
    Factor(
        name="images",
        of_trial=lambda t: f"{counted(t.images, 'image')} of {t.height}×{t.width}",
        lead=Factor.versus,
        described=always,
        seldom=never,
        in_name=always,
    ),
    Factor(
        name="channels",
        value=lambda v: counted(v, "channel"),
        lead=Factor.versus,
        described=always,
        seldom=never,
        in_name=lambda t: t.channels > 1,
    ),
    Factor(
        name="filters",
        value=lambda v: counted(v, "filter"),
        lead=Factor.versus,
        described=always,
        seldom=never,
        in_name=lambda t: t.filters > 1,
    ),
    Factor(
        name="filter_size",
        value="{0}×{0}".format,
        lead=Factor.versus,
        described=always,
        seldom=never,
        in_name=always,
    ),
    Factor(
        name="devices",
        value=lambda v: counted(v, "device"),
        contrast=lambda baseline, candidate: f"{candidate.devices} devices vs {baseline.devices}",
        lead=Factor.versus,
        described=lambda t: t.devices > 1,
        seldom=never,
    ),
    Factor(
        name=RESIDENCY,
        contrast=lambda *_: "data that stay on the device vs a round trip",
        lead=Factor.versus,
    ),
    Factor(
        name=CONTROL,
        contrast=lambda baseline, _: f"control, {library_of(baseline)} vs itself",
        lead=Factor.versus,
        hides=("library",),
        choice=False,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Conv2dTrial(HasFactors):
    """One convolution to measure: frozen, hashable, JSON.

    Stride 1, output as large as the input, zeros around it: (filter_size - 1) // 2 before and
    filter_size // 2 after. float32; the filter is not flipped (a cross-correlation), as in every framework.

    Attributes:
        mode: One of `LIBRARIES`: how the library is called.
        images: In one call, summed over all devices.
        filters: Output channels.
        devices: That share the images; GPUs, or CPU cores of one thread each where there is none.
        processor: "cpu": on CPU cores, also where there is a GPU.
        calls: Warm ones of each kind, at most.
        seed: Of the random images and filters.
    """

    library: str
    mode: str
    images: int
    height: int
    width: int
    channels: int = 1
    filters: int = 1
    filter_size: int = 3
    devices: int = 1
    processor: str = "device"
    calls: int = 10
    seed: int = 0

    factors = CONVOLUTION
    phase = CALLS
    whole_steps = False  # there is no training
    dataset = None  # nor any images but random ones

    def __post_init__(self) -> None:
        check_name("library", self.library, tuple(LIBRARIES))
        if self.mode not in (modes := LIBRARIES[self.library]):
            rule = f"is not one of {self.library}'s: it has {', '.join(modes)}."
            raise UserError("mode", self.mode, rule, form=NAME)
        check_name("processor", self.processor, PROCESSORS)
        for name in ("images", "height", "width", "channels", "filters", "filter_size", "devices"):
            check_least(name, getattr(self, name), 1)
        check_least("seed", self.seed, 0)
        check_least("calls", self.calls, MIN_CALLS, "fewer have no median")
        for name, most in MAXIMUM.items():
            check_most(name, getattr(self, name), most)
        if self.library in CPU_LIBRARIES and self.devices != 1:
            rule = f"runs on one CPU core, not on {self.devices} devices: use 1."
            raise UserError("library", self.library, rule, form=NAME)
        check_shared("images", self.images, self.devices)

    @property
    def framework(self) -> str:
        """Whose Python runs it: a framework's, or "scipy" for the notebooks' own."""
        return PYTHONS.get(self.library, self.library)

    @property
    def on_cpu(self) -> bool:
        """Whether it runs on the CPU, also where there is a GPU."""
        return self.library in CPU_LIBRARIES or self.processor == "cpu"

    @property
    def flops(self) -> float:
        """Floating-point operations of a call, 2 per multiply-add, those with the zeros around included."""
        outputs = self.images * self.height * self.width * self.filters
        return 2.0 * outputs * self.filter_size**2 * self.channels

    @property
    def input_bytes(self) -> int:
        """Images and filters, in bytes."""
        pixels = self.images * self.height * self.width
        return NUMBER_BYTES * (pixels * self.channels + self.filter_size**2 * self.channels * self.filters)

    @property
    def output_bytes(self) -> int:
        """The result, in bytes."""
        return NUMBER_BYTES * self.images * self.height * self.width * self.filters

    @property
    def bytes(self) -> float:
        """Least memory traffic of a call: every number read or written once."""
        return float(self.input_bytes + self.output_bytes)

    @property
    def device_bytes(self) -> int:
        """What the fullest device must hold at least: its share of images and result, and the filters."""
        pixels = self.images // self.devices * self.height * self.width
        numbers = pixels * (self.channels + self.filters)
        return NUMBER_BYTES * (numbers + self.filter_size**2 * self.channels * self.filters)

    def versions_in_words(self, versions: Mapping[str, str]) -> list[str]:
        """Return which packages a sentence says it ran on, and their versions."""
        return [f"{name} {version}" for name, version in versions.items() if name in PACKAGES]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: every field, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conv2dTrial:
        """Return the trial that `as_dict` was called on."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    def in_block(self, block: int) -> Conv2dTrial:
        """Return the trial as block `block` runs it: with images of its own."""
        return replace(self, seed=self.seed + block)

    @property
    def spec(self) -> Conv2dTrial:
        """Return the trial that is the same in every block."""
        return replace(self, seed=0)

    @property
    def graph_key(self) -> Conv2dTrial:
        """Return what is the same for trials that run the same layers: here, the trial itself."""
        return self.spec


AnyTrial = Trial | Conv2dTrial


def trial_from_dict(data: Mapping[str, Any]) -> AnyTrial:
    """Return the trial that `as_dict` was called on, of training or of a convolution."""
    return Conv2dTrial.from_dict(data) if "library" in data else Trial.from_dict(data)
