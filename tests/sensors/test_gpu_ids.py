"""Which GPUs a worker may see, and under which names."""

from types import SimpleNamespace

import pytest

from trainspeed.sensors.gpu_ids import hashed, visible_uuids

GPUS = [SimpleNamespace(uuid=uuid) for uuid in ("GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3")]
A, B, C = (gpu.uuid for gpu in GPUS)


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        (None, [A, B, C]),
        ("", []),
        ("2,0", [C, A]),
        (" 1 , 2 ", [B, C]),
        ("0,2,-1,1", [A, C]),
        ("0,7,1", [A]),
        ("NoDevFiles", []),
        ("-1", []),
        ("0,0", []),
        ("GPU-cccc-3,GPU-aaaa-1", [C, A]),
        ("GPU-aab,GPU-c", [B, C]),
        ("GPU-c,GPU-aa,GPU-aab", [C]),  # GPU-aa might be either of two
        ("GPU-c,GPU-cccc", []),  # the same one twice
        ("GPU-c,0", [C]),
        ("0,GPU-c", [A]),
        ("MIG-1234,MIG-5678", ["MIG-1234", "MIG-5678"]),
        ("MIG-1234,0", ["MIG-1234"]),
        ("1gpu,2", [B, C]),
    ],
)
def test_reads_cuda_visible_devices_as_cuda_does(text, visible):
    assert visible_uuids(GPUS, text) == visible


def test_a_gpu_that_does_not_answer_is_never_visible():
    assert visible_uuids([SimpleNamespace(uuid=None), *GPUS], None) == [A, B, C]


def test_a_hashed_uuid_is_twelve_hex_digits_of_its_sha256():
    assert hashed("GPU-aaaa-1") == "c3045f930569"
