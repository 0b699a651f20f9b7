"""The models in torch: ours, and users'; those of timm are in `torch_zoo`."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch._dynamo import OptimizedModule
from torch.nn.parallel import DistributedDataParallel

from trainspeed.core import user_model
from trainspeed.core.library_model import is_library_model
from trainspeed.core.trial import WIDE_RESNET, ZOO
from trainspeed.worker import hyperparameters as hyper
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid
from trainspeed.worker.models.library import check_fits

DUMMY_IMAGES = 2  # images of the batch that a user's model is tried with
TRUNCATED_STD = 0.87962566103423978  # of a standard normal cut at 2; Keras's he_normal divides by it


def build_torch(
    model: str,
    *,
    image_size: int = 32,
    weights: str | None = None,
    classes: int = hyper.DATA_SET_CLASSES,
    layout: str = "channels_first",
    seed: int = 0,
) -> nn.Module:
    """Return a model from (batch, 3, height, width) images to logits.

    Args:
        model: Name of a model; `timm/<name>`: timm's, with its own head; or `file.py:function`: a user's, given
            (3, height, width), the number of classes and the layout.
        weights: "imagenet" downloads those of timm, for a model of others; None draws them at random.
        layout: Only a user's function is given it: a layout is the memory format of a model's weights and input.
        seed: Seeds Python's and NumPy's random numbers, which only a user's model may draw.
    Raises:
        Unsupported: The weights are not here and cannot be downloaded, a library's model is not for torch or does not
            take such images, or as raised by `user_code.call`.
        Invalid: A user's model is no module from such images to logits, or has nothing to train; or as raised by
            `user_code.call`.
        NotImplementedError: The model has a name, and is not built here.
    """
    if user_model.is_user_model(model):
        return _users_network(model, (3, image_size, image_size), layout, classes, seed)
    if is_library_model(model):
        check_fits(model, "torch", layout)
        from trainspeed.worker.models.torch_zoo import timm_model

        return timm_model(model, image_size=image_size, classes=classes)
    if model in ZOO:
        from trainspeed.worker.models.torch_zoo import ZooModel

        return ZooModel(model, weights=weights, classes=classes)
    if WIDE_RESNET.fullmatch(model):
        net: nn.Module = WideResNet(hyper.wide_resnet_width(model), classes)
    elif model == "cnn_keras":
        net = _cnn_keras(image_size, classes)
    elif model == "cnn10":
        net = _cnn10(classes)
    else:
        raise NotImplementedError(f"no model {model!r} in worker/models/torch_models.py")
    net.apply(_initialise)
    return net


def _initialise(module: nn.Module) -> None:
    """He normal as in Keras: truncated at two standard deviations, fan-in; biases 0."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        std = math.sqrt(2 / module.weight[0].numel()) / TRUNCATED_STD
        nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=hyper.BN_EPSILON, momentum=1 - hyper.BN_DECAY)


