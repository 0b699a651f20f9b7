"""The lines to copy of the convolution that won, from planted wins."""

from __future__ import annotations

import numpy as np
import pytest

from conv2d_data import (
    CORE,
    make_run,
    make_runs,
    make_trial,
    on_cores,
    planted_world,
)
from trainspeed.core.convolution import CPU_LIBRARIES, LIBRARIES
from trainspeed.snippets.code import lines
from trainspeed.studies.conv2d.advice import advice, fastest_code
from trainspeed.worker.convolution.reference import convolve


def advised(runs, *, core=CORE, sweeps=()):
    return advice(runs, core, sweeps)


# The lines to copy.


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_lines_of_the_fastest_are_shown_as_markdown(library):
    for mode in LIBRARIES[library]:
        trial = make_trial(f"{library} {mode}")
        (block,) = fastest_code([make_run(trial)], [trial])

        code = lines("convolution", library=library, mode=mode, on_gpu=library not in CPU_LIBRARIES)
        assert f"```python\n{code}\n```" in block
        assert block.startswith("**")


@pytest.mark.parametrize(("opencv", "first"), [(2.0, "PyTorch"), (0.5, "OpenCV")])
def test_the_lines_of_what_won_come_first(opencv, first):
    blocks = fastest_code(planted_world(torch=1.0, opencv=opencv), CORE)

    assert [first in block.splitlines()[0] for block in blocks] == [True, False]


def test_there_are_lines_for_the_device_and_for_the_cpu():
    blocks = fastest_code(planted_world(torch=1.0, opencv=2.0), CORE)

    assert [block.splitlines()[0] for block in blocks] == [
        "**PyTorch**, the fastest on the device",
        "**OpenCV filter2D**, the fastest on the CPU; for one channel",
    ]


def test_a_library_that_is_not_told_apart_from_the_fastest_is_named_beside_it():
    """The shortest median of several that noise cannot tell apart is partly luck."""
    first, _ = fastest_code(planted_world(torch=3.99, opencv=5.0, scipy_signal=8.0), CORE)

    heading = first.splitlines()[0]
    assert heading == "**PyTorch**, the shortest median on the device; not told apart from TensorFlow (graph)"


@pytest.mark.parametrize(("two", "told"), [(1.0, True), (2.0, False), (2.5, False)])
def test_devices_that_are_faster_than_their_number_are_doubted(two, told):
    runs = on_cores(make_runs(CORE, lambda t, _: {1: 4.0, 2: two, 4: 3.0}[t.devices]))

    assert (
        any("more than the 2 times that sharing the images gives" in text for text in advised(runs)) is told
    )


def test_the_lines_of_a_machine_without_a_gpu_are_for_no_device():
    blocks = fastest_code(on_cores(planted_world(torch=1.0, opencv=2.0)), CORE)

    assert [block.splitlines()[0] for block in blocks] == [
        "**PyTorch**, the fastest of the frameworks, on a CPU core",
        "**OpenCV filter2D**, the fastest of the CPU's libraries; for one channel",
    ]


def test_the_lines_name_the_device_that_it_ran_on():
    trial = make_trial("torch")
    on_gpu, on_cpu = [make_run(trial)], on_cores([make_run(trial)])

    assert 'device = torch.device("cuda")' in fastest_code(on_gpu, [trial])[0]
    assert 'device = torch.device("cpu")' in fastest_code(on_cpu, [trial])[0]


@pytest.mark.parametrize(
    ("library", "settings"),
    {
        "torch": ('cudnn.conv.fp32_precision = "ieee"', "cudnn.benchmark = True"),
        "tensorflow": ("enable_tensor_float_32_execution(False)",),
        "keras": ("enable_tensor_float_32_execution(False)",),
        "jax": ("precision=jax.lax.Precision.HIGHEST",),
    }.items(),
)
def test_on_a_gpu_the_lines_forbid_tf32_and_choose_algorithms_as_was_measured(library, settings):
    for mode in LIBRARIES[library]:
        on_gpu, on_cpu = (
            lines("convolution", library=library, mode=mode, on_gpu=where) for where in (True, False)
        )
        assert all(setting in on_gpu and setting not in on_cpu for setting in settings)


@pytest.mark.parametrize("library", CPU_LIBRARIES)
@pytest.mark.parametrize("size", [1, 3, 4, 5, 6])
def test_the_lines_for_the_cpu_compute_what_was_timed(library, size):
    """For one channel and one filter."""
    rng = np.random.default_rng(0)
    images, kernel = rng.normal(size=(2, 7, 8)), rng.normal(size=(size, size))
    names = {"images": images, "kernel": kernel}
    exec(lines("convolution", library=library, mode=LIBRARIES[library][0], on_gpu=False), names)

    expected = convolve(images[..., None], kernel[..., None, None])[..., 0]
    np.testing.assert_allclose(np.array(names["y"]), expected, atol=1e-9)
