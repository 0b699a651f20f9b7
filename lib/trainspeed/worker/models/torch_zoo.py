"""Models of others, from timm: with the head of article 003, or as they are. Import it before the worker forks."""

from __future__ import annotations

import huggingface_hub
import timm
import torch
from torch import nn

from trainspeed.worker import hyperparameters
from trainspeed.worker.failures import Unsupported, first_line

# Name of a trial -> name in timm.
TIMM_NAMES = {"vgg16": "vgg16", "mobilenet": "mobilenetv1_100", "resnet50": "resnet50"}
TIMM_NAMES |= {f"efficientnet_b{n}": f"efficientnet_b{n}" for n in range(6)}
WEIGHTS = "model.safetensors"  # the file that timm looks for first
HUB_TIMEOUT_S = 10
DUMMY_IMAGES = 2  # images of the batch that a model is tried with


class ZooModel(nn.Module):
    """Features of timm's model, then average pooling, dropout and a dense layer.

    From (batch, 3, height, width) images to logits.

    Args:
        weights: "imagenet" downloads timm's; None draws them at random, as timm does.
    Raises:
        Unsupported: The weights are not here, and their hub does not answer.
    """

    def __init__(self, model: str, *, weights: str | None, classes: int) -> None:
        super().__init__()
        if weights is not None:
            _check_weights(model)
        self.backbone = timm.create_model(
            TIMM_NAMES[model], pretrained=weights == "imagenet", num_classes=0, global_pool=""
        )
        if hasattr(
            self.backbone, "pre_logits"
        ):  # VGG's two dense layers, 120 M weights: the article cut them off
            self.backbone.pre_logits = nn.Identity()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(hyperparameters.ZOO_DROPOUT)
        self.head = nn.Linear(_channels(self.backbone), classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.backbone.forward_features(x)).flatten(1)
        return self.head(self.dropout(x))


def timm_model(model: str, *, image_size: int, classes: int) -> nn.Module:
    """Return a model of timm with its own head, from (batch, 3, height, width) images to logits, with random weights.

    Args:
        model: "timm/" and its name there.
    Raises:
        Unsupported: It cannot be built here, or does not take such images.
    """
    shape = (DUMMY_IMAGES, 3, image_size, image_size)
    try:
        built = timm.create_model(model.partition("/")[2], num_classes=classes)
        with torch.no_grad():
            logits = built.eval()(torch.zeros(shape))
    except Exception as problem:
        raise Unsupported(
            f"{model}: timm raised {type(problem).__name__}: {first_line(problem)}, on images of {shape}"
        ) from problem
    if not isinstance(logits, torch.Tensor) or logits.shape != (DUMMY_IMAGES, classes):
        raise Unsupported(f"{model}: does not return a logit for each class of images of {shape}")
    return built.train()


def _check_weights(model: str) -> None:
    """Ask once. The hub's own client asks 14 times: 47 s without a network, 13 minutes where a server is silent."""
    repository = timm.get_pretrained_cfg(TIMM_NAMES[model]).hf_hub_id
    if isinstance(huggingface_hub.try_to_load_from_cache(repository, WEIGHTS), str):
        return
    try:
        url = huggingface_hub.hf_hub_url(repository, WEIGHTS)
        huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT_S)
    except Exception as problem:  # of the client or of a library that it uses
        why = f"{type(problem).__name__}: {first_line(problem)}"
        raise Unsupported(
            f"imagenet weights of {model} could not be downloaded ({why}): use weights = null"
        ) from None


@torch.no_grad()
def _channels(backbone: nn.Module) -> int:
    """Count the channels of the features: timm's `num_features` is that of the dense layers that were cut off."""
    training = backbone.training
    channels = backbone.eval().forward_features(torch.zeros(1, 3, 32, 32)).shape[1]
    backbone.train(training)
    return channels
