"""PyTorch's levers of compute and its brakes, in real trainings: what each does, and what is seen of it."""

from __future__ import annotations

import json

import pytest

from trainspeed.core.levers.registry import LEVERS

pytestmark = pytest.mark.slow
COMPILED = ("compile", "on")
LAST_BITS = 1e-6  # of weights of about 0.1, after 12 steps


@pytest.fixture(scope="module")
def found(shared_worker, tmp_path_factory):
    """What the probe found of each arm."""
    out = tmp_path_factory.mktemp("levers") / "found.json"
    shared_worker("torch").probed("probes.torch_levers_probe", out)
    return json.loads(out.read_text())


def seen(found, arm):
    """The value seen of each lever that is no field, and of the compiler where it is on."""
    values = {name: value for name, (value, _) in found[arm]["seen"].items()}
    return {
        name: value
        for name, value in values.items()
        if not LEVERS[name].of_field or (name, value) == COMPILED
    }


def how(found, arm, lever):
    return found[arm]["seen"][lever][1]


def apart(found, arm, other):
    pairs = zip(found[arm]["weights"], found[other]["weights"], strict=True)
    return max(abs(one - two) for one, two in pairs)


def test_many_levers_are_in_effect_at_once_and_are_seen(found):
    assert seen(found, "many") == {
        "activation_hooks": "on",
        "anomaly_mode": "on",
        "deterministic": "on",
        "flush_denormal": "on",
        "optimizer": "foreach",
        "set_to_none": "off",
        "sync_every_step": "on",
    }
    assert how(found, "many", "sync_every_step") == "12 losses read"
    assert seen(found, "plain") == {}


def test_computing_alone_uploads_once_and_its_step_is_profiled_in_training_mode(found):
    assert found["batches of compute alone"] == 1
    assert found["plain"]["profiled in training mode"] is True


def test_torch_itself_shows_what_each_of_them_does(found):
    """Asked of torch, after a step of the plain training and of the one with the levers."""
    plain, many = found["plain"], found["many"]
    layers = 32
    assert plain["optimizer"] == [] and "aten::_foreach_mul_" in many["optimizer"]
    assert (plain["means"], many["means"]) == (1, 1 + layers)
    assert plain["reads"] == 0 and many["reads"] > layers
    assert (plain["same_gradient"], many["same_gradient"]) == (False, True)
    assert (plain["nan_raises"], many["nan_raises"]) == (False, True)
    assert (plain["new_memory_is_nan"], many["new_memory_is_nan"]) == (False, True)
    assert plain["tiny"] > 0 and many["tiny"] == 0


def test_the_fused_optimizer_is_one_operator_and_learns_the_same(found):
    assert seen(found, "fused") == {"optimizer": "fused"}
    assert found["fused"]["optimizer"] == ["aten::_fused_sgd_"]
    assert apart(found, "fused", "plain") < LAST_BITS


def test_what_has_no_fused_implementation_says_so_before_it_trains(found):
    assert found["rmsprop"] == {"error": "Unsupported: PyTorch's RMSprop has no fused implementation"}


@pytest.mark.parametrize("arm", ["many", "with_loss", "with_optimizer", "graphs on a CPU"])
def test_the_others_learn_what_the_plain_training_learns(found, arm):
    assert apart(found, arm, "plain") < LAST_BITS


def test_pure_bf16_trains_and_evaluates_in_16_bits(found):
    assert seen(found, "pure_bf16") == {"pure_bf16": "on"}
    assert found["pure_bf16"]["convolutions"] == {"bfloat16": 9}
    assert found["plain"]["convolutions"] == {"float32": 9}
    assert apart(found, "pure_bf16", "plain") > LAST_BITS
    assert abs(found["pure_bf16"]["accuracy"] - found["plain"]["accuracy"]) < 0.1


def test_onednns_arithmetic_is_told_by_its_rounding(found):
    """A processor may not have what its switch allows: what is seen is what was computed."""
    assert [found["rounded"][bits][0] for bits in ("23", "10", "7")] == ["fp32", "tf32", "bf16"]
    assert found["rounded"]["7"][1] == "of 23 bits of a fraction, a convolution kept 7 and a product 7"
    ran = seen(found, "bf16 math")["math_mode"]
    assert ran in ("fp32", "bf16")
    assert ran == "fp32" or apart(found, "bf16 math", "plain") > 0


def test_the_scope_of_the_compiler_is_what_it_made_graphs_of(found):
    assert seen(found, "with_loss") == {"compile": "on", "compile_scope": "with_loss"}
    assert seen(found, "with_optimizer") == {"compile": "on", "compile_scope": "with_optimizer"}
    assert "forward_and_loss 1, step 2" in how(found, "with_optimizer", "compile_scope")


def test_a_fused_optimizer_is_not_compiled_whatever_the_scope(found):
    """Dynamo leaves it out: it was asked for, and is not in effect."""
    assert seen(found, "fused in vain")["compile_scope"] == "with_loss"


