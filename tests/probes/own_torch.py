"""Models of a user's own in torch: some that can be trained, and some of each way to go wrong."""

import torch
from torch import nn


class Head(nn.Module):
    """A dense layer on the mean of each channel; `then` makes of the logits what a test wants."""

    def __init__(self, classes, then=lambda logits: logits):
        super().__init__()
        self.dense, self.then = nn.Linear(3, classes), then

    def forward(self, x):
        return self.then(self.dense(x.mean((2, 3))))


def convolution(input_shape, classes, layout):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, classes)
    )


def lazy(input_shape, classes, layout):
    return nn.Sequential(nn.LazyConv2d(8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(classes))


def without_convolution(input_shape, classes, layout):
    return Head(classes)


class Attention(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.dense = nn.Linear(16, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.dense(self.attention(x, x, x)[0].mean(1))


def attention(input_shape, classes, layout):
    """Of a layer that takes and returns several tensors."""
    return Attention(classes)


def nan(input_shape, classes, layout):
    return Head(classes, lambda logits: logits * float("nan"))


def other_classes(input_shape, classes, layout):
    return Head(classes + 1)


def two_outputs(input_shape, classes, layout):
    return Head(classes, lambda logits: (logits, logits))


def wrong_size(input_shape, classes, layout):
    return nn.Sequential(nn.Flatten(), nn.Linear(5, classes))


def untrainable(input_shape, classes, layout):
    return nn.Sequential(nn.Flatten(), nn.Softmax(1), nn.AdaptiveAvgPool1d(classes))


def nothing(input_shape, classes, layout):
    return 3


def raises(input_shape, classes, layout):
    raise ValueError(f"not for {layout}")


def asks(input_shape, classes, layout):
    """As a forgotten breakpoint: what it reads must not be the worker's next request."""
    input("how many layers? ")


class InTraining(Head):
    """Does something else in training mode."""

    def forward(self, x):
        logits = self.dense(x.mean((2, 3)))
        return self.then(logits) if self.training else logits


def two_in_training(input_shape, classes, layout):
    """As models with another head for training."""
    return InTraining(classes, lambda logits: (logits, logits))


def compiled(input_shape, classes, layout):
    return torch.compile(Head(classes))


def compiled_in_place(input_shape, classes, layout):
    model = nn.Sequential(Head(classes))
    model[0].compile()
    return model


def half(input_shape, classes, layout):
    return Head(classes).half()


class KeptStatistics(nn.Sequential):
    """Its normalisation is never set to train; `train` returns nothing, as is often written."""

    def train(self, mode=True):
        super().train(mode)
        self[1].eval()


def kept_statistics(input_shape, classes, layout):
    parts = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return KeptStatistics(*parts, nn.Linear(8, classes))


def double(input_shape, classes, layout):
    torch.set_default_dtype(torch.float64)
    return convolution(input_shape, classes, layout)


def double_by_default(input_shape, classes, layout):
    """Has its own weights in 32 bits all the same."""
    return double(input_shape, classes, layout).float()


def frozen(input_shape, classes, layout):
    """All but its last layer, as a model that is fitted to other classes."""
    model = convolution(input_shape, classes, layout)
    model[0].requires_grad_(False)
    return model


def own_settings(input_shape, classes, layout):
    torch.set_num_threads(3)
    torch.use_deterministic_algorithms(True)
    return convolution(input_shape, classes, layout)


def spread(input_shape, classes, layout):
    return nn.DataParallel(convolution(input_shape, classes, layout))
