"""In a framework's own environment: build a model with given weights, and save what it puts out.

The weights come from a seed, in an order that is the same in every framework: convolutions, then
BatchNormalization, then the dense layers, each in the order in which the model makes them.
"""

from __future__ import annotations

import numpy as np

from trainspeed.worker import hyperparameters

# Model -> its trainable weights, by hand from the layers: of those that are compared, at `SIZE` px, and at 32 px, with
# 36.5 M of the canonical Wide ResNet and 1.25 M of Keras's example.
MODELS = {"cnn10": 1_925_258, "cnn_keras": 202_282, "wrn28_2": 1_467_610}
FULL_SIZE = {"cnn_keras": 1_250_858, "wrn28_10": 36_479_194}
UNBUILT = "cnn11"
LAYOUTS = ("channels_first", "channels_last")
SIZE, BATCH = 16, 4


class Weights:
    """Random weights, drawn as they are asked for."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)

    def conv(self, out: int, into: int, kernel: int) -> np.ndarray:
        shape = (out, into, kernel, kernel)
        return self.draw(shape, (2 / (into * kernel * kernel)) ** 0.5)

    def draw(self, shape, scale=0.1, around=0.0) -> np.ndarray:
        return (around + scale * self.random.standard_normal(shape)).astype(np.float32)


def images() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(11)
    return random.random((BATCH, SIZE, SIZE, 3), dtype=np.float32), random.integers(0, 10, BATCH)


def torch_outputs(name: str, layout: str) -> dict[str, np.ndarray]:
    import torch
    from torch import nn

    from trainspeed.worker.backends.torch_training import MEMORY_FORMATS
    from trainspeed.worker.models import torch_models

    model = torch_models.build_torch(name, image_size=SIZE).to(memory_format=MEMORY_FORMATS[layout])
    weights = Weights()

    def put(parameter, value) -> None:
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(value))

    modules = list(model.modules())
    convs = [m for m in modules if isinstance(m, nn.Conv2d)]
    for m in convs:
        put(m.weight, weights.conv(m.out_channels, m.in_channels, m.kernel_size[0]))
        if m.bias is not None:
            put(m.bias, weights.draw(m.out_channels))
    for m in (m for m in modules if isinstance(m, nn.BatchNorm2d)):
        put(m.weight, weights.draw(m.num_features, around=1.0))
        put(m.bias, weights.draw(m.num_features))
    for dense in (m for m in modules if isinstance(m, nn.Linear)):
        put(dense.weight, weights.draw((dense.out_features, dense.in_features)))
        put(dense.bias, weights.draw(dense.out_features))
    x, y = images()
    x = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=MEMORY_FORMATS[layout])
    evaluated = model.eval()(x).detach().numpy()
    loss = nn.functional.cross_entropy(model.train()(x), torch.from_numpy(y))
    loss.backward()
    return {
        "logits": evaluated,
        "loss": np.float32(loss.item()),
        "first_gradient": convs[0].weight.grad.contiguous().numpy(),
        "dense_gradient": dense.weight.grad.numpy(),
        "parameters": np.int64(sum(p.numel() for p in model.parameters())),
    }


def keras_outputs(name: str, layout: str) -> dict[str, np.ndarray]:
    import keras

    from trainspeed.worker.models import keras_models

    keras.backend.clear_session()
    model = keras_models.build_keras(name, layout=layout, image_size=SIZE)
    weights = Weights()

    def made(kind) -> list:
        """Layers of a kind in the order they were made, which their names count."""
        return sorted(
            (x for x in model.layers if type(x) is kind),
            key=lambda x: int(f"0{x.name.split('_')[-1]}") if x.name.split("_")[-1].isdigit() else -1,
        )

    convs = made(keras.layers.Conv2D)
    for layer in convs:
        height, _, into, out = layer.kernel.shape
        layer.kernel.assign(weights.conv(out, into, height).transpose(2, 3, 1, 0))
        if layer.use_bias:
            layer.bias.assign(weights.draw(out))
    for layer in made(keras.layers.BatchNormalization):
        layer.gamma.assign(weights.draw(layer.gamma.shape, around=1.0))
        layer.beta.assign(weights.draw(layer.beta.shape))
    for dense in made(keras.layers.Dense):
        into, out = dense.kernel.shape
        dense.kernel.assign(weights.draw((out, into)).T)
        dense.bias.assign(weights.draw(out))
    x, y = images()
    x = x if layout == "channels_last" else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    logits = model.predict(x, verbose=0)  # before training moves the statistics of BatchNormalization
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    loss, gradients = gradients_of(keras.backend.backend(), model, loss_of, x, y)
    names = [variable.path for variable in model.trainable_variables]
    return {
        "logits": logits,
        "loss": np.float32(loss),
        "first_gradient": np.asarray(gradients[names.index(convs[0].kernel.path)]).transpose(3, 2, 0, 1),
        "dense_gradient": np.asarray(gradients[names.index(dense.kernel.path)]).T,
        "parameters": np.int64(sum(int(np.prod(v.shape)) for v in model.trainable_variables)),
    }


def gradients_of(backend: str, model, loss_of, x, y):
    if backend == "jax":
        import jax

        def loss(trainable, fixed):
            logits, _ = model.stateless_call(trainable, fixed, x, training=True)
            return loss_of(y, logits)

        trainable = [v.value for v in model.trainable_variables]
        return jax.jit(jax.value_and_grad(loss))(trainable, [v.value for v in model.non_trainable_variables])
    import tensorflow as tf

    @tf.function  # eager convolutions on a CPU refuse channels_first
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])

    loss, gradients = step()
    return loss.numpy(), [g.numpy() for g in gradients]


def full_size_parameters(framework: str, name: str) -> int:
    """Trainable weights at 32 px, without running it."""
    if framework == "torch":
        import torch

        from trainspeed.worker.models import torch_models

        with torch.device("meta"):
            model = torch_models.build_torch(name)
        return sum(p.numel() for p in model.parameters())
    from trainspeed.worker.models import keras_models

    model = keras_models.build_keras(name, layout="channels_last", image_size=32)
    return sum(int(np.prod(v.shape)) for v in model.trainable_variables)


def names_of_others(framework: str) -> list[str]:
    """Return the names of the models of others that a framework builds."""
    if framework == "torch":
        from trainspeed.worker.models import torch_zoo

        return [*torch_zoo.TIMM_NAMES]
    from trainspeed.worker.models import keras_models

    return [*keras_models.APPLICATIONS]


def refusal(framework: str) -> str:
    """Return what a framework says to a name that it builds nothing for."""
    try:
        full_size_parameters(framework, UNBUILT)
    except NotImplementedError as problem:
        return str(problem)
    return ""


def hasten_keras() -> None:
    """Draw no weights: all are replaced."""
    from keras.initializers import VarianceScaling

    VarianceScaling.__call__ = lambda self, shape, dtype=None, **_: np.zeros(shape, dtype)


def main(framework: str, out: str) -> None:
    if framework != "torch":
        hasten_keras()
    outputs_of = torch_outputs if framework == "torch" else keras_outputs
    hyperparameters.CNN_KERAS_DROPOUT = (0.0, 0.0, 0.0)  # else each framework drops other units
    # JAX has Keras's model, too, and would fill its 36 million weights.
    full_size = list(FULL_SIZE)[:1] if framework == "jax" else FULL_SIZE
    outputs = {f"{name}/parameters": np.int64(full_size_parameters(framework, name)) for name in full_size}
    outputs |= {"others": np.array(names_of_others(framework)), "refusal": np.array(refusal(framework))}
    for model in MODELS:
        for layout in LAYOUTS:
            for name, value in outputs_of(model, layout).items():
                outputs[f"{model}/{layout}/{name}"] = value
    np.savez(out, **outputs)
