"""What can be measured of one convolution: a library, a size, its devices. Knows no library and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from trainspeed.errors import UserError
from trainspeed.trial import Trial, check_least, check_name

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
CPU_LIBRARIES = ("scipy_signal", "scipy_ndimage", "scipy_fft", "scipy_oaconvolve", "opencv")
PYTHONS = {"keras": "tensorflow"} | dict.fromkeys(CPU_LIBRARIES, "scipy")  # else one of its own name
PROCESSORS = ("device", "cpu")
# Of a call, in this order; a first call begins with the context.
STAGES = ("to_device", "kernel", "from_device", "gather")
FIRST_STAGES = ("context", *STAGES)
NUMBER_BYTES = 4  # float32
LEAST_CALLS = 3
MOST = {"filter_size": 255, "channels": 4096, "filters": 4096, "images": 10_000_000, "height": 16384}
MOST |= {"width": 16384, "calls": 10_000, "devices": 1024}


@dataclass(frozen=True, kw_only=True)
class Conv2dTrial:
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

    def __post_init__(self) -> None:
        check_name("library", self.library, tuple(LIBRARIES))
        if self.mode not in (modes := LIBRARIES[self.library]):
            raise UserError(f"{self.library} has no mode {self.mode!r}: it has {', '.join(modes)}.")
        check_name("processor", self.processor, PROCESSORS)
        for name in ("images", "height", "width", "channels", "filters", "filter_size", "devices"):
            check_least(name, getattr(self, name), 1)
        check_least("seed", self.seed, 0)
        check_least("calls", self.calls, LEAST_CALLS, "fewer have no median")
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise UserError(f"{name} (={getattr(self, name)}) is too large: {most} or less.")
        if self.library in CPU_LIBRARIES and self.devices != 1:
            raise UserError(f"{self.library} runs on one CPU core, not on {self.devices} devices: use 1.")
        if self.images % self.devices:
            near = self.images - self.images % self.devices
            choices = " or ".join(str(n) for n in (near, near + self.devices) if n)
            raise UserError(
                f"images (={self.images}) must be divisible by devices (={self.devices}): try {choices}."
            )

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

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: every field, in order."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conv2dTrial:
        """Return the trial that `as_dict` was called on."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    def in_block(self, block: int) -> Conv2dTrial:
        """Return the trial as block `block` runs it: with images of its own."""
        return replace(self, seed=self.seed + block)

    def without_seed(self) -> Conv2dTrial:
        """Return the trial that is the same in every block."""
        return replace(self, seed=0)

    def program(self) -> Conv2dTrial:
        """Return what is the same for trials that run the same layers: here, the trial itself."""
        return self.without_seed()


AnyTrial = Trial | Conv2dTrial


def trial_from_dict(data: Mapping[str, Any]) -> AnyTrial:
    """Return the trial that `as_dict` was called on, of training or of a convolution."""
    return Conv2dTrial.from_dict(data) if "library" in data else Trial.from_dict(data)
