"""How accurate guessing is: what a model that has learned nothing gets right. Pure functions on numbers."""

from __future__ import annotations

from math import comb

from trainspeed.judge.verdict import CONFIDENCE


def guessing_range(chance: float, images: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return between which accuracies, 0 to 1, guessing ends with this confidence: of the exact binomial distribution.

    Args:
        chance: That a guess is right, 0 to 1: one over the number of classes.
        images: Number of images that are guessed.
    Raises:
        ValueError: There is no image, or chance is no probability.
    """
    if images < 1 or not 0 < chance < 1:
        raise ValueError(f"chance (={chance}) must lie between 0 and 1, and images (={images}) be 1 or more.")
    tail, sum_, ends = (1 - confidence) / 2, 0.0, []
    for right in range(images + 1):
        sum_ += comb(images, right) * chance**right * (1 - chance) ** (images - right)
        if len(ends) < 1 and sum_ > tail:
            ends.append(right / images)
        if sum_ >= 1 - tail:
            return ends[0], right / images
    return ends[0], 1.0
