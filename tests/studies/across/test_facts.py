"""What the sides were measured with, and what of it differs."""

import pytest

from sides_data import common_of
from study_data import MACHINE, make_run
from trainspeed.studies.across import facts

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
    return said(common_of(A=a, B=b).runs)


def said(runs):
    known = {side: facts.facts(own) for side, own in runs.items()}
    return [*facts.difference_sentences(known), *facts.repeated_sentences(runs)]


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
        "B differs from A in 2 things at once, so a difference in time from it cannot be ascribed to one of them.",
    ]


def test_sides_that_each_differ_from_the_first_in_one_thing_are_told_apart_by_it():
    """Several things differ among them all, and none of two at once: the others are compared with the first."""
    cpu = run(session="s2", machine={**FULL, "cpu": "Intel Xeon"})
    torch = run(session="s3", versions={"torch": "2.14.0"})
    sides = {"a": [run()], "b": [cpu], "c": [torch]}
    assert said(sides) == [
        "CPU: AMD EPYC 9454 in a and c, Intel Xeon in b.",
        "PyTorch: torch: 2.15.0 in a and b, 2.14.0 in c.",
    ]

    both = {"machine": {**FULL, "cpu": "Intel Xeon"}, "versions": {"torch": "2.14.0"}}
    *_, last = said({**sides, "d": [run(session="s4", **both)]})
    assert last.startswith("d differs from a in 2 things at once, so")
    *_, last = said({**sides, "d": [run(session="s4", **both)], "e": [run(session="s5", seed=7, **both)]})
    assert last.startswith("d and e differ from a in 2 to 3 things at once, so")


def test_only_what_measured_the_common_trials_counts():
    """Another study of A ran elsewhere; it is compared with nothing."""
    elsewhere = run(study="amp", machine={**FULL, "cpu": "Intel Xeon"})
    other = run(session="20261121T100000Z-abcd")
    assert differences([run(), elsewhere], [other]) == []


def test_the_versions_of_a_framework_are_those_of_the_sides_that_are_compared_in_it():
    """A third side trained other things with TensorFlow: its version is known, and no matter here."""
    keras = [run(framework="tensorflow", versions={"tensorflow": v}) for v in ("2.21.0", "2.20.0")]
    sides = {"a": [run(), keras[0]], "b": [run(session="other"), keras[1]], "c": [run(session="third")]}
    assert said(sides)[:1] == ["TensorFlow: tensorflow: 2.21.0 in a, 2.20.0 in b."]


def test_the_same_session_on_several_sides_is_warned_of():
    later = run(session="20261121T100000Z-abcd")
    assert said({"a": [run()], "b": [later], "c": [run(), later]}) == [
        "a and c hold session 20261120T100000Z-abcd: these are the same runs more than once.",
        "b and c hold session 20261121T100000Z-abcd: these are the same runs more than once.",
    ]


def test_sides_with_the_same_value_are_named_together_and_many_are_counted():
    new = {**FULL, "driver": "590.2"}
    runs = {f"n{n}": [run(session=f"s{n}", machine=new if n < 2 else FULL)] for n in range(7)}
    assert said(runs) == ["NVIDIA driver: 590.2 in n0 and n1, 580.1 in 5 sides."]


def test_of_many_values_the_first_are_told():
    runs = {f"n{n}": [run(session=f"s{n}", machine={**FULL, "driver": f"{n}"})] for n in range(9)}
    assert said(runs) == ["NVIDIA driver: 0 in n0, 1 in n1, 2 in n2, 3 in n3, and 5 other values."]


def test_what_changed_within_a_side_is_listed():
    a = [run(), run(block=1, machine={**FULL, "driver": "590.2"})]
    b = [run(session="20261121T100000Z-abcd")]
    assert differences(a, b) == ["NVIDIA driver: 580.1; 590.2 in A, 580.1 in B."]


@pytest.mark.parametrize(
    ("more", "price", "sentence"),
    [
        ({}, None, "old: 2 × NVIDIA H200, 2026-11-20."),
        ({"machine": MACHINE}, 2.5, "old: Test CPU, no GPU used, 2026-11-20, 2.50 USD an hour."),
        ({"machine": MACHINE, "started_at": None}, None, "old: Test CPU, no GPU used."),
        ({"machine": {}, "started_at": None}, None, "old: a machine that is not known."),
    ],
)
def test_a_side_is_introduced_by_what_trained_when_and_for_how_much(more, price, sentence):
    assert facts.side_sentence("old", [run(**more)], price) == sentence


def test_the_table_leaves_out_what_no_side_knows_and_marks_differences():
    known = {"A": facts.facts([run()]), "B": facts.facts([run(machine={**FULL, "driver": "590.2"})])}
    by_name = {row["what"]: row for row in facts.fact_rows(known, ["A", "B"])}
    assert "interconnect" not in by_name
    assert by_name["NVIDIA driver"] == {"what": "NVIDIA driver", "A": "580.1", "B": "590.2", "": "differs"}
    assert by_name["CPU"][""] == ""
    assert {*facts.fact_rows(known, ["A"])[0]} == {"what", "A", ""}


def test_a_default_precision_that_is_another_on_each_side_is_told():
    """The same trial multiplies in TF32 on one machine and in 32 bits on the other."""
    a, b = make_run(tf32=()), make_run(tf32=("convolutions",), session="20261121T100000Z-abcd")

    assert said({"A": [a], "B": [b]}) == [
        "PyTorch: default precision: 32 bits, no TF32 in A, 32 bits, TF32 allowed in convolutions in B."
    ]
