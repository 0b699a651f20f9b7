import pytest

from trainspeed.layers import forgotten, row, summarise_layouts

FIRST, LAST = "channels_first", "channels_last"


def forgot(layout, *, data_format=None, bn_axis=None, shape=(8, 8, 64), type="Layer"):
    return row(
        layer="x", type=type, output_shape=shape, data_format=data_format, bn_axis=bn_axis, layout=layout
    )["forgot"]


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_a_layer_without_a_layout_forgets_none(layout):
    assert not forgot(layout, type="ReLU")


@pytest.mark.parametrize(
    ("layout", "told", "wrong"), [(FIRST, FIRST, False), (FIRST, LAST, True), (LAST, FIRST, True)]
)
@pytest.mark.parametrize("type", ["Conv2D", "MaxPooling2D"])
def test_a_layer_that_was_told_the_other_layout_forgot_it(layout, told, wrong, type):
    assert forgot(layout, data_format=told, type=type) is wrong


def test_global_average_pooling_without_an_image_behind_it_can_forget_too():
    """The layer that the articles' author forgot: it averages over the channels and still runs."""
    assert forgot(FIRST, data_format=LAST, shape=(64,), type="GlobalAveragePooling2D")
    assert not forgot(FIRST, data_format=FIRST, shape=(64,), type="GlobalAveragePooling2D")


@pytest.mark.parametrize(
    ("layout", "axis", "wrong"), [(FIRST, 1, False), (FIRST, 3, True), (LAST, 3, False), (LAST, 1, True)]
)
def test_batch_normalization_must_normalise_the_channels(layout, axis, wrong):
    """Keras's default axis is the last, whatever the data format is."""
    assert forgot(layout, bn_axis=axis, type="BatchNormalization") is wrong


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_batch_normalization_of_features_without_an_image_is_right_on_axis_1(layout):
    assert not forgot(layout, bn_axis=1, shape=(128,), type="BatchNormalization")


def test_a_row_says_what_the_layer_was_told():
    made = row(
        layer="bn",
        type="BatchNormalization",
        output_shape=(64, 8, 8),
        data_format=None,
        bn_axis=3,
        layout=FIRST,
    )
    assert made == {
        "layer": "bn",
        "type": "BatchNormalization",
        "output_shape": [64, 8, 8],
        "data_format": None,
        "bn_axis": 3,
        "forgot": True,
    }
    assert forgotten([made, {**made, "layer": "conv", "forgot": False}]) == ["bn"]


@pytest.mark.parametrize(
    ("seen", "summary"),
    [
        ([], None),
        ([FIRST], FIRST),
        ([LAST, LAST], LAST),
        ([LAST, FIRST, LAST], "mixed: channels_first in 1, channels_last in 2 of 3 convolutions"),
        (["XLA's order f01b", LAST], "mixed: XLA's order f01b in 1, channels_last in 1 of 2 convolutions"),
    ],
)
def test_the_layouts_of_a_model_as_one_text(seen, summary):
    assert summarise_layouts(seen) == summary
