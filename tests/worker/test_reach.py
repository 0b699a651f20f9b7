"""Why a framework cannot use a GPU, in one line, on made-up drivers, builds and GPUs."""

import pytest

from fake_nvml import FakeGpu, FakeNvml, install, install_none
from trainspeed.core.cuda import CUDA_13_CAPABILITY, version_pair
from trainspeed.worker.environment import VISIBLE, Preset, show_gpus
from trainspeed.worker.reach import Build, GpuNotReached, NvidiaDriver, driver_here, reach, why_not

TORCH = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")  # torch.cuda.get_arch_list(), 2.15.0+cu132
TENSORFLOW = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")
PYTORCH = Build(framework="PyTorch", cuda="13.2", architectures=TORCH)
JAX = Build(framework="JAX", cuda="13")
DRIVER = NvidiaDriver(version="580.65.06", cuda="13.0", gpus=(("NVIDIA H100", "9.0"),))


@pytest.mark.parametrize(
    ("architectures", "cuda", "served", "not_served"),
    [
        (
            TORCH,
            "13.2",
            [(7, 5), (8, 0), (8, 9), (9, 0), (10, 3), (12, 1)],
            [(6, 0), (7, 0), (7, 2), (11, 0)],
        ),
        (TENSORFLOW, "12.9", [(6, 0), (6, 1), (7, 5), (9, 0), (10, 0), (12, 0)], [(5, 2)]),
        ((), "13", [(7, 5), (12, 0)], [(6, 1), (7, 0)]),
        ((), "12", [(6, 0), (12, 0)], []),
    ],
)
def test_a_build_serves_its_architectures_and_what_they_run_on(architectures, cuda, served, not_served):
    build = Build(framework="any", cuda=cuda, architectures=architectures)

    assert [capability for capability in served if not build.serves(capability)] == []
    assert [capability for capability in not_served if build.serves(capability)] == []


def test_gpus_are_left_out_by_the_oldest_architecture_of_the_wheels():
    assert min(map(version_pair, TORCH)) == CUDA_13_CAPABILITY


def fails(text):
    def first_step():
        raise RuntimeError(text)

    return first_step


def reason(build, count, first_step, monkeypatch, driver=None):
    install(monkeypatch, driver) if driver else install_none(monkeypatch)
    with pytest.raises(GpuNotReached) as told:
        reach(build, count, first_step)
    assert "\n" not in str(told.value)
    assert str(told.value).endswith("set TRAINSPEED_DEVICE=cpu to train everything on the CPU")
    return str(told.value)


def test_what_can_be_used_is_used(monkeypatch):
    monkeypatch.setattr("trainspeed.worker.reach.open_nvml", lambda: pytest.fail("asked the driver"))
    done = []

    reach(PYTORCH, lambda: 1, lambda: done.append("computed"))

    assert done == ["computed"]


@pytest.mark.parametrize(
    ("version", "cuda", "told"), [("535.161.07", 12_020, "12.2"), ("470.82.01", 11_040, "11.4")]
)
def test_a_driver_that_is_too_old_is_named_with_the_one_that_is_needed(monkeypatch, version, cuda, told):
    driver = FakeNvml(FakeGpu(), driver=version, cuda=cuda)

    text = reason(
        PYTORCH, lambda: 1, fails("The NVIDIA driver on your system is too old"), monkeypatch, driver
    )

    assert text.startswith(
        f"PyTorch cannot reach the GPU that is here: it was built for CUDA 13.2, and the NVIDIA driver {version} "
        f"runs CUDA up to {told}: install driver 580 or newer, or "
    )


def test_a_driver_of_the_same_cuda_is_not_called_too_old():
    """Programs of a later minor version run, too."""
    text = why_not(Build(framework="TensorFlow", cuda="12.9"), NvidiaDriver(version="535", cuda="12.2"), None)

    assert "it sees none" in text and "install driver" not in text


