"""What can be measured of one convolution: a library, a size, its devices. Knows no library and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from trainspeed.core.errors import NAME_FORM, UserError, check_name, check_shared, check_whole
from trainspeed.core.factors import CONTROL, RESIDENCY, BaseTrial, Factor, always, never, rows
from trainspeed.core.format import counted
from trainspeed.core.layer_table import FP32_BYTES
from trainspeed.core.phase import CALLS
from trainspeed.core.probe import Probe, is_probe
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
# Library -> the Python that runs it, where it is not one of the library's own name.
PYTHONS = {"keras": "tensorflow"} | dict.fromkeys(CPU_LIBRARIES, "scipy")
PROCESSORS = ("device", "cpu")
# The stages of a call, in this order; a first call begins with the context.
STAGES = ("to_device", "kernel", "from_device", "gather")
FIRST_STAGES = ("context", *STAGES)
MIN_CALLS, MAX_CALLS = 3, 10_000
# Field -> its least and its most value.
CALL_LIMITS = {"images": (1, 10_000_000), "height": (1, 16384), "width": (1, 16384), "channels": (1, 4096)}
CALL_LIMITS |= {"filters": (1, 4096), "filter_size": (1, 255), "devices": (1, 1024), "seed": (0, None)}
PACKAGES = ("tensorflow", "keras", "torch", "jax", "scipy", "opencv")  # whose versions a sentence tells


def library_of(trial: Conv2dTrial) -> str:
    """Return the name of a trial's library and, where it has several modes, of its mode."""
    name = LIBRARY_NAMES[trial.library]
    name += f" ({trial.mode})" if len(LIBRARIES[trial.library]) > 1 else ""
    return f"{name} on the CPU" if trial.processor == "cpu" else name


_compared = partial(Factor, lead=Factor.versus)
_size = partial(_compared, described=always, seldom=never)

CONVOLUTION = rows(
    _compared(name="library", of_trial=library_of, described=always, in_head=True),
    _compared(name="mode", of_trial=library_of, hides=("library",)),
    _compared(name="processor", of_trial=library_of, hides=("library",)),
    _size(
        name="images",
        of_trial=lambda t: f"{counted(t.images, 'image')} of {t.height}×{t.width}",
        in_name=always,
    ),
    _size(name="channels", value=lambda v: counted(v, "channel"), in_name=lambda t: t.channels > 1),
    _size(name="filters", value=lambda v: counted(v, "filter"), in_name=lambda t: t.filters > 1),
    _size(name="filter_size", value="{0}×{0}".format, in_name=always),
    _size(
        name="devices",
        value=lambda v: counted(v, "device"),
        contrast=lambda baseline, candidate: f"{candidate.devices} devices vs {baseline.devices}",
        described=lambda t: t.devices > 1,
    ),
    _compared(name=RESIDENCY, contrast=lambda *_: "data that stay on the device vs a round trip"),
    _compared(
        name=CONTROL,
        contrast=lambda baseline, _: f"control, {library_of(baseline)} vs itself",
        hides=("library",),
        choice=False,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Conv2dTrial(BaseTrial):
    """One convolution to measure: frozen, hashable, JSON.

    Stride 1, output as large as the input, zeros around it: (filter_size - 1) // 2 before and
    filter_size // 2 after. float32; the filter is not flipped (a cross-correlation), as in every framework.

    Attributes:
        mode: One of `LIBRARIES`: how the library is called.
        images: Images of one call, summed over all devices.
        filters: Output channels.
        devices: Number of devices that share the images: GPUs, or CPU cores of one thread each without a GPU.
        processor: "cpu" uses CPU cores even where there is a GPU.
        calls: Warm calls of a run, at least.
        seed: Seed of the random images and filters.
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
    calls: int = 4
    seed: int = 0

    factors = CONVOLUTION
    phase = CALLS
    whole_steps = False  # there is no training
    dataset = None  # the images are random

    def __post_init__(self) -> None:
        check_name("library", self.library, tuple(LIBRARIES))
        if self.mode not in (modes := LIBRARIES[self.library]):
            rule = f"is not one of {self.library}'s: it has {', '.join(modes)}."
            raise UserError("mode", self.mode, rule, form=NAME_FORM)
        check_name("processor", self.processor, PROCESSORS)
        for name, (least, most) in CALL_LIMITS.items():
            check_whole(name, getattr(self, name), least, most=most)
        check_whole("calls", self.calls, MIN_CALLS, "fewer have no median", most=MAX_CALLS)
        if self.library in CPU_LIBRARIES and self.devices != 1:
            rule = f"runs on one CPU core, not on {self.devices} devices: use 1."
            raise UserError("library", self.library, rule, form=NAME_FORM)
        check_shared("images", self.images, self.devices)

    @property
    def framework(self) -> str:
        """The framework whose Python runs it, or "scipy" for the notebooks' own."""
        return PYTHONS.get(self.library, self.library)

    @property
    def on_cpu(self) -> bool:
        """Whether it runs on the CPU even where there is a GPU."""
        return self.library in CPU_LIBRARIES or self.processor == "cpu"

    @property
    def flops(self) -> float:
        """Floating-point operations of a call, 2 per multiply-add, including those with the zeros around."""
        outputs = self.images * self.height * self.width * self.filters
        return 2.0 * outputs * self.filter_size**2 * self.channels

    @property
    def _filter_bytes(self) -> int:
        return FP32_BYTES * self.filter_size**2 * self.channels * self.filters

    @property
    def input_bytes(self) -> int:
        """Size of images and filters, in bytes."""
        return FP32_BYTES * self.images * self.height * self.width * self.channels + self._filter_bytes

    @property
    def output_bytes(self) -> int:
        """Size of the result, in bytes."""
        return FP32_BYTES * self.images * self.height * self.width * self.filters

    @property
    def bytes(self) -> float:
        """Least memory traffic of a call, in bytes: every number is read or written once."""
        return float(self.input_bytes + self.output_bytes)

    @property
    def device_bytes(self) -> int:
        """Least memory of the fullest device, in bytes: its share of images and result, and all filters."""
        images_and_results = self.input_bytes - self._filter_bytes + self.output_bytes
        return images_and_results // self.devices + self._filter_bytes

    def versions_in_words(self, versions: Mapping[str, str]) -> list[str]:
        """Return the packages that a sentence says it ran on, with their versions."""
        return [f"{name} {version}" for name, version in versions.items() if name in PACKAGES]

    def in_block(self, block: int) -> Conv2dTrial:
        """Return the trial as block `block` runs it: with images of its own."""
        return replace(self, seed=self.seed + block)

    @property
    def spec(self) -> Conv2dTrial:
        """The trial without what changes between blocks."""
        return replace(self, seed=0)

    graph_key = spec  # what trials that run the same layers have in common


AnyTrial = Trial | Conv2dTrial | Probe


def trial_from_dict(data: Mapping[str, Any]) -> AnyTrial:
    """Return the trial that `as_dict` was called on: of a training, of a convolution, or a probe."""
    if is_probe(data):
        return Probe.from_dict(data)
    return Conv2dTrial.from_dict(data) if "library" in data else Trial.from_dict(data)
