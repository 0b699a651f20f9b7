import pytest

from trainspeed.core.layer_table import aligned, forgotten, row

FIRST, LAST = "channels_first", "channels_last"


def forgot(layout, *, data_format=None, bn_axis=None, shape=(8, 8, 64), type="Layer"):
    return row(
        layer="x", type=type, output_shape=shape, data_format=data_format, bn_axis=bn_axis, layout=layout
    )["forgot"]


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_a_layer_without_a_layout_forgets_none(layout):
    assert not forgot(layout, type="ReLU")


@pytest.mark.parametrize(
    ("layout", "setting", "wrong"), [(FIRST, FIRST, False), (FIRST, LAST, True), (LAST, FIRST, True)]
)
@pytest.mark.parametrize("type", ["Conv2D", "MaxPooling2D"])
def test_a_layer_that_was_told_the_other_layout_forgot_it(layout, setting, wrong, type):
    assert forgot(layout, data_format=setting, type=type) is wrong


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


# Both layouts of a user's model next to each other.


def table(*layers):
    """Return a layer table of names and types, written "name type"."""
    others = {"output_shape": (8, 8, 4), "data_format": None, "bn_axis": None, "layout": LAST}
    return [row(layer=name, type=type, **others) for name, type in map(str.split, layers)]


def names(pairs):
    return [tuple(layer and layer["layer"] for layer in pair) for pair in pairs]


def test_equal_layers_stand_beside_each_other():
    layers = table("conv Conv", "relu ReLU", "fc Linear")
    assert aligned(layers, layers) == list(zip(layers, layers, strict=True))


def test_a_permute_more_has_nothing_beside_it_and_moves_no_other_layer():
    first = table("permute Permute", "conv1 Conv", "relu ReLU", "fc Linear")
    second = table("conv1 Conv", "relu ReLU", "back Permute", "fc Linear")
    assert names(aligned(first, second)) == [
        ("permute", None),
        ("conv1", "conv1"),
        ("relu", "relu"),
        (None, "back"),
        ("fc", "fc"),
    ]


def test_of_layers_of_one_type_the_one_that_is_missing_is_found_by_its_name():
    first, second = table("conv1 Conv", "conv2 Conv", "conv3 Conv"), table("conv1 Conv", "conv3 Conv")
    assert names(aligned(first, second)) == [("conv1", "conv1"), ("conv2", None), ("conv3", "conv3")]


def test_layers_that_are_named_by_their_place_are_matched_by_their_types():
    """As in `nn.Sequential`, where two extra layers rename all others."""
    first = table("0 Permute", "1 Permute", "2 Conv", "3 ReLU", "4 Conv", "5 ReLU")
    second = table("0 Conv", "1 ReLU", "2 Conv", "3 ReLU")
    pairs = [("2", "0"), ("3", "1"), ("4", "2"), ("5", "3")]
    assert names(aligned(first, second)) == [("0", None), ("1", None), *pairs]


def test_models_without_a_common_layer_stand_below_each_other():
    assert names(aligned(table("a Conv"), table("b Linear"))) == [("a", None), (None, "b")]
    assert names(aligned([], table("b Linear"))) == [(None, "b")]
