"""What the front page measures once more: trainings first; and what it does not, with the reason."""

from dataclasses import replace

from scaling_data import make_verdict
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.studies.summary.confirmation import Confirmed, largest, not_chosen


def layout(ratio):
    made = make_verdict(ratio, factor="layout", values=("channels_first", "channels_last"), devices=1)
    return replace(made, study="layout")


def convolution(ratio):
    one, other = (
        Conv2dTrial(library=name, mode=mode, images=8, height=8, width=8)
        for name, mode in (("torch", "eager"), ("jax", "xla"))
    )
    return replace(make_verdict(ratio), study="conv2d", factor="library", baseline=one, candidate=other)


def test_trainings_come_before_single_convolutions():
    assert largest([convolution(9.0), layout(1.2)], of_each=1) == [layout(1.2), convolution(9.0)]


def test_what_is_not_measured_again_as_it_is_no_gain_is_named_with_the_reason():
    cores = replace(make_verdict(1.5, values=(1, 2)), study="multi_gpu")
    held = Confirmed(first=layout(1.2), again=None)
    (said,) = not_chosen([cores, layout(1.2)], [held], {"device": "cpu"}, ())

    assert "1.50x" in said
    assert said.endswith(
        "; not measured again: over one core; a plain script uses all of them, which was not compared."
    )
    assert not_chosen([cores], [], {"device": "cpu"}, ()) == []
    assert not_chosen([cores], [held], {"device": "gpu"}, ()) == []
