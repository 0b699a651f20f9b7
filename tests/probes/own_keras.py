"""Models of a user's own in Keras: some that can be trained, and some of each way to go wrong."""

import keras
from keras import layers


def functional(inputs, x, classes):
    return keras.Model(inputs, layers.Dense(classes)(layers.GlobalAveragePooling2D()(x)))


def sequential(input_shape, classes, layout):
    """Without an input, and ending in a softmax."""
    head = [layers.GlobalAveragePooling2D(), layers.Dense(classes, activation="softmax")]
    return keras.Sequential([layers.Conv2D(8, 3), layers.MaxPooling2D(2), *head])


class OfItsOwn(keras.Model):
    def __init__(self, classes, layout):
        super().__init__()
        self.parts = [
            layers.Conv2D(8, 3),
            layers.BatchNormalization(axis=1 if layout == "channels_first" else 3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(classes),
        ]

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return x


def of_its_own(input_shape, classes, layout):
    return OfItsOwn(classes, layout)


def of_any_size(input_shape, classes, layout):
    """With another model within it."""
    shape = (3, None, None) if layout == "channels_first" else (None, None, 3)
    part = keras.Sequential([keras.Input(shape), layers.Conv2D(8, 3), layers.MaxPooling2D(2)])
    inputs = keras.Input(shape)
    return functional(inputs, part(inputs), classes)


def attention(input_shape, classes, layout):
    """Of layers whose products are not counted."""
    inputs = keras.Input(input_shape)
    x = layers.Reshape((-1, 16))(layers.Conv2D(16, 4, strides=4)(inputs))
    x = layers.Flatten()(layers.MultiHeadAttention(2, 8)(x, x))
    return keras.Model(inputs, layers.Dense(classes)(x))


def uncompilable(input_shape, classes, layout):
    """With a layer that XLA cannot compile."""
    inputs = keras.Input(input_shape)
    return functional(inputs, layers.RandomZoom(0.1, name="zoom")(layers.Conv2D(8, 3)(inputs)), classes)


def always_last(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    x = layers.Conv2D(8, 3, padding="same", data_format="channels_last", name="mine")(inputs)
    return keras.Model(inputs, layers.Dense(classes)(layers.Flatten()(x)))


def wrong_axis(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    return functional(inputs, layers.BatchNormalization(name="norm")(layers.Conv2D(8, 3)(inputs)), classes)


def fixed_size(input_shape, classes, layout):
    inputs = keras.Input((40, 40, 3))
    return functional(inputs, layers.Conv2D(8, 3)(inputs), classes)


def other_classes(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    return functional(inputs, layers.Conv2D(8, 3)(inputs), classes + 1)


def untrainable(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, layers.Flatten()(inputs)[:, :classes])


def nan(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, layers.Dense(classes)(layers.Flatten()(inputs)) * float("nan"))


def nothing(input_shape, classes, layout):
    return None


def raises(input_shape, classes, layout):
    raise ValueError(f"not for {layout}")


def sequential_with_input(input_shape, classes, layout):
    head = [layers.GlobalAveragePooling2D(), layers.Dense(classes)]
    return keras.Sequential([keras.Input(input_shape), layers.Conv2D(8, 3), *head])


def listed_input(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    return functional([inputs], layers.Conv2D(8, 3)(inputs), classes)


class From32Pixels(keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.dense = layers.Dense(classes)

    def call(self, x):
        assert x.shape[2] >= 32, "too small"
        return self.dense(x[:, 0, 0])


def needs_32_pixels(input_shape, classes, layout):
    return From32Pixels(classes)


class Probabilities(OfItsOwn):
    """Ends in a softmax that only its `call` shows."""

    def call(self, x):
        return keras.activations.softmax(super().call(x))


def probabilities(input_shape, classes, layout):
    return Probabilities(classes, layout)


def behind_a_softmax(input_shape, classes, layout):
    """In 32 bits, whatever the policy is."""
    inputs = keras.Input(input_shape)
    x = layers.Dense(classes, activation="softmax")(layers.GlobalAveragePooling2D()(inputs))
    return keras.Model(inputs, layers.Activation("linear", dtype="float32")(x))


class StepOfItsOwn(keras.Model):
    def train_step(self, *_):
        raise RuntimeError("a step of its own is not used")

    compute_loss = train_step


def step_of_its_own(input_shape, classes, layout):
    """Of a class with a step and a loss, around layers of Keras's."""
    inputs = keras.Input(input_shape)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3)(inputs))
    return StepOfItsOwn(inputs, layers.Dense(classes)(x))


def named_output(input_shape, classes, layout):
    inputs = keras.Input(input_shape)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3)(inputs))
    return keras.Model(inputs, {"logits": layers.Dense(classes)(x)})


def frozen(input_shape, classes, layout):
    """All but its last layer, as a model that is fitted to other classes."""
    inputs = keras.Input(input_shape)
    return functional(inputs, layers.Conv2D(8, 3, trainable=False)(inputs), classes)


def own_settings(input_shape, classes, layout):
    import tensorflow

    tensorflow.config.experimental.enable_op_determinism()
    return sequential(input_shape, classes, layout)
