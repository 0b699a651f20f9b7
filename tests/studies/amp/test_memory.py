"""What is said of the memory that a precision needs is what was measured, not what 16 bits promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from study_data import MACHINE, make_run
from trainspeed.core.trial import LAYOUTS
from trainspeed.studies.amp.memory import memory_sentences, parts_sentences


def runs(base_mb, own_mb, blocks=6):
    return [
        make_run(block=block, precision=precision, peak_memory_bytes=size and int(size * 1e6))
        for block in range(blocks)
        for precision, size in (("default", base_mb), ("bf16", own_mb))
    ]


@pytest.mark.parametrize(
    ("base_mb", "own_mb", "said"),
    [
        (130.0, 140.0, "bf16 needed 140 MB at its peak, 8% more than default precision (130 MB)."),
        (200.0, 100.0, "bf16 needed 100 MB at its peak, 50% less than default precision (200 MB)."),
        (100.0, 100.2, "bf16 needed 100 MB at its peak, as much as default precision (100 MB)."),
    ],
)
def test_a_precision_is_held_against_its_baseline(base_mb, own_mb, said):
    (sentence,) = memory_sentences(runs(base_mb, own_mb))
    assert sentence.endswith(said.replace("%", " %"))


def test_few_blocks_are_said():
    (sentence,) = memory_sentences(runs(130.0, 140.0, blocks=2))
    assert sentence.endswith(", in 2 of 6 blocks.")


def test_nothing_is_said_of_what_cannot_be_read():
    assert memory_sentences(runs(None, 140.0)) == memory_sentences([]) == []


def test_settings_that_differ_in_more_than_the_precision_are_told_apart():
    several = [
        replace(r, trial=replace(r.trial, layout=layout)) for layout in LAYOUTS for r in runs(130.0, 140.0)
    ]
    first, second = memory_sentences(several)
    assert "channels_first" in first and "channels_last" in second


def test_a_part_of_a_step_that_took_more_than_any_whole_training_is_told_below_the_chart():
    """The front page tells the memory of all runs, and leads here."""
    machine = MACHINE | {"device": "cpu", "memory_bytes": 10**9}
    whole, part, ceiling = (
        make_run(machine=machine, peak_memory_bytes=mb * 10**6, model="resnet50", image_size=32, part=name)
        for mb, name in ((200, "both"), (510, "compute"), (600, "matmul"))
    )

    (said,) = parts_sentences([whole, part], [whole])
    assert said.endswith(" PyTorch, resnet50, compute only, took most memory, 510 MB at its peak.")
    (said,) = parts_sentences([whole, part, ceiling], [whole])
    assert " PyTorch, matrix products only, took most memory, 600 MB" in said
    assert parts_sentences([whole], [whole]) == parts_sentences([], []) == []
