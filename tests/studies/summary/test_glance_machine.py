"""The lines of the front page's first screen on the machine and its memory."""

import pytest

from conv2d_data import GPU_MACHINE
from front_data import (
    fact,
    shows,
    write_notebook,
    write_page,
)
from study_data import MACHINE, make_run
from trainspeed.core.run import Status
from trainspeed.judge.memory import memory_use
from trainspeed.studies.summary.notebooks import notebooks_in

GB = 10**9
ON_CPU = MACHINE | {"device": "cpu", "memory_bytes": 10 * GB, "gpus": [{"memory_bytes": GB}]}
GPUS = [{"name": "H200", "memory_bytes": 8 * GB}, {"name": "L4", "memory_bytes": 4 * GB}]
ON_GPU = MACHINE | {"device": "gpu", "memory_bytes": GB, "gpus": GPUS}


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        ({}, "nothing was measured here yet."),
        ({"cpu": "Xeon", "cores": {"logical": 2}, "device": "cpu"}, "Xeon, 2 cores, no GPU used."),
        ({"cpu": None, "cores": None, "gpus": None}, "CPU, no GPU used."),
        ({**MACHINE, "gpus": [{"name": "H200"}]}, "Test CPU, no GPU used."),
        ({"device": "gpu", "gpus": [{"name": "H200"}]}, "H200."),
        (GPU_MACHINE, "4 × Test GPU."),
        (
            {"cpu": "Xeon", "environment": {"OMP_NUM_THREADS": "1"}},
            "Xeon, no GPU used; set in the environment: OMP\\_NUM\\_THREADS=1.",
        ),
        ({"cpu": "a *b* <c>"}, "a \\*b\\* \\<c\\>, no GPU used."),
    ],
)
def test_the_machine_is_one_line(machine, sentence):
    assert fact("Machine", machine=machine) == sentence


def test_the_machine_has_the_versions_of_what_was_measured_on_it():
    runs = [
        make_run(framework=name, versions={name: "2.9", "cuda": "none"}) for name in ("torch", "tensorflow")
    ]

    assert (
        fact("Machine", *runs, machine={"cpu": "Xeon"})
        == "Xeon, no GPU used; PyTorch 2.9 and TensorFlow 2.9."
    )


@pytest.mark.parametrize(
    ("machine", "share", "whose"),
    [(ON_CPU, "20 %", "on top of the framework and the data"), (ON_GPU, "50 %", "by one run")],
)
def test_memory_is_that_of_the_fullest_run_on_the_smallest_device(machine, share, whose):
    """The share is rounded as the size beside it is. On a CPU it is what a process added after its start."""
    runs = [make_run(machine=machine, peak_memory_bytes=int(size * GB)) for size in (1, 2.002)]
    said = f"at most 2.00 GB, {share}, {whose} ([layout](layout.html): cnn10)."
    assert fact("Memory", *runs) == f"no run ran out; {said}"
    assert fact("Memory", *runs, make_run(status=Status.CRASHED)) == said


def test_memory_leads_to_the_section_that_shows_it(tmp_path):
    run = make_run(machine=ON_GPU, peak_memory_bytes=GB)
    for headings, place in ((("Result", "Memory, compiling"), "memory-compiling"), (("Result",), "result")):
        write_notebook(tmp_path, "layout", [shows(heading, []) for heading in headings])
        write_page(tmp_path, "layout")
        assert fact("Memory", run, notebooks=notebooks_in(tmp_path)).endswith(
            f"(layout.html#{place}): cnn10)."
        )


def test_what_did_not_fit_is_told_before_what_was_used():
    failed = [make_run(block=block, status=Status.OOM) for block in range(3)]
    said = fact("Memory", *failed, make_run(machine=ON_GPU, peak_memory_bytes=GB), make_run())

    assert said == (
        "[1 trial did not fit](#what-was-not-measured); at most 1.00 GB, 25 %, by one run "
        "([layout](layout.html): cnn10)."
    )


def test_memory_that_nobody_told_is_not_called_enough():
    assert fact("Memory", make_run()) == "how much was used is not known."
    assert memory_use([make_run(machine=MACHINE | {"gpus": []}, peak_memory_bytes=GB)]).fullest is None
    assert fact("Memory", make_run(status=Status.OOM)).endswith(
        "(#what-was-not-measured); how much was used is not known."
    )