def _cnn10(classes: int) -> nn.Sequential:
    """Return the articles' 10-layer CNN: nine 3x3 convolutions and a dense layer."""
    parts: list[nn.Module] = []
    before = 3
    for stage, channels in enumerate(hyper.CNN10_CHANNELS):
        if stage:
            parts.append(nn.AvgPool2d(2))
        for _ in range(hyper.CNN10_REPEATS):
            parts += [nn.Conv2d(before, channels, 3, padding=1), _norm(channels), nn.ReLU(inplace=True)]
            before = channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class _PixelsFirst(nn.Module):
    """Flatten with the pixels before the channels, as Keras does in both layouts."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


def _cnn_keras(image_size: int, classes: int) -> nn.Sequential:
    """Return Keras's old example cifar10_cnn.py, which article 002 trained."""
    parts: list[nn.Module] = []
    before, size = 3, image_size
    for channels, dropout in zip(hyper.CNN_KERAS_CHANNELS, hyper.CNN_KERAS_DROPOUT, strict=False):
        parts += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU(inplace=True)]
        parts += [nn.Conv2d(channels, channels, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        parts.append(nn.Dropout(dropout))
        before, size = channels, (size - 2) // 2
    units = hyper.CNN_KERAS_UNITS
    parts += [_PixelsFirst(), nn.Linear(before * size * size, units), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts, nn.Dropout(hyper.CNN_KERAS_DROPOUT[-1]), nn.Linear(units, classes))


class _Block(nn.Module):
    """Pre-activation block; its shortcut is a 1x1 convolution where the shape changes."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.norm1 = _norm(before)
        self.shortcut = None
        if stride != 1 or before != channels:
            self.shortcut = nn.Conv2d(before, channels, 1, stride=stride, bias=False)
        self.conv1 = nn.Conv2d(before, channels, 3, stride=stride, padding=1, bias=False)
        self.norm2 = _norm(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(y)
        y = torch.relu(self.norm2(self.conv1(y)))
        return self.conv2(y) + shortcut


class WideResNet(nn.Module):
    """Wide ResNet 28-k of https://arxiv.org/abs/1605.07146, without dropout; k = 10 has 36.5 M weights.

    The order of its parameters is that of the Keras model.
    """

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        before = hyper.WIDE_RESNET_CHANNELS[0]
        self.stem = nn.Conv2d(3, before, 3, padding=1, bias=False)
        blocks = []
        for group, base in enumerate(hyper.WIDE_RESNET_CHANNELS):
            for index in range(hyper.WIDE_RESNET_BLOCKS):
                blocks.append(_Block(before, base * width, 2 if group and index == 0 else 1))
                before = base * width
        self.blocks = nn.Sequential(*blocks)
        self.norm = _norm(before)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.blocks(self.stem(x))))
        return self.head(self.pool(x).flatten(1))


def _users_network(model: str, shape: tuple[int, ...], layout: str, classes: int, seed: int) -> nn.Module:
    """Return the module that the user's function returns; it need not heed the layout, a memory format here."""
    built = user_code.call(model, shape, classes, layout, framework="torch", seed=seed)
    if not isinstance(built, nn.Module):
        raise Invalid(f"{model} must return a torch.nn.Module, not {user_code.type_name(built)}")
    if any(map(_is_compiled, built.modules())):
        raise Invalid(
            f"{model}: its model is compiled already: return the module itself, compile is a setting here"
        )
    if any(isinstance(module, nn.DataParallel | DistributedDataParallel) for module in built.modules()):
        raise Invalid(
            f"{model}: its model is spread over devices already: return the module itself, devices are a setting here"
        )
    first = next(built.parameters(), None)
    # float32 as what is trained on, whatever dtype the file has made the default.
    device = None if first is None else first.device
    images = torch.zeros(DUMMY_IMAGES, *shape, dtype=torch.float32, device=device)
    try:
        built.eval()  # a user's `train` may set more than that, and return nothing
        with torch.no_grad():
            logits = built(images)  # draws lazy weights, too
    except Exception as problem:
        text = user_code.exception_text(problem, user_model.find_model(model))
        advice = user_code.OTHER_SIZES
        if first is not None and first.dtype != images.dtype:
            advice = f"these are {images.dtype}, its weights {first.dtype}: precision is a setting here"
        raise Invalid(
            f"{model}: its model raised {text}, on images of {tuple(images.shape)}; {advice}"
        ) from problem
    check_logits(model, logits, images, classes)
    if not any(p.requires_grad for p in built.parameters()):
        raise Invalid(f"{model}: its model has no trainable weights")
    built.train()
    return built


def _is_compiled(module: nn.Module) -> bool:
    """Return whether a module has been given to `torch.compile`, or told to `compile` itself."""
    return isinstance(module, OptimizedModule) or module._compiled_call_impl is not None


def check_logits(model: str, logits: object, images: torch.Tensor, classes: int, mode: str = "") -> None:
    """Raise Invalid unless what a user's model returned for images is a logit for each class.

    Args:
        mode: The mode that the model is in, in words; none is that of evaluation.
    """
    its = f"{model}: {mode and f'in {mode} mode '}its model"
    if not isinstance(logits, torch.Tensor):
        raise Invalid(f"{its} must return one tensor of logits, not {user_code.type_name(logits)}")
    if logits.shape != (len(images), classes):
        raise Invalid(
            f"{its} returns {tuple(logits.shape)} for images of {tuple(images.shape)}: it must be "
            f"{(len(images), classes)}, {user_code.class_rule(classes)}"
        )
