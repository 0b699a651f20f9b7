"""What the charts beside the articles say of this machine, as their titles."""

import pytest

from amp_data import shares
from scaling_data import make_verdict
from study_data import make_run
from trainspeed.articles import messages, ratios
from trainspeed.articles.ratios import COLUMNS


def batches(**models):
    """Return the frame of model -> {batch size: seconds}."""
    return ratios.batch_sizes(
        [
            make_run(s, batch_size=size, model=model, framework="torch", layout="channels_first")
            for model, seconds in models.items()
            for size, s in seconds.items()
        ]
    )


def test_batch_sizes_tell_the_largest_over_the_smallest_and_that_there_is_no_interval():
    one = messages.of_batch_sizes(batches(cnn10={4: 10.0, 16: 8.0, 64: 5.0}))
    assert one == (
        "An epoch at batch 64 takes 50 % of the time at batch 4 (PyTorch, cnn10, channels_first, here; medians, no "
        "interval)"
    )
    two = messages.of_batch_sizes(batches(cnn10={4: 10.0, 64: 5.0}, wrn28_2={4: 10.0, 64: 8.0}))
    assert two == (
        "An epoch at the largest batch takes 50 to 80 % of the time at the smallest (PyTorch, channels_first, "
        "here; medians, no interval)"
    )


def test_a_second_device_is_told_with_its_interval_or_as_a_range():
    one, other, short = make_verdict(1.25), make_verdict(1.5, batch_size=512), make_verdict(1.1, blocks=1)
    assert messages.of_second_device(ratios.second_device([one])) == (
        "2 devices vs 1, PyTorch, here: 1.25x (95 % interval 1.25 to 1.25)"
    )
    assert messages.of_second_device(ratios.second_device([one, other, short])) == (
        "2 devices vs 1, PyTorch, here: 1.25 to 1.50x (2 comparisons); 1 without an interval"
    )
    assert messages.of_second_device(ratios.second_device([short])) == "", "it is a question yet"


def test_shares_are_counted_by_where_their_interval_lies():
    data = ratios._frame(shares()[:0], [])
    assert messages.of_shares(data) == ""
    rows = [(0.5, 0.48, 0.55), (0.57, 0.53, 0.63), (1.5, 1.4, 1.6), (0.5, None, None)]
    ours = [dict(zip(("value", "low", "high"), row, strict=True)) for row in rows]
    assert messages.of_shares(ratios._frame(shares()[:0], ours)) == (
        "Share of FP32's time here: 1 in, 1 outside, 1 across the edge of the article's 45 to 60 %; "
        "1 without an interval"
    )


def test_pipelines_are_told_over_one_device_with_threads():
    arms = [(1, "threads", 1.0), (1, "arrays", 0.6), (2, "threads", 0.8)]
    ours = [{"devices": n, "pipeline": name, "value": value} for n, name, value in arms]
    data = ratios._frame(shares()[:0], ours, ["devices", "pipeline"])
    assert messages.of_pipelines(data) == (
        "Here an epoch takes 0.60 to 0.80 times as long as on 1 device with threads (medians, no interval)"
    )
    assert messages.of_pipelines(data[:1]) == ""


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (messages.of_batch_sizes, ratios.batch_sizes([])),
        (messages.of_second_device, ratios.second_device([])),
        (messages.of_pipelines, ratios.input_pipelines([])),
    ],
    ids=["batch sizes", "second device", "pipelines"],
)
def test_without_a_row_of_this_machine_nothing_is_said(message, data):
    assert set(COLUMNS) <= set(data) and message(data) == ""
