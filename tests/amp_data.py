"""Made-up verdicts on precisions, for the tests of article 003's numbers beside this machine's."""

from __future__ import annotations

import pandas as pd

from study_data import make_pair, make_run
from trainspeed.articles.ratios import precision_shares
from trainspeed.judge.comparison import Verdict, compare


def speedups(ratios, precision="fp16", **more) -> list[Verdict]:
    """Return the verdict on FP32's time / the precision's, here for TensorFlow's VGG16."""
    setting = {"framework": "tensorflow", "model": "vgg16", "image_size": 32, **more}
    runs = make_pair("precision", ("fp32", precision), ratios, **setting)
    return compare(runs, "precision", "fp32", precision, question="")


def accuracies(points, precision="fp16", **more) -> list[Verdict]:
    """Return the verdict on an accuracy that differs by so many points in each block."""
    setting = {"model": "vgg16", "image_size": 32, **more}
    runs = [
        make_run(block=block, precision=name, test_accuracy=accuracy, **setting)
        for block, change in enumerate(points)
        for name, accuracy in (("fp32", 0.9), (precision, 0.9 + change / 100))
    ]
    return compare(runs, "precision", "fp32", precision, question="", quantity="accuracy")


def shares() -> pd.DataFrame:
    """Return four rows: two with an interval and two without."""
    return precision_shares(
        [
            *speedups([1.25] * 2, "bf16"),
            *speedups([1.6, *[2.0] * 4, 2.5]),
            *speedups([1.0] * 6, framework="torch"),
            *speedups([4.0], framework="jax", model="mobilenet"),
            *accuracies([1.0] * 6, framework="tensorflow"),
        ]
    )
