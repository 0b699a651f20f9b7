"""What could be on, what is on already, and what is not here because …"""

from dataclasses import replace

import pytest

from trainspeed.core.errors import UserError
from trainspeed.core.levers.host import plain_values
from trainspeed.core.levers.lever import Lever, LeverKind, Numbers
from trainspeed.core.levers.registry import LEVERS
from trainspeed.search.candidates import candidates
from trainspeed.search.switch import combined, compatible, plain_trial

FIELDS = {"batch_size": 16, "images_per_epoch": 512, "epochs": 4, "image_size": 16}
PLAIN = plain_trial("torch", "cnn10", **FIELDS)


def found(start=PLAIN, device="cpu", devices=1, names=()):
    """Return lever -> its switches' values."""
    values = {}
    for one in candidates(start, device, devices, names).switches:
        values.setdefault(one.lever, []).append(one.value)
    return values


def reasons(start=PLAIN, device="cpu", devices=1):
    """Return lever -> why it is not here."""
    return {one.lever: one.reason for one in candidates(start, device, devices).not_here}


def test_fields_of_a_trial_become_what_they_are_not():
    by_lever = found(device="gpu", devices=4)
    assert by_lever["layout"] == ["channels_last"]
    assert by_lever["precision"] == ["bf16", "fp16", "tf32"]
    assert by_lever["devices"] == ["4"]


def test_devices_bring_their_strategy():
    (devices,) = (one for one in candidates(PLAIN, "gpu", 2).switches if one.lever == "devices")
    trial = devices.on(PLAIN)
    assert (trial.devices, trial.strategy, devices.words) == (2, "ddp", "2 devices (ddp)")


def test_every_switch_can_be_switched_on_and_is_seen_to_be_on():
    for one in candidates(PLAIN, "cpu", 2).switches:
        assert one.is_on(one.on(PLAIN))
        assert not one.is_on(PLAIN)


def test_what_is_not_here_says_why():
    assert reasons()["devices"] == "there is one device"
    assert reasons(plain_trial("jax", "cnn10", **FIELDS))["compile"] == "JAX always compiles"


def test_images_that_are_made_anew_are_uploaded_anyway_and_losing_residence_costs_nothing_there():
    """Beside the same pipeline it would be seen in effect, and found to be worth nothing."""
    generated = plain_trial("torch", "cnn10", **FIELDS, pipeline="generator", augment=True)

    assert reasons(generated, "gpu")["resident"] == "this pipeline makes new images: they are uploaded anyway"
    assert "transfer" in found(generated, "gpu"), "which needs it off"
    assert "resident" not in reasons(PLAIN, "gpu")


GPU_BYTES = 80 * 10**9


@pytest.mark.parametrize(("framework", "name"), [("torch", "transfer"), ("tensorflow", "device_prefetch")])
def test_a_way_to_upload_is_tried_only_where_the_plain_trial_uploads(framework, name):
    """Else it would be measured together with losing the images that are on the GPU, which costs far more."""
    fields = {**FIELDS, "image_size": 224}
    small, large = (
        plain_trial(framework, "cnn10", **fields | {"images_per_epoch": count}) for count in (512, 8192)
    )

    here, there = (candidates(start, "gpu", gpu_bytes=GPU_BYTES) for start in (small, large))

    assert {one.lever: one.reason for one in here.not_here}[name] == (
        "the images stay on the GPU: nothing is uploaded"
    )
    assert name in {one.lever for one in there.switches}


def test_what_a_plain_script_has_by_itself_is_no_switch():
    assert found()["optimizer"] == ["fused", "foreach"]
    assert found(device="gpu")["optimizer"] == ["fused", "loop"]
    for framework in ("tensorflow", "jax"):
        assert found(plain_trial(framework, "cnn10", **FIELDS), "gpu")["precision"] == ["bf16", "fp16"]


@pytest.mark.parametrize(
    ("framework", "numbers"),
    [("torch", Numbers.ROUNDING), ("tensorflow", Numbers.ROUNDING), ("jax", Numbers.SAME)],
)
def test_replicas_that_normalise_their_own_share_of_a_batch_do_not_compute_the_same(framework, numbers):
    start = plain_trial(framework, "cnn10", **FIELDS)
    (devices,) = (one for one in candidates(start, "cpu", 2).switches if one.lever == "devices")

    assert devices.numbers is numbers


