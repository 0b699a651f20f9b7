"""Which GPUs of a machine are used, in which order, and why the others are not, on made-up drivers."""

import pytest

from fake_nvml import FakeGpu, FakeNvml, install
from trainspeed.core.cuda import CUDA_13_CAPABILITY, ExclusionReason, version_pair
from trainspeed.sensors.gpus import choose_gpus, gpus_in_use
from trainspeed.sensors.nvml import open_nvml


def gpu(uuid, capability=(9, 0), gigabytes=80, name="NVIDIA Fake 1", **answers):
    total = int(gigabytes * 2**30)
    memory = {"total": total, "reserved": 0, "used": 0, "free": total}
    return FakeGpu(
        uuid=uuid,
        name=name,
        nvmlDeviceGetCudaComputeCapability=capability,
        nvmlDeviceGetMemoryInfo_v2=memory,
        **answers,
    )


def instance(uuid, slices, megabytes, *, parts=None, name="NVIDIA A100-SXM4-40GB"):
    """A MIG instance; drivers name it with or without its profile."""
    shares = {
        "gpuInstanceSliceCount": slices,
        "computeInstanceSliceCount": parts or slices,
        "memorySizeMB": megabytes,
    }
    unknown = {"nvmlDeviceGetTotalEnergyConsumption": None, "nvmlDeviceGetUtilizationRates": None}
    made = gpu(uuid, (8, 0), megabytes / 1024, name, nvmlDeviceGetAttributes_v2=shares)
    made.answers = {key: value for key, value in made.answers.items() if key not in unknown}
    return made


def a100(uuid, *instances):
    return gpu(uuid, (8, 0), 40536 / 1024, "NVIDIA A100-SXM4-40GB", mig=instances)


def chosen(monkeypatch, *gpus, visible=None, **options):
    install(monkeypatch, FakeNvml(*gpus))
    return choose_gpus(open_nvml().gpus, visible, **options)


def reasons(choice):
    return {gpu.uuid: why for gpu, why in choice.left_out}


def test_the_fast_gpu_is_used_and_the_old_one_that_draws_the_screen_is_not(monkeypatch):
    choice = chosen(
        monkeypatch, gpu("GPU-gt1030", (6, 1), 2, "GT 1030"), gpu("GPU-4090", (8, 9), 24, "RTX 4090")
    )

    assert choice.uuids == ("GPU-4090",)
    assert reasons(choice) == {"GPU-gt1030": ExclusionReason.TOO_OLD}


def test_the_newest_comes_first_and_then_the_largest_and_equal_ones_by_their_place(monkeypatch):
    choice = chosen(
        monkeypatch,
        gpu("GPU-a", (8, 6), 12),
        gpu("GPU-b", (12, 0), 16),
        gpu("GPU-c", (8, 9), 24),
        gpu("GPU-d", (12, 0), 32),
        gpu("GPU-e", (8, 6), 12),
    )

    assert choice.uuids == ("GPU-d", "GPU-b", "GPU-c", "GPU-a", "GPU-e")
    assert choice.left_out == ()


