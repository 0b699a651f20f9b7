"""Which runs compile anew, and what a later run of a trial saves that takes their programs."""

from dataclasses import replace

import pytest

from study_data import make_run, make_trial
from trainspeed.core.programs import SHARE, again_s, compiles_anew, makes_programs
from trainspeed.core.run import Role
from trainspeed.studies.conv2d.trials import library_trial

CPU = {"device": "cpu"}


COMPILED = make_trial(framework="torch", compile=True)


def test_only_what_torch_compiles_for_a_cpu_is_taken_again():
    """On a GPU it chooses kernels by timing them, and a convolution's calls compile nothing."""
    assert makes_programs(COMPILED, "cpu")
    assert not makes_programs(COMPILED, "gpu")
    assert not makes_programs(replace(COMPILED, compile=False), "cpu")
    assert not makes_programs(replace(COMPILED, framework="jax"), "cpu")
    assert not makes_programs(library_trial("torch", images=1, height=8, width=8), "cpu")


@pytest.mark.parametrize(
    ("label", "block", "anew"),
    [
        (Role.DATA, 0, True),
        (Role.DATA, 1, False),
        (Role.RECIPE, 0, True),
        (Role.FEASIBLE, 0, True),
        (f"{Role.SCREEN}8", 0, False),
        (f"{Role.TOGGLE}4", 0, False),
        ("recipe: devices", 0, True),
    ],
)
def test_the_first_block_tells_what_compiling_takes(label, block, anew):
    assert compiles_anew(label, block) is anew


@pytest.mark.parametrize(
    ("changed", "share"),
    [
        ({}, SHARE),
        ({"compiled_anew": False}, 0.0),
        ({"machine": {"device": "gpu"}}, 0.0),
        ({"trial": replace(COMPILED, compile=False)}, 0.0),
    ],
)
def test_a_later_run_takes_less_of_the_first_epoch(changed, share):
    run = make_run(epoch_s=(21.0, 1.0, 1.0), trial=COMPILED, compiled_anew=True, machine=CPU)
    run = replace(run, stages_s={"build": 1.0, "train": 23.0}, **changed)

    assert again_s(run) == pytest.approx(24.0 - share * 20.0)
