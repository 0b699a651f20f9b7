"""Runs of several systems in one study."""

from study_data import MACHINE, make_run
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.systems import system_doubts


def test_runs_of_several_systems_are_a_doubt_that_names_what_differs():
    runs = [
        make_run(machine=MACHINE | {"driver": "580.65"}),
        make_run(block=1, machine=MACHINE | {"driver": "590.10"}, versions={"torch": "2.16.0"}),
        make_run(block=2, machine=MACHINE | {"driver": "590.10"}, versions={"torch": "2.16.0"}),
    ]
    (doubt,) = system_doubts(runs)

    assert doubt == (
        "Runs of several systems are together here: NVIDIA driver (580.65, then 590.10) and PyTorch: torch (2.15.0, "
        "then 2.16.0). What is compared between them differs by that, too: measure it again in a new report."
    )
    assert study_doubts(runs, [])[0] == doubt


def test_two_frameworks_on_one_machine_are_one_system():
    assert system_doubts([make_run(), make_run(framework="jax"), make_run(block=1)]) == []


def test_runs_that_tell_nothing_of_their_system_are_no_doubt():
    assert system_doubts([make_run(), make_run(machine={}, versions={})]) == []