def test_what_trains_another_model_never_enters():
    assert "batch_size" in candidates(PLAIN, "cpu").changing
    assert "batch_size" not in found()


def test_names_leave_out_all_others():
    assert set(found(names=("layout", "optimizer"))) == {"layout", "optimizer"}


def test_a_name_with_a_value_leaves_out_the_levers_other_values():
    names = [
        "precision=bf16",
        "compile_mode=reduce-overhead",
        "compile_mode=max-autotune",
        "optimizer",
        "optimizer=fused",
    ]
    assert found(device="gpu", names=names) == {
        "precision": ["bf16"],
        "compile_mode": ["reduce-overhead", "max-autotune"],
        "optimizer": ["fused", "loop"],
    }


def test_a_value_that_cannot_be_tried_here_is_named_with_those_that_can():
    there = candidates(PLAIN, "gpu", names=["precision=fp32"])
    (precision,) = (one for one in there.not_here if one.lever == "precision")
    assert precision.reason == "precision has no fp32 to try here: bf16, fp16, tf32 can be tried"


def test_what_names_leave_out_is_listed_all_the_same():
    """A page that does not name what is on already, or cannot be had, says that there is nothing of the kind."""
    some, every = candidates(PLAIN, "cpu", names=["layout", "python_gc"]), candidates(PLAIN, "cpu")

    assert [one.lever for one in some.switches + some.slow_ways] == ["layout", "python_gc"]
    assert {*some.aside, *some.switches, *some.slow_ways} == {*every.switches, *every.slow_ways}
    assert not every.aside and some.not_here == every.not_here and some.changing == every.changing


def test_an_unknown_name_is_told_with_one_that_is_near():
    with pytest.raises(UserError, match="optimizer"):
        candidates(PLAIN, "cpu", names=("optimiser",))


def test_values_of_a_lever_exclude_each_other():
    fused, foreach = (one for one in candidates(PLAIN, "cpu").switches if one.value in ("fused", "foreach"))
    assert not compatible(PLAIN, (fused, foreach))
    with pytest.raises(UserError, match="does not go together with optimizer: both set optimizer"):
        combined(PLAIN, (fused, foreach))


def test_a_switch_sets_what_it_needs_and_has_its_class(monkeypatch):
    scope = Lever(name="scope", words="scope", frameworks=("torch",), needs={"compile": ("on",)})
    monkeypatch.setitem(LEVERS, "scope", scope)
    (one,) = (one for one in candidates(PLAIN, "cpu").switches if one.lever == "scope")
    assert one.on(PLAIN).compile
    assert one.needs == ("compile",)
    assert (scope.numbers, one.numbers) == (Numbers.SAME, Numbers.ROUNDING)


@pytest.mark.parametrize(("by_itself", "value"), [(True, "off"), (None, "off"), (False, "on")])
def test_onednn_is_switched_the_way_that_changes_something_on_this_processor(by_itself, value):
    plain = plain_values({"onednn_by_itself": by_itself})
    there = candidates(plain_trial("tensorflow", "cnn10", **FIELDS), "cpu", plain=plain)
    losing, gaining = (
        [one.value for one in some if one.lever == "onednn"] for some in (there.already_on, there.switches)
    )

    assert (losing, gaining) == (([value], []) if value == "off" else ([], [value]))


def test_a_value_that_a_script_has_by_itself_here_is_nothing_to_try():
    """The notebook asks for oneDNN by its value, so that it costs nothing where it is on."""
    start = plain_trial("tensorflow", "cnn10", **FIELDS)
    there = candidates(start, "cpu", names=["onednn=on"], plain={"onednn": "on"})

    assert not there.switches and not there.already_on
    assert "a plain script has onednn=on by itself on this machine" in [one.reason for one in there.not_here]


def test_what_a_script_has_already_is_a_list_of_its_own(monkeypatch):
    monkeypatch.setitem(
        LEVERS, "pinned", Lever(name="pinned", words="pinned", kind=LeverKind.ALREADY_ON, values=("off",))
    )
    monkeypatch.setitem(LEVERS, "anomaly", Lever(name="anomaly", words="anomaly mode", kind=LeverKind.BRAKE))
    there = candidates(PLAIN, "cpu")
    assert "pinned" in [one.lever for one in there.already_on]
    assert "anomaly" in [one.lever for one in there.brakes]
    assert not {"pinned", "anomaly"} & set(found())


