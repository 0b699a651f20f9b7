"""The knee of the batch ladder: where a larger batch gains less than 5 %, or memory ends it."""

from __future__ import annotations

import pytest

from study_data import MACHINE, make_run
from trainspeed.core.run import Status
from trainspeed.judge.knee import Ends, knees

EPOCH_OF = 1024  # images
NOISE = (1.0, 1.004, 0.997, 1.002, 0.999, 1.001)  # of a block, the same for all batch sizes in it
GIGABYTE = 10**9
GPU = MACHINE | {"device": "gpu", "gpus": [{"memory_bytes": 10 * GIGABYTE}]}


def rung(batch_size, seconds, *, jitter=(), blocks=6, **more):
    """Return the runs of a batch size whose epoch takes so long, times what jitters in each block."""
    factors = jitter or (1.0,) * blocks
    return [
        make_run(
            seconds * NOISE[block] * factors[block],
            block=block,
            batch_size=batch_size,
            images_per_epoch=EPOCH_OF,
            **more,
        )
        for block in range(blocks)
    ]


def ladder(*seconds, **more):
    return [run for index, s in enumerate(seconds) for run in rung(16 * 2**index, s, **more)]


def test_the_knee_is_the_last_batch_that_gains_five_percent():
    (knee,) = knees(ladder(1.0, 0.6, 0.5, 0.49))

    assert (knee.batch_size, knee.ends) == (64, Ends.GAIN)
    assert [rung.batch_size for rung in knee.rungs] == [16, 32, 64, 128]
    assert knee.rungs[1].gain.speedup == pytest.approx(1 / 0.6)
    assert knee.rungs[0].images_per_s == pytest.approx(EPOCH_OF, rel=0.01)


def test_gains_to_the_end_reach_no_knee():
    (knee,) = knees(ladder(1.0, 0.6, 0.4))

    assert (knee.batch_size, knee.at_least, knee.at_most, knee.ends) == (None, 64, None, Ends.NOT_REACHED)


def test_a_slower_batch_ends_the_ladder_though_its_interval_leaves_the_margin():
    (knee,) = knees([*rung(16, 1.0), *rung(32, 1.0, jitter=(0.97, 1.2, 1.0, 1.1, 0.98, 1.3))])

    assert (knee.batch_size, knee.ends) == (16, Ends.GAIN)


def test_an_interval_on_both_sides_of_five_percent_decides_nothing():
    unsure = rung(32, 0.95, jitter=(0.9, 1.1, 0.95, 1.05, 0.92, 1.08))
    (knee,) = knees([*rung(16, 1.0), *unsure, *rung(64, 0.95)])

    assert (knee.batch_size, knee.at_least, knee.ends) == (None, 16, Ends.UNDECIDED)


def test_what_is_sure_above_an_undecided_rung_bounds_the_knee():
    unsure = rung(32, 0.95, jitter=(0.99, 1.02, 0.99, 1.01, 0.99, 1.02))
    (knee,) = knees([*rung(16, 1.0), *unsure, *rung(64, 0.95, status=Status.OOM)])

    assert (knee.batch_size, knee.at_least, knee.at_most) == (None, 16, 32)


def test_too_few_blocks_decide_nothing():
    (knee,) = knees(ladder(1.0, 0.5, blocks=5))

    assert (knee.at_least, knee.ends) == (16, Ends.UNDECIDED)


def test_running_out_of_memory_ends_the_ladder():
    (knee,) = knees([*ladder(1.0, 0.6), *rung(64, 0.4, status=Status.OOM)])

    assert (knee.batch_size, knee.ends) == (32, Ends.OUT_OF_MEMORY)
    assert knee.rungs[2].failed is Status.OOM and knee.rungs[2].images_per_s is None


def test_a_batch_that_takes_more_than_nine_tenths_of_the_memory_is_not_advised():
    runs = [
        run
        for size, seconds, share in ((16, 1.0, 0.4), (32, 0.6, 0.9), (64, 0.4, 0.91))
        for run in rung(size, seconds, machine=GPU, peak_memory_bytes=int(share * 10 * GIGABYTE))
    ]
    (knee,) = knees(runs)

    assert (knee.batch_size, knee.ends) == (32, Ends.MEMORY)
    assert knee.rungs[2].memory_share == pytest.approx(0.91)


def test_memory_that_is_not_known_ends_nothing():
    (knee,) = knees(ladder(1.0, 0.6, machine=GPU | {"gpus": [{"memory_bytes": None}]}, peak_memory_bytes=1))

    assert knee.ends is Ends.NOT_REACHED and knee.rungs[0].memory_share is None


def test_a_ladder_of_which_no_rung_ended_well_has_no_batch():
    (knee,) = knees(ladder(1.0, 1.0, status=Status.CRASHED))

    assert (knee.batch_size, knee.at_least, knee.ends) == (None, None, Ends.FAILED)


def test_a_ladder_begins_at_the_lowest_rung_that_ended_well():
    (knee,) = knees([*rung(16, 1.0, status=Status.CRASHED), *rung(32, 1.0), *rung(64, 0.7), *rung(128, 0.7)])

    assert (knee.batch_size, knee.ends) == (64, Ends.GAIN)
    assert [one.gain is None for one in knee.rungs] == [True, True, False, False]


def test_the_lowest_rung_may_fill_the_memory():
    full = {"machine": GPU, "peak_memory_bytes": int(9.2 * GIGABYTE)}
    (knee,) = knees(ladder(1.0, 0.5, **full))

    assert (knee.batch_size, knee.ends) == (16, Ends.MEMORY)


def test_trials_that_differ_in_more_are_ladders_of_their_own():
    other = [run for size in (16, 32) for run in rung(size, 1.0, layout="channels_last")]
    single = rung(16, 1.0, precision="bf16")
    found = knees([*ladder(1.0, 0.6), *other, *single])

    assert [(knee.trial.layout, knee.ends) for knee in found] == [
        ("channels_first", Ends.NOT_REACHED),
        ("channels_last", Ends.GAIN),
    ]
