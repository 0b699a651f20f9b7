"""Which runs compile anew, and what a later run of a trial saves that takes their programs."""

from dataclasses import replace

import pytest

from study_data import make_run, make_trial
from trainspeed.core.programs import SHARE, again_s, builds_with_programs, compiles_anew, makes_programs
from trainspeed.core.run import Role
from trainspeed.studies.conv2d.trials import library_trial

CPU = {"device": "cpu"}


COMPILED = make_trial(framework="torch", compile=True)
JAX = make_trial(framework="jax", compile=True)


def test_only_what_torch_or_jax_compiles_for_a_cpu_is_taken_again():
    """On a GPU kernels are chosen by timing them, and the first call of a convolution is to tell what it takes."""
    assert makes_programs(COMPILED, "cpu")
    assert not makes_programs(COMPILED, "gpu")
    assert not makes_programs(replace(COMPILED, compile=False), "cpu")
    assert not makes_programs(replace(COMPILED, framework="tensorflow"), "cpu")
    assert makes_programs(JAX, "cpu") and not makes_programs(JAX, "gpu")
    for library in ("torch", "jax"):
        assert not makes_programs(library_trial(library, images=1, height=8, width=8), "cpu")


@pytest.mark.parametrize(
    ("trial", "strategy"), [(COMPILED, "ddp"), (JAX, "data_parallel")], ids=["torch", "jax"]
)
def test_of_several_nodes_every_run_compiles_anew(trial, strategy):
    on_one_node = replace(trial, devices=2, strategy=strategy)

    assert makes_programs(on_one_node, "cpu")
    assert not makes_programs(replace(on_one_node, nodes=2), "cpu")


def test_on_a_gpu_jax_alone_builds_a_model_with_programs_of_earlier_runs():
    """On a CPU they are among all that it takes again."""
    assert builds_with_programs(JAX, "gpu") and not builds_with_programs(JAX, "cpu")
    assert not builds_with_programs(COMPILED, "gpu")
    assert not builds_with_programs(replace(JAX, devices=2, nodes=2, strategy="data_parallel"), "gpu")
    assert not builds_with_programs(library_trial("jax", images=1, height=8, width=8), "gpu")


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
    ("changed", "saved_s"),
    [
        ({}, 20.0 * SHARE["torch"]),
        ({"epoch_s": (21.0, 6.0, 1.0, 1.0)}, 20.0 * SHARE["torch"]),  # a burst had the second one
        ({"trial": JAX}, 22.0 * SHARE["jax"]),  # it compiles as it builds, too
        ({"compiled_anew": False}, 0.0),
        ({"machine": {"device": "gpu"}}, 0.0),
        ({"trial": replace(COMPILED, compile=False)}, 0.0),
    ],
)
def test_a_later_run_takes_less_of_the_first_epoch(changed, saved_s):
    run = make_run(epoch_s=(21.0, 1.0, 1.0), trial=COMPILED, compiled_anew=True, machine=CPU)
    run = replace(run, stages_s={"build": 2.0, "train": 23.0}, **changed)

    assert again_s(run) == pytest.approx(25.0 - saved_s)
