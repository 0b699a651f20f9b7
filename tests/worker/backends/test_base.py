"""What all backends share."""

from __future__ import annotations

import pytest

from trainspeed.core.trial import Trial
from trainspeed.worker.backends.base import evaluation_batch


@pytest.mark.parametrize(
    ("batch_size", "image_size", "images"),
    [(1, 64, 2), (8, 224, 16), (64, 64, 128), (512, 64, 128), (1, 32, 128)],
)
def test_an_evaluation_takes_no_more_large_images_at_once_than_fitted_into_training(
    batch_size, image_size, images
):
    """It keeps no activations for a gradient, so that twice as many fit."""
    trial = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_first",
        batch_size=batch_size,
        image_size=image_size,
        images_per_epoch=512,
        epochs=3,
        dataset="digits",
    )

    assert evaluation_batch(trial) == images