@pytest.mark.parametrize("capability", [(6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (9, 0), (10, 0), (12, 0)])
def test_a_gpu_that_is_alone_is_used_however_old(monkeypatch, capability):
    """Another build of a framework may have kernels for it; one that has none says so."""
    choice = chosen(monkeypatch, gpu("GPU-a", capability))

    assert choice.uuids == ("GPU-a",)


@pytest.mark.parametrize("capability", [(6, 0), (7, 0), (7, 2), (7, 5), (8, 9), (12, 0)])
def test_beside_a_new_one_only_what_cuda_13_serves_is_used(monkeypatch, capability):
    choice = chosen(monkeypatch, gpu("GPU-a", capability), gpu("GPU-b", (12, 0)))

    assert ("GPU-a" in choice.uuids) is (capability >= CUDA_13_CAPABILITY)


def test_an_old_gpu_that_is_named_is_used(monkeypatch):
    gpus = gpu("GPU-old", (6, 1)), gpu("GPU-new", (9, 0))

    choice = chosen(monkeypatch, *gpus, visible="0")

    assert choice.uuids == ("GPU-old",)
    assert reasons(choice) == {"GPU-new": ExclusionReason.HIDDEN}


def test_a_named_order_is_kept(monkeypatch):
    gpus = gpu("GPU-a", (8, 0)), gpu("GPU-b", (9, 0))

    assert chosen(monkeypatch, *gpus, visible="0,1").uuids == ("GPU-a", "GPU-b")


def test_without_gpus_by_wish_all_are_left_out(monkeypatch):
    choice = chosen(monkeypatch, gpu("GPU-a"), a100("GPU-b", instance("MIG-1", 1, 4864)), wanted=False)

    assert choice.used == ()
    assert set(reasons(choice).values()) == {ExclusionReason.NOT_WANTED}


def test_a_gpu_that_does_not_answer_is_left_out(monkeypatch):
    lost = gpu("GPU-a")
    lost.lost = True

    choice = chosen(monkeypatch, lost, gpu("GPU-b"))

    assert choice.uuids == ("GPU-b",)
    assert [(one.index, why) for one, why in choice.left_out] == [(0, ExclusionReason.LOST)]


# MIG.


def test_in_mig_mode_the_largest_instance_is_the_only_device(monkeypatch):
    """A process can compute on one instance; a whole A100 is not there to compute on."""
    instances = instance("MIG-1", 1, 4864), None, instance("MIG-3", 3, 19968)

    choice = chosen(monkeypatch, a100("GPU-a", *instances))

    (used,) = choice.used
    assert (used.uuid, used.name) == ("MIG-3", "NVIDIA A100-SXM4-40GB MIG 3g.20gb")
    assert (used.memory_total_bytes, used.compute_capability) == (19968 * 2**20, "8.0")
    assert used.power_limit_w is None
    assert reasons(choice) == {"MIG-1": ExclusionReason.SECOND_INSTANCE}


@pytest.mark.parametrize(
    ("slices", "parts", "megabytes", "name", "expected"),
    [
        (1, 1, 4864, "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
        (2, 2, 9856, "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB MIG 2g.10gb"),
        (3, 1, 19968, "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb"),
        (7, 7, 40192, "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB MIG 7g.40gb"),
        (1, 1, 4864, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
    ],
)
def test_an_instance_is_named_by_its_profile(monkeypatch, slices, parts, megabytes, name, expected):
    choice = chosen(monkeypatch, a100("GPU-a", instance("MIG-1", slices, megabytes, parts=parts, name=name)))

    assert choice.used[0].name == expected


def test_whole_gpus_are_used_rather_than_an_instance(monkeypatch):
    sliced = a100("GPU-a", instance("MIG-1", 7, 40192))

    choice = chosen(monkeypatch, sliced, gpu("GPU-b", (8, 0)), gpu("GPU-c", (8, 0)))

    assert choice.uuids == ("GPU-b", "GPU-c")
    assert reasons(choice) == {"MIG-1": ExclusionReason.SECOND_INSTANCE}


def test_a_gpu_in_mig_mode_without_instances_cannot_be_used(monkeypatch):
    choice = chosen(monkeypatch, a100("GPU-a"))

    assert choice.used == ()
    assert reasons(choice) == {"GPU-a": ExclusionReason.NO_INSTANCE}


@pytest.mark.parametrize(
    ("visible", "used"),
    [
        ("MIG-3", "MIG-3"),
        ("MIG-1,MIG-3", "MIG-1"),
        ("0", "MIG-3"),  # of the GPU with this number, the largest
        ("GPU-a", "MIG-3"),
        ("1,0", "GPU-b"),  # no instance beside a whole GPU
        ("0,1", "MIG-3"),
        ("MIG-GPU-a/3/0", "MIG-GPU-a/3/0"),  # the form of drivers before 470
    ],
)
def test_cuda_visible_devices_names_an_instance_or_its_gpu(monkeypatch, visible, used):
    sliced = a100("GPU-a", instance("MIG-1", 1, 4864), instance("MIG-3", 3, 19968))

    choice = chosen(monkeypatch, sliced, gpu("GPU-b"), visible=visible)

    assert choice.uuids == (used,)


def test_an_instance_has_no_energy_counter_and_its_gpus_is_not_taken_for_it(monkeypatch):
    choice = chosen(monkeypatch, a100("GPU-a", instance("MIG-1", 1, 4864)))

    assert open_nvml().energy_j(choice.uuids) is None


def test_memory_that_is_held_on_an_instance_is_noted_and_the_rest_of_the_gpu_is_not(monkeypatch):
    sliced = a100("GPU-a", instance("MIG-1", 1, 4864), instance("MIG-3", 3, 19968))
    sliced.mig[1].answers["nvmlDeviceGetMemoryInfo_v2"] = {"total": 0, "reserved": 0, "used": 2 * 10**9}
    install(monkeypatch, FakeNvml(sliced))

    assert gpus_in_use(["MIG-1"], wait=lambda _: None) == []
    (note,) = gpus_in_use(["MIG-3"], wait=lambda _: None)
    assert (note.gpu, note.held_bytes) == (0, 2e9)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("9.0", (9, 0)),
        ("12.9", (12, 9)),
        ("13", (13, 0)),
        ("sm_75", (7, 5)),
        ("sm_90a", (9, 0)),
        ("sm_120", (12, 0)),
        ("compute_90", (9, 0)),
        ("none", None),
        ("", None),
        (None, None),
    ],
)
def test_versions_and_architectures_are_read_as_numbers(text, pair):
    assert version_pair(text) == pair
