"""Models of others, from timm, with the head of article 003. Import it before the worker forks."""

from __future__ import annotations

import timm
import torch
from torch import nn

from trainspeed import recipes

# Name of a trial -> name in timm.
NAMES = {"vgg16": "vgg16", "mobilenet": "mobilenetv1_100", "resnet50": "resnet50"}
NAMES |= {f"efficientnet_b{n}": f"efficientnet_b{n}" for n in range(6)}


def build(model: str, *, weights: str | None = None, classes: int = recipes.CLASSES) -> nn.Module:
    """Return a model from (batch, 3, height, width) images to logits.

    Args:
        weights: "imagenet" downloads timm's; None draws them at random, as timm does.
    """
    backbone = timm.create_model(
        NAMES[model], pretrained=weights == "imagenet", num_classes=0, global_pool=""
    )
    if hasattr(backbone, "pre_logits"):  # VGG's two dense layers, 120 M weights, which the article cut off
        backbone.pre_logits = nn.Identity()
    return ZooModel(backbone, classes)


class ZooModel(nn.Module):
    """Features of timm's model, then average pooling, dropout and a dense layer."""

    def __init__(self, backbone: nn.Module, classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(recipes.ZOO_DROPOUT)
        self.head = nn.Linear(_channels(backbone), classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.backbone.forward_features(x)).flatten(1)
        return self.head(self.dropout(x))


@torch.no_grad()
def _channels(backbone: nn.Module) -> int:
    """timm's `num_features` is that of the dense layers that were cut off."""
    training = backbone.training
    channels = backbone.eval().forward_features(torch.zeros(1, 3, 32, 32)).shape[1]
    backbone.train(training)
    return channels
