"""Levers of a trial: which go together, how they are given, and what they set before a framework is imported."""

import pytest

from study_data import make_trial
from trainspeed.core.errors import UserError
from trainspeed.core.levers import registry
from trainspeed.core.levers.lever import Level, Lever, LeverKind
from trainspeed.core.levers.registry import LEVERS, environment_of, in_environment, parse_levers
from trainspeed.core.trial import Trial, grid

TORCH = {"framework": "torch", "model": "cnn10", "layout": "channels_last"}
TORCH |= {"batch_size": 8, "images_per_epoch": 16, "epochs": 3}


@pytest.fixture
def added(monkeypatch):
    """A function that adds a lever to the registry for a test."""

    def add(name, **fields):
        monkeypatch.setitem(registry.LEVERS, name, Lever(name=name, words=name, **fields))

    return add


@pytest.mark.parametrize(
    ("levers", "message"),
    [
        (["optimiser=fused"], "unknown lever 'optimiser': did you mean 'optimizer'?"),
        (["optimizer=fussed"], "unknown value of the lever 'optimizer' 'fussed': did you mean 'fused'?"),
        (["optimizer"], "lever 'optimizer' must be name=value, such as 'optimizer=fused'"),
        (["optimizer="], "must be name=value"),
        ([3], "lever 3 must be name=value"),
        (3, r"levers \(=3\) must be name=value"),
        ([("optimizer", "fused", "on")], "must be name=value"),
        (["optimizer=fused", "optimizer=loop"], "names optimizer twice: give it one value"),
        (["layout=channels_first"], "lever 'layout' is a field of a trial: give layout its value there"),
    ],
)
def test_a_lever_that_is_not_to_be_had_is_an_error_that_says_what_is(levers, message):
    with pytest.raises(UserError, match=message):
        Trial(**TORCH, levers=levers)


def test_levers_are_given_as_text_or_in_pairs_one_or_several_in_any_order():
    both = (("optimizer", "fused"), ("python_gc", "off"))

    assert parse_levers(["python_gc=off", "optimizer = fused"]) == both
    assert parse_levers([["python_gc", "off"], ("optimizer", "fused")]) == both
    assert parse_levers("optimizer=fused") == both[:1]
    assert parse_levers([]) == ()


def test_of_a_grid_each_value_is_one_lever_or_a_list_of_them():
    trials = grid(**TORCH, levers=[[], "optimizer=fused", ["optimizer=fused", "python_gc=off"]])

    assert [len(trial.levers) for trial in trials] == [0, 1, 2]
    assert Trial.from_dict(trials[2].as_dict()) == trials[2]


def test_a_lever_of_another_framework_says_why_it_is_not_there():
    with pytest.raises(
        UserError, match="is not one of jax's: Keras has one implementation of each optimizer"
    ):
        Trial(**{**TORCH, "framework": "jax", "compile": True}, levers=["optimizer=fused"])


def test_a_lever_names_what_it_needs():
    with pytest.raises(UserError, match="lever 'thread_placement' needs threads=all"):
        Trial(**TORCH, levers=["thread_placement=close"])

    assert Trial(**TORCH, levers=["thread_placement=close", "threads=all"]).cores is None


def test_levers_that_exclude_each_other_are_an_error():
    with pytest.raises(UserError, match="'huge_pages' does not go together with allocator=jemalloc"):
        Trial(**TORCH, levers=["huge_pages=on", "allocator=jemalloc"])
    with pytest.raises(UserError, match="'threads' does not go together with strategy=ddp"):
        Trial(**TORCH, strategy="ddp", devices=2, levers=["threads=all"])


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_cudas_own_allocator_excludes_cuda_graphs_which_crash_with_it(mode):
    compiled = TORCH | {"compile": True}
    with pytest.raises(
        UserError, match=f"'gpu_allocator=cuda_async' does not go together with compile_mode={mode}"
    ):
        Trial(**compiled, levers=["gpu_allocator=cuda_async", f"compile_mode={mode}"])

    assert Trial(**compiled, levers=["gpu_allocator=expandable", f"compile_mode={mode}"])
    assert Trial(**compiled, levers=["gpu_allocator=cuda_async", "compile_mode=max-autotune-no-cudagraphs"])


def test_what_a_lever_excludes_and_needs_is_in_the_registry():
    """A typing error there would exclude nothing."""
    for lever in LEVERS.values():
        of_values = [pair for conflicts in lever.conflicts_of.values() for pair in conflicts.items()]
        for other, values in [*lever.needs.items(), *lever.conflicts.items(), *of_values]:
            known = LEVERS[other].values
            assert LEVERS[other].of_field or set(values) <= set(known), (lever.name, other)
        assert {*lever.environment, *lever.packages, *lever.conflicts_of} <= {*lever.values}, lever.name
        assert lever.of_field or set(lever.valued) <= {*lever.values}, lever.name
        assert bool(lever.environment) == (lever.level is Level.ENVIRONMENT), lever.name


def test_what_is_on_already_is_on_in_a_script_too():
    """What Trainspeed alone has is told apart: to a script it is neither a gain nor a loss."""
    own = {lever.name for lever in LEVERS.values() if lever.kind is LeverKind.OWN}

    assert own == {"malloc_thresholds", "loader_persistent", "preallocation", "data_autotuning"}
    for lever in LEVERS.values():
        if lever.kind is LeverKind.ALREADY_ON:
            assert lever.default.startswith("on") and "off in a script" not in lever.default, lever.name
        elif lever.kind is LeverKind.OWN:
            assert " in Trainspeed" in lever.default and " in a script" in lever.default, lever.name


def test_flags_of_one_variable_add_up(added):
    added("one", level=Level.ENVIRONMENT, environment={"on": {"XLA_FLAGS": "--a"}})
    added("two", level=Level.ENVIRONMENT, environment={"on": {"XLA_FLAGS": "--b", "OTHER": "1"}})

    assert environment_of([("one", "on"), ("two", "on")]) == {"XLA_FLAGS": "--a --b", "OTHER": "1"}


def test_only_what_sets_a_variable_is_of_the_environment():
    settings = (("huge_pages", "on"), ("optimizer", "fused"))

    assert in_environment(settings) == settings[:1]


def test_a_trial_takes_a_core_for_each_device_unless_it_takes_all():
    assert Trial(**TORCH).cores == 1
    assert Trial(**TORCH, strategy="ddp", devices=2).cores == 2
    assert make_trial().pulled("threads", "all").cores is None
