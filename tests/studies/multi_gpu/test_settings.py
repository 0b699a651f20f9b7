"""The strategy to paste."""

from dataclasses import replace

import pytest

from scaling_data import halved, measured
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.multi_gpu.scaling import STRONG, scaling_verdicts
from trainspeed.studies.multi_gpu.settings import NOTHING_TO_PASTE, strategy_settings


def test_settings_are_given_where_more_devices_were_faster_and_only_there():
    runs = measured(lambda t: 4.0 / t.devices if t.framework == "torch" else 4.0)
    texts = strategy_settings(scaling_verdicts(runs))

    assert ["DistributedDataParallel" in text for text in texts] == [False, True, False, False]
    assert [text.startswith("**TensorFlow**: more devices were not faster") for text in texts] == [
        True,
        False,
        False,
        False,
    ]


def test_of_undecided_devices_it_says_what_would_decide_them():
    (one, *_) = scaling_verdicts(measured(lambda t: 4.0 / t.devices, frameworks=("torch",), kinds=(STRONG,)))
    open_ = replace(one.judgement, low=1.0, speedup=1.1, high=1.2, blocks=6, outcome=Outcome.UNDECIDED)

    assert strategy_settings([replace(one, judgement=open_)]) == [
        "**PyTorch**: whether more devices are faster is undecided: 12 blocks would decide it, if the difference is as "
        "large as it looks now."
    ]


def test_several_nodes_have_lines_of_their_own_and_only_where_they_were_faster():
    across = {"frameworks": ("torch",), "strategies": ("ddp",), "nodes": (1, 2), "kinds": (STRONG,)}
    both = strategy_settings(scaling_verdicts(measured(halved, **across)))
    alone = strategy_settings(scaling_verdicts(measured(lambda t: 4.0 / t.devices * t.nodes**2, **across)))
    nodes = strategy_settings(scaling_verdicts(measured(lambda t: 4.0 / t.nodes, **across)))

    assert ["--nnodes 2" in text for text in both] == [False, True]
    assert "2 nodes" not in both[0].partition("```")[0] and "ddp on 2 nodes" in both[1]
    assert ["--nnodes" in text for text in alone] == [False]
    assert ["--nnodes 2" in text for text in nodes] == [True]


def test_on_cores_nothing_is_offered_to_paste_and_it_says_why():
    """A script has all cores by itself: code for several processes on them would be advised against by its heading."""
    texts = strategy_settings(scaling_verdicts(measured(halved, kinds=(STRONG,))), on_cores=True)

    assert not any("```" in text for text in texts)
    assert {text.partition(":")[0] for text in texts} == {"**TensorFlow**", "**PyTorch**", "**JAX**"}
    assert any("ddp was faster than one core" in text for text in texts)
    assert all(text.endswith(NOTHING_TO_PASTE) for text in texts)


def test_jax_on_several_nodes_has_them_meet_first():
    (text,) = strategy_settings(
        scaling_verdicts(
            measured(lambda t: 4.0 / t.nodes, frameworks=("jax",), nodes=(1, 2), kinds=(STRONG,))
        )
    )
    assert 'jax.distributed.initialize("HEAD:PORT", num_processes=2, process_id=NODE)' in text


@pytest.mark.parametrize("compiled", [True, False])
def test_the_lines_of_tensorflow_compile_as_was_measured_and_with_what(compiled):
    (won, *_) = scaling_verdicts(measured(halved, frameworks=("tensorflow",), kinds=(STRONG,)))
    sides = {
        side: replace(getattr(won, side), model="wrn28_10", compile=compiled)
        for side in ("baseline", "candidate")
    }
    (text,) = strategy_settings([replace(won, **sides)])

    assert f"model.compile(optimizer=optimizer, loss=loss, jit_compile={compiled})" in text
    assert "keras.optimizers.SGD(learning_rate=0.1, momentum=0.9)" in text
