"""The sessions of ledgers: their order and names, on which machine each was, and what changed before it."""

import pytest

from sessions_data import day, history_of, machine, upgraded_twice
from study_data import MACHINE, make_run
from trainspeed.core.errors import UserError
from trainspeed.studies.across.sessions import changes_text, sessions_of


def sessions(*several):
    return sessions_of(run for runs in several for run in runs)


def changes(*several):
    return [changes_text(session.all_changes) for session in sessions(*several)]


def test_sessions_stand_in_the_order_of_time_whatever_ledger_they_come_from():
    assert [s.label for s in sessions(day(20), day(2), day(5))] == ["2026-11-02", "2026-11-05", "2026-11-20"]


def test_sessions_of_one_day_are_told_apart_by_the_time_and_else_by_a_number():
    later = day(2, session="20261102T093000Z-beef", started_at="2026-11-02T09:30:00+00:00")
    twin = day(2, session="20261102T093000Z-cafe", started_at="2026-11-02T09:30:00+00:00")
    labels = [s.label for s in sessions(later, day(2), twin, day(3))]
    assert labels == ["2026-11-02 08:00", "2026-11-02 09:30 (1)", "2026-11-02 09:30 (2)", "2026-11-03"]


def test_a_session_without_times_is_placed_by_its_id():
    assert [s.label for s in sessions(day(9), day(5, started_at=None))] == ["2026-11-05", "2026-11-09"]


def test_a_session_that_two_ledgers_hold_counts_once():
    first, second = sessions(day(2), day(2), day(5))
    assert len(first.runs) == len(second.runs) == 6


def test_an_upgrade_is_a_change_of_its_framework_and_the_driver_one_of_all():
    named = sessions(upgraded_twice())
    assert [changes_text(s.changes_for("torch")) for s in named] == [
        "",
        "",
        "PyTorch 2.13.1 → 2.14.0",
        "",
        "PyTorch 2.14.0 → 2.15.0, NVIDIA driver 580.65 → 590.11",
        "",
    ]
    assert changes_text(named[4].changes_for("tensorflow")) == "NVIDIA driver 580.65 → 590.11"
    assert {s.machine for s in named} == {0}


def test_a_version_that_a_session_does_not_tell_is_as_it_was():
    assert changes(day(1, torch="2.14"), day(2, torch=None), day(3, torch="2.14")) == ["", "", ""]
    assert changes(day(1, torch="2.14"), day(2, torch=None), day(3, torch="2.15"))[2] == "PyTorch 2.14 → 2.15"
    assert changes(day(1, torch=None), day(2, torch="2.15")) == ["", ""]


def test_kernel_governor_and_power_limit_are_changes_and_make_no_other_machine():
    gpu = {"name": "A", "uuid": "1", "memory_bytes": 1, "power_limit_w": 300.0}
    before = machine(device="gpu", gpus=[gpu], os="Linux 6.1", governor="performance")
    after = machine(
        device="gpu", gpus=[{**gpu, "power_limit_w": 250.0}], os="Linux 6.2", governor="powersave"
    )
    named = sessions(day(1, machine=before), day(2, machine=after))
    assert changes_text(named[1].all_changes) == (
        "system Linux 6.1 → Linux 6.2, clock governor performance → powersave, power limit of the GPUs 300 W → 250 W"
    )
    assert named[1].machine == 0


def test_another_processor_is_another_machine_and_the_first_one_is_known_again():
    other = machine(cpu="Another CPU")
    named = sessions(day(1), day(2, torch="2.15", machine=other), day(3), day(4, torch="2.16", machine=other))
    assert [s.machine for s in named] == [0, 1, 0, 1]
    assert [(d.what, d.before, d.now) for d in named[1].new] == [("CPU", "Test CPU", "Another CPU")]
    assert changes_text(named[3].all_changes) == "PyTorch 2.15 → 2.16", "against its own session before"


def test_a_processor_of_the_same_name_with_other_instructions_is_another_machine():
    """As virtual machines have: "AMD EPYC" is what they call one with AVX-512 and one without."""
    newer, older = (machine(cpu_flags=flags) for flags in (["avx2", "avx512f"], ["avx2"]))
    named = sessions(day(1, machine=newer), day(2, machine=older), day(3, machine=newer))
    assert [s.machine for s in named] == [0, 1, 0]
    assert [(d.what, d.before, d.now) for d in named[1].new] == [
        ("CPU instructions", "avx2, avx512f", "avx2")
    ]


def test_another_environment_variable_is_a_change_and_so_is_one_that_is_no_longer_set():
    plain, one = machine(environment={}), machine(environment={"OMP_NUM_THREADS": "1"})
    days = [day(1), day(2, machine=plain), day(3, machine=one), day(4, machine=plain)]
    assert changes(*days) == [
        "",
        "",
        "environment variables none → OMP_NUM_THREADS=1",
        "environment variables OMP_NUM_THREADS=1 → none",
    ]
    assert {session.machine for session in sessions(*days)} == {0}


def test_machines_of_a_fleet_with_other_names_are_other_machines_unless_their_gpus_tell():
    def on(node, uuid):
        gpu = {"name": "A", "uuid": uuid, "memory_bytes": 1, "power_limit_w": 300.0}
        return {"node": node, "machine": machine(device="gpu", gpus=[gpu])}

    east, twin, west = on("east-1", "1"), on("east-2", "2"), on("west-1", "3")
    assert [s.machine for s in sessions(day(1, **east), day(2, **west), day(3, **twin))] == [0, 1, 0]
    assert [s.machine for s in sessions(day(1, **east), day(2, **on("gpu-box-1", "1")))] == [0, 0]
    without = sessions(day(1, node="east-1"), day(2, node="west-1"), day(3, node="east-2"))
    assert [s.machine for s in without] == [0, 1, 0]
    assert [(d.what, d.before, d.now) for d in without[1].new] == [("name in the fleet", "east", "west")]


def test_memory_container_interconnect_and_cuda_are_changes():
    before = machine(memory_bytes=8 * 10**9, container=False, interconnect="PCIe", cuda="13.0")
    after = machine(memory_bytes=512 * 10**9, container=True, interconnect="NVLink", cuda="13.1")
    assert changes(day(1, machine=before), day(2, machine=after))[1] == (
        "CUDA of the driver 13.0 → 13.1, memory 8 GB → 512 GB, interconnect PCIe → NVLink, in a container no → yes"
    )
    upgraded = {**before, "driver": "590.11", "cuda": "13.1", "memory_bytes": 7_950_000_000}
    assert changes(day(1, machine={**before, "driver": "580.65"}), day(2, machine=upgraded))[1] == (
        "NVIDIA driver 580.65 → 590.11"
    ), "it brings its CUDA along, and a kernel keeps some more memory for itself"


def test_a_session_that_tells_nothing_of_its_machine_is_taken_for_the_last_one():
    assert [s.machine for s in sessions(day(1), day(2, machine={}), day(3, machine=MACHINE))] == [0, 0, 0]


@pytest.mark.parametrize(("runs", "count"), [(day(1), "is 1 session"), ([], "are 0 sessions")])
def test_one_session_is_one_clear_line(runs, count):
    with pytest.raises(
        UserError, match=f"^there {count} of trials, and a history takes two or more: [^\n]*$"
    ):
        sessions(runs)


def test_a_trial_of_one_session_only_has_no_history():
    extra = [make_run(1.0, batch_size=64, session=day(2)[0].session, dataset="digits")]
    assert len(history_of(day(1), [*day(2), *extra])[1]) == 1
