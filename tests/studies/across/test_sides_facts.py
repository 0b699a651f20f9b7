"""What two sides were measured with, and what of it differs."""

from pathlib import Path

import pytest

from study_data import MACHINE, make_run
from trainspeed.studies.across import sides
from trainspeed.studies.across.pairs import side_by_side
from trainspeed.studies.across.sides import Side

GPU = {
    "name": "NVIDIA H200",
    "memory_bytes": 150_754_820_096,
    "power_limit_w": 700.0,
    "compute_capability": "9.0",
}
FULL = {
    "device": "gpu",
    "cpu": "AMD EPYC 9454",
    "cpu_flags": ["avx2"],
    "cores": {"physical": 8, "logical": 16, "quota": 4.0},
    "memory_bytes": 128_000_000_000,
    "gpus": [GPU, GPU],
    "driver": "580.1",
    "cuda": "13.0",
    "os": "Debian",
    "container": True,
    "python": "3.12.1",
}


def run(**more):
    return make_run(
        **{"machine": FULL, "started_at": "2026-11-20T10:00:00+00:00", "dataset": "digits", **more}
    )


def differences(a, b):
    """What differs between what measured the common trials."""
    return sides.difference_sentences(*side_by_side(a, b).runs)


def test_the_same_machine_and_versions_differ_in_nothing():
    """Dates of course differ, and are no warning."""
    later = run(session="20261121T100000Z-abcd", started_at="2026-11-21T10:00:00+00:00")
    assert differences([run()], [later]) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"cpu": "Intel Xeon"}, "CPU: AMD EPYC 9454 in A, Intel Xeon in B."),
        ({"driver": "590.2"}, "NVIDIA driver: 580.1 in A, 590.2 in B."),
        ({"cuda": None}, "CUDA of the driver: 13.0 in A, none or not known in B."),
        ({"os": "Ubuntu"}, "system: Debian in A, Ubuntu in B."),
        ({"python": "3.13.0"}, "Python of the notebooks: 3.12.1 in A, 3.13.0 in B."),
        ({"container": False}, "in a container: yes in A, no in B."),
        ({"memory_bytes": 64_000_000_000}, "memory: 128 GB in A, 64 GB in B."),
        (
            {"cores": {"physical": 8, "logical": 16}},
            "cores: 8 physical, 16 logical, limited to 4 at a time in A, 8 physical, 16 logical in B.",
        ),
        (
            {"gpus": [{**GPU, "power_limit_w": 500.0}]},
            "GPUs: 2 × NVIDIA H200, 151 GB, 700 W at most, compute capability 9.0 in A, 1 × NVIDIA H200, 151 GB, "
            "500 W at most, compute capability 9.0 in B.",
        ),
        ({"device": "cpu"}, "trained on: GPU in A, CPU, one core per device in B."),
    ],
)
def test_each_difference_of_the_machine_is_a_sentence(changed, sentence):
    other = run(session="20261121T100000Z-abcd", machine={**FULL, **changed})
    assert differences([run()], [other]) == [sentence]


def test_a_few_bytes_of_memory_less_are_no_other_machine():
    other = run(session="20261121T100000Z-abcd", machine={**FULL, "memory_bytes": 127_999_000_000})
    assert differences([run()], [other]) == []


def test_versions_and_the_seed_are_compared_and_several_differences_warned_of():
    other = run(session="20261121T100000Z-abcd", versions={"torch": "2.14.0"}, seed=7)
    assert differences([run()], [other]) == [
        "PyTorch: torch: 2.15.0 in A, 2.14.0 in B.",
        "seed: 0 in A, 7 in B.",
        "2 things differ at once, so a difference in time cannot be ascribed to one of them.",
    ]


def test_only_what_measured_the_common_trials_counts():
    """Another study of A ran elsewhere; it is compared with nothing."""
    elsewhere = run(study="amp", machine={**FULL, "cpu": "Intel Xeon"})
    other = run(session="20261121T100000Z-abcd")
    assert differences([run(), elsewhere], [other]) == []


def test_the_same_session_on_both_sides_is_warned_of():
    (said,) = differences([run()], [run()])
    assert said == "Both sides hold session 20261120T100000Z-abcd: these are the same runs twice."


def test_what_changed_within_a_side_is_listed():
    a = [run(), run(block=1, machine={**FULL, "driver": "590.2"})]
    b = [run(session="20261121T100000Z-abcd")]
    assert differences(a, b) == ["NVIDIA driver: 580.1; 590.2 in A, 580.1 in B."]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, "A is old: 2 × NVIDIA H200, 2026-11-20."),
        ({"machine": MACHINE}, "A is old: Test CPU, no GPU used, 2026-11-20."),
        ({"machine": MACHINE, "started_at": None}, "A is old: Test CPU, no GPU used."),
        ({"machine": {}, "started_at": None}, "A is old: a machine that is not known."),
    ],
)
def test_a_side_is_introduced_by_what_trained_and_when(more, sentence):
    side = Side(letter="A", path=Path("old/runs.jsonl"), name="old", runs=())
    assert sides.side_sentence(side, [run(**more)]) == sentence


def test_the_table_leaves_out_what_neither_side_knows_and_marks_differences():
    rows = sides.fact_rows([run()], [run(machine={**FULL, "driver": "590.2"})])
    by_name = {row["what"]: row for row in rows}
    assert "interconnect" not in by_name
    assert by_name["NVIDIA driver"] == {"what": "NVIDIA driver", "A": "580.1", "B": "590.2", "": "differs"}
    assert by_name["CPU"][""] == ""