@pytest.mark.parametrize(("capability", "text"), [((6, 0), "6.0"), ((6, 1), "6.1"), ((7, 0), "7.0")])
@pytest.mark.parametrize("build", [PYTORCH, JAX])
def test_a_gpu_without_kernels_is_named_with_its_capability(monkeypatch, build, capability, text):
    monkeypatch.setenv(VISIBLE, "GPU-old")
    old = FakeGpu(uuid="GPU-old", name="Tesla P100", nvmlDeviceGetCudaComputeCapability=capability)
    driver = FakeNvml(FakeGpu(uuid="GPU-new"), old)

    told = reason(build, lambda: 1, fails("no kernel image is available for execution"), monkeypatch, driver)

    assert f"it has no kernels for Tesla P100 with compute capability {text} (" in told


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)])
def test_a_gpu_with_kernels_is_not_blamed(monkeypatch, capability):
    monkeypatch.setenv(VISIBLE, "GPU-a")
    driver = FakeNvml(FakeGpu(uuid="GPU-a", nvmlDeviceGetCudaComputeCapability=capability))

    text = "no CUDA-capable device is detected\nand more of it"
    told = reason(PYTORCH, lambda: 1, fails(text), monkeypatch, driver)

    assert "(RuntimeError: no CUDA-capable device is detected): see whether it works alone" in told


def test_a_build_for_cpus_says_what_to_install(monkeypatch):
    build = Build(framework="TensorFlow", cuda=None)

    text = reason(build, lambda: 0, lambda: None, monkeypatch, FakeNvml(FakeGpu()))

    assert text.startswith(
        "this build of TensorFlow cannot reach the GPU that is here: install its CUDA build"
    )


def test_a_plugin_that_cannot_start_is_a_reason_and_no_crash(monkeypatch):
    """JAX raises as soon as its devices are listed."""
    error = "Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA"

    assert f"(RuntimeError: {error})" in reason(JAX, fails(error), lambda: None, monkeypatch)


def test_a_framework_that_sees_no_gpu_computes_nothing(monkeypatch):
    text = reason(PYTORCH, lambda: 0, lambda: pytest.fail("computed"), monkeypatch, FakeNvml(FakeGpu()))

    assert "(it sees none)" in text


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: out of memory",
        "all CUDA-capable devices are busy or unavailable",
        "CUDA error: something that nobody has seen so far",
    ],
)
def test_what_may_go_well_another_time_is_told_as_what_it_is(monkeypatch, text):
    """What is not known is tried again: `trainspeed.conduct.crashes` ends that."""
    monkeypatch.setenv(VISIBLE, "GPU-a")
    install(monkeypatch, FakeNvml(FakeGpu(uuid="GPU-a")))

    with pytest.raises(RuntimeError, match=text):
        reach(PYTORCH, lambda: 1, fails(text))


def test_the_driver_tells_of_the_gpus_that_this_process_may_see(monkeypatch):
    instance = FakeGpu(uuid="MIG-1", name="NVIDIA A100 MIG 1g.5gb")
    gpus = FakeGpu(uuid="GPU-a", mig=[instance]), FakeGpu(uuid="GPU-b", name="B"), FakeGpu(uuid="GPU-c")
    install(monkeypatch, FakeNvml(*gpus))
    monkeypatch.setenv(VISIBLE, "MIG-1,GPU-b")

    assert driver_here().gpus == (("NVIDIA A100 MIG 1g.5gb", "9.0"), ("B", "9.0"))


# The environment of a run.


def test_a_run_sees_its_own_gpus_in_their_order_and_on_a_cpu_none():
    environment = {VISIBLE: "GPU-a,GPU-b,GPU-c"}
    show_gpus(("GPU-c", "GPU-a"), environment)
    assert environment == {VISIBLE: "GPU-c,GPU-a"}
    show_gpus((), environment)
    assert environment == {VISIBLE: ""}


def test_a_variable_of_the_user_is_kept_whatever_is_left_at_its_default():
    environment = {"PREALLOCATE": "true"}
    preset = Preset("PREALLOCATE", "false", environment)
    assert environment == {"PREALLOCATE": "true"}
    preset.undo()
    assert environment == {"PREALLOCATE": "true"}


def test_a_variable_that_the_user_has_not_set_is_taken_back():
    environment = {}
    preset = Preset("PREALLOCATE", "false", environment)
    assert environment == {"PREALLOCATE": "false"}
    preset.undo()
    assert environment == {}