def test_blocks_that_repeat_are_compiled_once_for_all(found):
    """Twelve blocks are of five kinds, by their channels and strides."""
    assert seen(found, "blocks") == {"compile": "on", "compile_scope": "blocks"}
    assert "forward 5" in how(found, "blocks", "compile_scope")
    assert apart(found, "blocks", "uncompiled blocks") < LAST_BITS
    assert "repeats no block" in found["without blocks"]["error"]


def test_cuda_graphs_are_asked_for_on_a_cpu_and_not_in_effect(found):
    assert seen(found, "graphs on a CPU") == {"compile": "on", "compile_mode": "default"}
    assert "no CUDA graphs on a CPU" in how(found, "graphs on a CPU", "compile_mode")


def test_replicas_of_ddp_are_seen_and_the_batch_of_all_of_them(found):
    fields = {
        arm: {name: found[arm]["seen"][name][0] for name in ("devices", "strategy", "batch_size", "compile")}
        for arm in ("plain", "ddp", "ddp compiled")
    }

    assert fields["plain"] == {"devices": "1", "strategy": "single", "batch_size": "8", "compile": "off"}
    assert fields["ddp"] == {"devices": "2", "strategy": "ddp", "batch_size": "8", "compile": "off"}
    assert fields["ddp compiled"] == fields["ddp"] | {"compile": "on"}


def test_ddp_takes_its_options_and_compresses_what_it_sends(found):
    assert seen(found, "ddp levers") == {"ddp_compression": "bf16", "ddp_options": "on"}
    assert "static_graph=1, broadcast_buffers=0" in how(found, "ddp levers", "ddp_options")
    assert 0 < apart(found, "ddp levers", "ddp") < 0.05


def test_ddp_takes_buckets_of_another_size_and_copies_into_them_at_once(found):
    assert seen(found, "ddp buckets") == {"ddp_buckets": "5", "ddp_batched_copy": "on"}
    assert how(found, "ddp buckets", "ddp_buckets").startswith("buckets of up to 5242880 bytes; ")
    assert int(how(found, "ddp buckets", "ddp_buckets").split("; ")[1].split()[0]) >= 1
    assert how(found, "ddp buckets", "ddp_batched_copy").endswith(" in the first step")
    assert found["copies in vain"]["seen"]["ddp_batched_copy"] == [
        "off",
        "0 batched copies in the first step",
    ]
    assert apart(found, "ddp buckets", "ddp") < LAST_BITS


def test_why_a_graph_was_broken_is_told_without_its_explanations(found):
    words = found["a broken graph"]["words"]

    assert words.startswith("2 graphs compiled, 1 graph break (talks 1, torch_dynamo_resume_in_talks_at_")
    assert words.endswith(", because: Failed to trace builtin operator")


def test_a_model_below_ddp_is_compiled_and_learns_the_same(found):
    """It is a bare `nn.Sequential`, whose own function Dynamo would skip."""
    assert seen(found, "ddp compiled") == {"compile": "on", "compile_scope": "with_loss", "ddp_options": "on"}
    assert "forward 1, torch_dynamo_resume_in_forward_and_loss" in how(found, "ddp compiled", "compile")
    assert found["the loss alone"] == {"of_model": 0, "graphs": 1}
    assert apart(found, "ddp compiled", "ddp") < LAST_BITS


def test_on_a_gpu_flags_are_set_and_seen(found):
    """Here its flags are torch's own and its CUDA graphs are made up."""
    gpu = found["on a GPU"]
    assert gpu["before"] == [False, 10, "auto"] and gpu["after"] == [True, 0, "native"]
    assert {name: value for name, (value, _) in gpu["graphs"].items()} == {
        "compile_mode": "reduce-overhead",
        "cudnn_benchmark": "on",
        "cudnn_benchmark_limit": "all",
        "depthwise_kernel": "native",
    }
    partly = (
        "partly: 3 of 4 graphs recorded as CUDA graphs, 1 skipped, because: skipping cudagraphs due to "
        "mutated inputs (1 instances), "
    )
    assert gpu["graphs"]["compile_mode"][1].startswith(partly)
    assert gpu["both"]["compile_mode"][0] == "max-autotune"
    assert gpu["plain"]["cudnn_benchmark"] == [
        "on",
        "torch.backends.cudnn.benchmark=True, 1 convolution among its layers",
    ]
    # Without a depthwise convolution, and with no graph recorded, there is nothing to be in effect.
    assert gpu["plain"]["depthwise_kernel"][0] == "off"
    assert gpu["plain"]["compile_mode"] == [
        "default",
        "0 CUDA graphs recorded, kernels chosen by measuring for 0 operators",
    ]


@pytest.mark.parametrize("lever", ["cudnn_benchmark", "cudnn_benchmark_limit"])
def test_without_convolutions_no_algorithm_of_theirs_is_chosen(found, lever):
    """The flag stays as it was set; what a user's own function calls is not among the layers."""
    gpu = found["on a GPU"]

    assert gpu["linear"][lever][0] == "off"
    assert gpu["unknown"][lever][0] is None
