"""The levers of what stands between two epochs: validation, checkpoints. Knows no framework.

Each has a reason for not being here: the epochs that are compared have neither.
"""

from __future__ import annotations

from trainspeed.core.levers.lever import ALL_FRAMEWORKS, Level, Lever

OF_PARTS = "what both take together is among the parts of an epoch, where those have enough images for it"

LEVERS = (
    Lever(
        name="evaluate_every",
        words="validation every few epochs",
        frameworks=(),
        level=Level.LOOP,
        missing=dict.fromkeys(
            ALL_FRAMEWORKS,
            f"the epochs that are compared do not validate: every k epochs it takes a k-th of its time; {OF_PARTS}",
        ),
        source="https://keras.io/api/models/model_training_apis/",
    ),
    Lever(
        name="async_checkpoint",
        words="checkpoints saved beside the training",
        frameworks=(),
        level=Level.LOOP,
        missing=dict.fromkeys(
            ALL_FRAMEWORKS,
            f"the epochs that are compared save nothing: it saves no more than a checkpoint takes; {OF_PARTS}",
        ),
        source="https://docs.pytorch.org/docs/stable/distributed.checkpoint.html",
    ),
)