def test_what_trainspeed_alone_has_is_neither_a_gain_nor_on_already():
    """JAX takes a GPU's memory at once in a plain script, and malloc's thresholds are Trainspeed's."""
    there = candidates(plain_trial("jax", "cnn10", **FIELDS), "gpu")

    assert {one.lever for one in there.own} == {"preallocation", "malloc_thresholds"}
    assert not {one.lever for one in there.own} & {one.lever for one in there.switches + there.already_on}
    assert set(there.own) <= set(there.slow_ways)


def test_devices_are_tried_beside_a_plain_setting_that_has_all_cores():
    """Each device has a core of its own; else the reader would be told of a lever that nobody set."""
    start = PLAIN.pulled("threads", "all")
    (devices,) = (one for one in candidates(start, "cpu", 2).switches if one.lever == "devices")

    trial = devices.on(start)

    assert (trial.devices, trial.strategy, trial.levers) == (2, "ddp", ())
    assert devices.is_on(trial) and "devices" not in reasons(start, devices=2)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_on_many_cores_several_kinds_of_loaders_are_raced(framework):
    """Of the first four on 16 cores, all were worker processes; and what the plain trial has takes no rung."""
    augmenting = plain_trial(framework, "cnn10", **FIELDS, pipeline="generator", augment=True)
    ways = candidates(augmenting, "cpu", names=["pipeline"], cores=16).switches

    assert {one.value for one in ways} >= {"processes", "threads"} and len(ways) == 4
    assert "processes (15 workers) with a queue of 30" in {one.words for one in ways}
    if framework == "torch":
        assert "processes (8 workers) with a queue of 32" in {one.words for one in ways}


def test_half_of_the_threads_is_tried_where_there_are_cores_to_halve():
    start = PLAIN.pulled("threads", "all")
    tried = {
        cores: [one.value for one in candidates(start, "cpu", names=["threads"], cores=cores).switches]
        for cores in (2, 3, 4, 64)
    }

    assert tried == {2: ["one"], 3: ["one"], 4: ["half", "one"], 64: ["half", "one"]}
    assert PLAIN.pulled("threads", "half").cores is None, "it is kept to no core"


def test_half_of_the_threads_can_be_placed():
    switches = candidates(PLAIN.pulled("threads", "all"), "cpu", cores=8).switches
    half, close = (next(one for one in switches if one.value == value) for value in ("half", "close"))

    assert compatible(PLAIN.pulled("threads", "all"), (half, close))


def test_what_works_on_a_device_and_is_not_for_it_says_why():
    start = plain_trial("jax", "cnn10", **FIELDS)

    assert "scan_steps" in found(start, "gpu")
    assert reasons(start)["scan_steps"].startswith(
        "within a loop, XLA computes convolutions on a CPU without"
    )


@pytest.mark.parametrize("name", ["evaluate_every", "async_checkpoint", "data_cache"])
def test_what_nobody_can_pull_here_has_a_reason_for_every_framework(name):
    """A reader who looks for it finds why it is not there, and what is in its place."""
    for framework in ("torch", "tensorflow", "jax"):
        assert name not in found(plain_trial(framework, "cnn10", **FIELDS))
        assert "has no such setting" not in reasons(plain_trial(framework, "cnn10", **FIELDS))[name]


def test_onednn_rounds_in_tensorflow_by_a_variable_and_the_switch_of_pytorch_names_it():
    start = plain_trial("tensorflow", "cnn10", **FIELDS)
    (switch,) = (one for one in candidates(start, "cpu").switches if one.lever == "onednn_math")

    assert (switch.numbers, switch.of_environment) == (Numbers.ROUNDING, True)
    assert "onednn_math" in reasons(start)["math_mode"]
    for other in ("onednn=off", "pure_bf16=on"):
        with pytest.raises(UserError, match="does not go together with"):
            switch.on(start.pulled(*other.split("=")))


def test_only_as_many_steps_are_put_into_a_call_as_divide_an_epoch():
    """Keras would train more steps than the epoch has: such a run is refused, and would cost the start of a run."""
    keras = {
        images: plain_trial("tensorflow", "cnn10", **FIELDS | {"images_per_epoch": images})
        for images in (64, 512)
    }
    assert [found(start)["steps_per_call"] for start in keras.values()] == [["epoch"], ["epoch", "8"]]
    jax = (replace(start, framework="jax", compile=True) for start in keras.values())
    assert [found(start, "gpu")["scan_steps"] for start in jax] == [["epoch"], ["epoch", "8"]]
