"""What to do instead, from what won: sentences and the lines to copy. Pure functions on verdicts and runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from trainspeed.comparison import Verdict
from trainspeed.conv2d_study import call_times, first_call_s
from trainspeed.conv2d_sweeps import Sweep
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.conv2d_verdicts import fastest
from trainspeed.crossover import Kind
from trainspeed.run import Run
from trainspeed.verdict import Outcome
from trainspeed.wording import library_of

WARM_UP_FROM = 2.0  # times a warm call: from here on a first call is worth a sentence

# Lines to copy, float32. Of a framework for images (batch, height, width, channels) and filters (k, k, channels,
# filters); of a CPU library for images (batch, height, width) and one kernel (k, k).
CODE = {
    ("tensorflow", "eager"): 'y = tf.nn.conv2d(images, filters, strides=1, padding="SAME")',
    ("tensorflow", "graph"): """@tf.function
def convolve(images, filters):
    return tf.nn.conv2d(images, filters, strides=1, padding="SAME")""",
    ("tensorflow", "xla"): """@tf.function(jit_compile=True)
def convolve(images, filters):
    return tf.nn.conv2d(images, filters, strides=1, padding="SAME")""",
    ("keras", "eager"): 'layer = keras.layers.Conv2D(filters, k, padding="same", use_bias=False)',
    ("keras", "graph"): """layer = keras.layers.Conv2D(filters, k, padding="same", use_bias=False)
convolve = tf.function(layer)""",
    ("torch", "eager"): """x = torch.from_numpy(images).permute(0, 3, 1, 2).to(device)  # stays channels_last
w = torch.from_numpy(filters).permute(3, 2, 0, 1).to(device)
with torch.inference_mode():
    y = torch.nn.functional.conv2d(x, w, padding="same")""",
    ("jax", "xla"): """@jax.jit
def convolve(images, filters):
    return jax.lax.conv_general_dilated(
        images, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )""",
    ("scipy_signal", "loop"): """around, flipped = ((k - 1) // 2, k // 2), kernel[::-1, ::-1]
y = [scipy.signal.convolve2d(np.pad(image, around), flipped, "valid") for image in images]""",
    ("scipy_ndimage", "loop"): """y = [
    scipy.ndimage.correlate(image, kernel, mode="constant", origin=k % 2 - 1) for image in images
]""",
    ("scipy_fft", "batch"): """around, flipped = ((k - 1) // 2, k // 2), kernel[None, ::-1, ::-1]
y = scipy.signal.fftconvolve(np.pad(images, ((0, 0), around, around)), flipped, "valid", axes=(1, 2))""",
    ("scipy_oaconvolve", "batch"): """around, flipped = ((k - 1) // 2, k // 2), kernel[None, ::-1, ::-1]
y = scipy.signal.oaconvolve(np.pad(images, ((0, 0), around, around)), flipped, "valid", axes=(1, 2))""",
    ("opencv", "loop"): """anchor = ((k - 1) // 2, (k - 1) // 2)
y = [
    cv2.filter2D(image, -1, kernel, anchor=anchor, borderType=cv2.BORDER_CONSTANT) for image in images
]""",
}


def advice(
    by_cpu: Sequence[Verdict],
    by_devices: Sequence[Verdict],
    staying: Sequence[Verdict],
    sweeps: Iterable[Sweep],
    runs: Sequence[Run],
    core: Sequence[Conv2dTrial],
) -> list[str]:
    """Return what to do about a convolution of the size measured, each with the number that says so."""
    told = [*_where(by_cpu, runs, core), *_devices(by_devices)]
    told += [
        f"Keep images and results on the device from call to call where you can: {library_of(v.candidate)} then "
        f"takes {1 / v.speedup:.0%} of a round trip.".replace("%", " %")
        for v in staying
        if v.outcome == Outcome.FASTER
    ]
    told += [_batch(s) for s in sweeps if s.factor == "images" and s.found.kind == Kind.FOUND and s.found.low]
    return [*told, *_warm_up(runs, core)]


def _where(by_cpu: Sequence[Verdict], runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    """Whether the device or the CPU, by the fastest of each."""
    best = fastest(runs, core)
    mine = [v for v in by_cpu if (v.candidate, v.baseline) == (best.get("device"), best.get("cpu"))]
    if not mine:
        return []
    (verdict,) = mine
    device, cpu = library_of(best["device"]), library_of(best["cpu"])
    if verdict.outcome == Outcome.FASTER:
        return [f"For this size use the device: {device} is {verdict.speedup:.2f}x as fast as {cpu}."]
    if verdict.outcome == Outcome.SLOWER:
        return [f"For this size stay on the CPU: {cpu} is {1 / verdict.speedup:.2f}x as fast as {device}."]
    if verdict.outcome == Outcome.SAME:
        return [f"For this size {device} and {cpu} are equally fast: take what is simpler."]
    return [f"Whether {device} or {cpu} is faster at this size is undecided: measure more blocks."]


def _devices(verdicts: Sequence[Verdict]) -> list[str]:
    told = []
    for library in dict.fromkeys(library_of(v.candidate) for v in verdicts):
        mine = [v for v in verdicts if library_of(v.candidate) == library]
        wins = [v for v in mine if v.outcome == Outcome.FASTER]
        if wins:
            best = max(wins, key=lambda v: v.speedup)
            told.append(
                f"{library}: share the images over {best.candidate.devices} devices ({best.speedup:.2f}x)."
            )
        elif all(v.outcome in (Outcome.SAME, Outcome.SLOWER) for v in mine):
            told.append(f"{library}: stay on one device; no other number was faster.")
    return told


def _batch(sweep: Sweep) -> str:
    device, cpu = library_of(sweep.device), library_of(sweep.cpu)
    if sweep.found.rising:
        least = math.ceil(sweep.found.size)
        return f"Put about {least:,} images or more into a call of {device}; for fewer, {cpu} is faster."
    most = math.floor(sweep.found.size)
    return f"Put no more than about {most:,} images into a call of {device}; beyond, {cpu} is faster."


def _warm_up(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    times = call_times(runs)
    best = fastest(runs, core).get("device")
    several = list(times.get(best, {}).values())
    if not several:
        return []
    ratio = median(first_call_s(run) / run.median_s for run in several)
    if ratio < WARM_UP_FROM:
        return []
    return [
        f"Make a call before the one that counts: in {library_of(best)} the first one of a process takes "
        f"{ratio:.1f} times as long as a later one."
    ]


def code(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    """Return the lines to copy for the fastest library on the device and on the CPU, as Markdown."""
    return [
        f"**{library_of(trial)}**, the fastest on the {'device' if where == 'device' else 'CPU; for one channel'}\n\n"
        f"```python\n{CODE[trial.library, trial.mode]}\n```"
        for where, trial in fastest(runs, core).items()
    ]
