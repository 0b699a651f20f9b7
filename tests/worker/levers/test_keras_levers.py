"""The levers of Keras, on TensorFlow and on JAX: that each is in effect, is seen to be, and trains what it should."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from probes.keras_levers_probe import ALL, XLA
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.errors import UserError
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import Trial

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[2]
# What is seen where a lever's hook does nothing.
LEFT_ALONE = {"steps_per_call": "1", "xla_vector_width": None} | {"async_dispatch": "on", "donation": "on"}
LEFT_ALONE |= {"xla_command_buffers": "on", "xla_triton_gemm": "on", "xla_autotuning": "on"}


@dataclass
class Trained:
    """What the cases of a framework have told."""

    framework: str
    folder: Path

    def told(self, case: str) -> dict:
        return json.loads((self.folder / f"{case}.json").read_text())

    def seen(self, case: str) -> dict[str, str | None]:
        of_levers = self.told(case)["in_effect"].items()
        return {name: value for name, (value, _) in of_levers if not LEVERS[name].of_field}

    def apart(self, case: str, other: str = "plain") -> float:
        """Return how far the weights of two cases are apart in the end, in ways that the plain one went."""
        one, plain = (np.load(self.folder / f"{name}.npz") for name in (case, other))
        names = [name.removeprefix("after") for name in plain if name.startswith("after")]
        went = sum(((plain[f"after{n}"] - plain[f"before{n}"]) ** 2).sum() for n in names)
        assert went > 0
        return float(np.sqrt(sum(((one[f"after{n}"] - plain[f"after{n}"]) ** 2).sum() for n in names) / went))


@pytest.fixture(scope="module", params=["tensorflow", "jax"])
def trained(request, shared_worker, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    shared_worker(request.param).probed("probes.keras_levers_probe", request.param, folder)
    return Trained(request.param, folder)


def test_all_levers_at_once_are_seen_in_effect(trained):
    assert trained.seen("all at once") == ALL[trained.framework]


def test_fields_of_a_trial_are_seen_too(trained):
    """A field that promises evidence has it in every run; layout and precision are looked up with the layers."""
    seen = {name: value for name, (value, _) in trained.told("plain")["in_effect"].items()}
    promised = {name for name, lever in LEVERS.items() if lever.of_field and lever.evidence}

    assert seen.keys() == promised - {"layout", "precision"}
    fields = {"devices": "1", "strategy": "single", "batch_size": "8", "pipeline": "arrays"}
    assert seen == fields | {"compile": "on" if trained.framework == "jax" else "off"}


def test_a_lever_whose_hook_does_nothing_is_seen_not_to_be_in_effect(trained):
    seen = trained.seen("emptied")
    pulled = ALL[trained.framework] | {"pure_bf16": "on"} | (XLA if trained.framework == "jax" else {})

    assert seen == {name: LEFT_ALONE.get(name, "off") for name in pulled}


def test_levers_of_the_loop_train_the_same_weights(trained):
    """To the last bit where the same program runs; eager operations round otherwise."""
    assert trained.apart("all at once") < (1e-5 if trained.framework == "tensorflow" else 1e-12)
    assert trained.told("all at once")["accuracy"] == trained.told("plain")["accuracy"]


def test_pure_bf16_keeps_weights_in_16_bits(trained):
    assert trained.told("pure_bf16")["in_effect"]["pure_bf16"] == [
        "on",
        "weights in bfloat16, computed with in bfloat16; logits in bfloat16",
    ]
    after = np.load(trained.folder / "pure_bf16.npz")
    kept = np.concatenate([after[name].ravel() for name in after if name.startswith("after")])
    assert not (kept.view(np.uint32) & 0xFFFF).any()  # the lower half of a float32
    assert np.isfinite(trained.told("pure_bf16")["loss"])


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
def test_several_steps_are_a_loop_in_tensorflows_graph_and_no_step_too_many(trained):
    for case, value, steps in (("steps_per_call", "epoch", 24), ("a divisor", "8", 48)):
        seen, how = trained.told(case)["in_effect"]["steps_per_call"]
        assert seen == value
        assert (
            how
            == f"a while loop in TensorFlow's graph, 8 times; the optimizer counted {steps} steps in 3 epochs"
        )
    assert trained.apart("steps_per_call") == 0


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("no divisor", "8 steps per call do not divide an epoch of 12 steps"),
        ("one step", "an epoch has one step here"),
        ("compiled", "Keras compiles no model with XLA where operations are to be deterministic"),
    ],
)
def test_what_cannot_be_says_why(trained, case, words):
    """Over an endless data set Keras would train 16 steps in place of 12, and count them as 12."""
    assert words in trained.told(case)["unsupported"]


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
def test_brakes_are_counted(trained):
    assert trained.apart("progress_bar") == trained.apart("sync_every_step") == 0
    assert trained.told("sync_every_step")["in_effect"]["sync_every_step"] == [
        "on",
        "24 losses read in 24 calls of the step",
    ]
    drawn = trained.told("progress_bar")["in_effect"]["progress_bar"][1]
    assert int(drawn.split()[1]) >= 3  # at least at the end of each epoch


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
def test_the_loop_on_jax_is_told_from_one_in_a_program(trained):
    assert (
        "a loop in Python over a jitted step" in trained.told("all at once")["in_effect"]["steps_per_call"][1]
    )


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
@pytest.mark.parametrize(
    ("case", "plain", "value", "steps"),
    [("scan_steps", "plain", "epoch", 24), ("scan of a divisor", "divisor", "8", 48)],
)
def test_several_steps_are_one_program_on_jax_and_train_as_one_by_one(trained, case, plain, value, steps):
    told = trained.told(case)

    assert told["in_effect"]["scan_steps"] == [
        value,
        f"a loop of lax.scan in one program, 8 times; the optimizer counted {steps} steps in 3 epochs",
    ]
    assert trained.apart(case, plain) < 1e-5
    assert told["accuracy"] == trained.told(plain)["accuracy"]
    assert told["loss"] == pytest.approx(trained.told(plain)["loss"], rel=1e-5)


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
def test_a_scan_that_is_not_there_is_seen_not_to_be(trained):
    assert trained.told("no scan")["in_effect"]["scan_steps"] == ["1", "Keras calls each step by itself"]


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
def test_xlas_flags_are_in_the_options_that_it_compiles_with(trained):
    """This jaxlib knows all of them, those for a GPU too."""
    assert trained.seen("xla") == XLA
    assert trained.apart("xla") < 1e-3


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
def test_a_flag_that_xla_does_not_know_is_a_reason_and_no_crash(trained):
    assert "does not take XLA_FLAGS=" in trained.told("unknown flag")["unsupported"]


@pytest.mark.parametrize("trained", ["jax"], indirect=True)
def test_memory_is_taken_at_once_where_the_pool_is_as_large_as_its_limit(trained):
    seen = {name: value for name, (value, _) in trained.told("looks").items()}

    assert seen == {"taken": "on", "grown": "off", "mute": None}


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
def test_what_a_gpu_would_have_is_told_by_its_names(trained):
    looks = trained.told("looks")

    assert {name: value for name, (value, _) in looks["allocators"].items()} == {
        "GPU_0_bfc": "off",
        "gpu_async_0": "on",
    }
    assert {name: value for name, (value, _) in looks["threads"].items()} == {
        "tf_Compute": "off",
        "tf_gpu_private_": "on",
    }
    assert all("cpu" in name for name in looks["own allocators"])
    assert looks["own allocators"]


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
def test_onednn_is_seen_by_the_kernel_of_a_convolution(trained):
    """It is read as TensorFlow is imported: to be without it takes a process of its own."""
    environment = {**os.environ, **LEVERS["onednn"].environment["off"], "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "lib"), str(TESTS)])
    done = subprocess.run(
        [find_interpreter("tensorflow"), "-m", "probes.keras_levers_probe"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert trained.told("looks")["onednn"] == ["on", "a convolution ran as _MklNativeConv2D"]
    assert json.loads(done.stdout.splitlines()[-1]) == ["off", "a convolution ran as Conv2D"]


@pytest.mark.parametrize("trained", ["tensorflow"], indirect=True)
def test_onednns_arithmetic_is_told_by_its_rounding(trained):
    """A processor may not have what its variable allows: what is seen is what was computed."""
    looks = trained.told("looks")

    assert looks["onednn_math, rounded"] == {"23": "fp32", "7": "bf16"}
    assert looks["onednn_math"][0] in ("fp32", "bf16")
    assert looks["onednn_math, no bf16"].startswith("this CPU has no bf16 arithmetic")


@pytest.mark.parametrize("name", ["progress_bar", "steps_per_call", "run_eagerly", "onednn", "donation"])
def test_what_a_framework_lacks_has_a_reason(name):
    lever = LEVERS[name]
    lacking = {"tensorflow", "torch", "jax"} - {*lever.frameworks}

    assert lacking
    assert {*lever.missing} == lacking


@pytest.mark.parametrize("setting", [("pure_bf16", "on"), ("steps_per_call", "epoch")])
def test_what_fails_under_mirrored_is_refused_before_it_runs(setting):
    """It puts all gradients into one tensor, which has one dtype; and TensorFlow ends the loop with an error."""
    several = {"strategy": "mirrored", "devices": 2, "batch_size": 8, "images_per_epoch": 16, "epochs": 3}
    with pytest.raises(UserError, match="does not go together with strategy=mirrored"):
        Trial(
            framework="tensorflow",
            model="cnn10",
            layout="channels_last",
            levers=(setting,),
            **several,
        )
