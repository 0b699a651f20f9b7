"""Commands to paste: they ask for what the report was asked for, and for more of it."""

import pytest

from conv2d_data import CORE
from study_data import make_trial
from trainspeed.core.coverage import Choice, Coverage, GroupCoverage
from trainspeed.judge.commands import UNKNOWN_MIN, command_for, command_with_time


@pytest.mark.parametrize(
    ("models", "command"),
    [
        ((), "make report"),
        (("cnn10",), "make report"),
        (("nets/my.py:build",), "make report MODEL=nets/my.py:build"),
        (("my nets/my.py:build",), "make report MODEL='my nets/my.py:build'"),
        (("timm/resnet18", "timm/resnet18"), "make report MODEL=timm/resnet18"),
        (("timm/resnet18", "cnn10"), "make report"),
        (("timm/resnet18", "timm/resnet50"), "make report"),
    ],
)
def test_a_command_to_measure_more_names_the_model_that_no_preset_names(models, command):
    """Without it the command that a page suggested measured Trainspeed's own models."""
    trials = [make_trial(model=model) for model in models]
    without_model = [CORE[0], make_trial(part="matmul")]

    assert command_for([*trials, *without_model]) == command_for(iter(trials)) == command


def test_a_command_repeats_what_the_user_asked_the_report_for():
    """Without it a reader measured another preset, at the sizes that it has for itself."""
    choice = Choice(
        preset="standard", parameters={"image_size": 64, "levers": ["compile_mode=default"], "blocks": 3}
    )
    trial = make_trial()

    command = command_for([trial], choice, notebooks=["layout"], budget_min=30, parameters={"blocks": 12})

    assert command == (
        "make report PRESET=standard NOTEBOOKS=layout BUDGET=30m "
        "PARAMS='layout: {image_size: 64, levers: [compile_mode=default], blocks: 12}'"
    )


def test_what_model_and_budget_stand_for_is_no_parameter_of_the_command():
    choice = Choice(parameters={"models": ["timm/resnet18"], "budget_s": 90.0, "seed": 3})
    trial = make_trial(model="timm/resnet18")

    of_one = command_for([trial], choice, notebooks=["layout"], budget_min=UNKNOWN_MIN)

    assert of_one == "make report MODEL=timm/resnet18 NOTEBOOKS=layout BUDGET=… PARAMS='layout: {seed: 3}'"
    assert (
        command_for([make_trial()], choice, notebooks=["layout", "amp"])
        == 'make report NOTEBOOKS="layout amp"'
    )


def test_a_machine_of_a_fleet_is_measured_again_by_its_fleet():
    group = GroupCoverage(part="core", core=True, trials=(make_trial().as_dict(),), blocks=0, most=6)
    made = {"session": "s", "study": "layout", "budget_s": 60.0, "spent_s": 60.0, "groups": (group,)}

    command = command_with_time(Coverage(choice=Choice(by_fleet=True), **made))

    assert command == "make fleet FLEET=fleet.yaml NOTEBOOKS=layout BUDGET=3m"


@pytest.mark.parametrize("value", ["$(shell touch here)", "a`b`", "a; b", "a\nb", "<b>", "a & b"])
def test_a_value_that_a_shell_or_make_would_run_is_not_repeated(value):
    """A ledger may come from anywhere, and its reader pastes what its page shows."""
    choice = Choice(parameters={"dataset": value, "seed": 1})
    command = command_for([make_trial()], choice, notebooks=["layout"], parameters={"blocks": 9})
    assert command == "make report NOTEBOOKS=layout PARAMS='layout: {seed: 1, blocks: 9}'"
    assert command_for([make_trial(model="$(shell touch here)/my.py:build")]) == "make report MODEL=…"


def test_who_runs_a_notebook_by_hand_is_told_what_to_change_in_it():
    """The command measured the preset's models and sizes, and not those of the cell."""
    choice = Choice(by_hand=True)

    said = command_for([make_trial()], choice, notebooks=["layout"], budget_min=4, parameters={"blocks": 9})

    assert said == "budget_s = 240; blocks = 9  # in the parameters cell, then run all again"
    assert command_for([make_trial()], choice, notebooks=["amp"]) == "make report NOTEBOOKS=amp"
