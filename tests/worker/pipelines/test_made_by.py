"""Who is seen to have made the batches of a training, without a framework."""

from __future__ import annotations

import threading

import pytest

from trainspeed.worker.pipelines.made_by import NOBODY, Here, MadeBy


def made_in(*threads: str) -> Here:
    """Return what made a batch in each of these threads: "loop" or another one."""
    here = Here(lambda epoch, index: (epoch, index))
    for name in threads:
        if name == "loop":
            here(0, 0)
        else:
            other = threading.Thread(target=here, args=(0, 1))
            other.start()
            other.join()
    return here


@pytest.mark.parametrize(("threads", "seen"), [(("loop",), "generator"), (("other",), "threads")])
def test_threads_are_seen_by_where_a_batch_was_made(threads, seen):
    assert MadeBy.of(made_in(*threads).threads).seen()["pipeline"][0] == seen


def test_processes_are_counted_as_they_live():
    seen = MadeBy.of((), processes=3).seen()

    assert (seen["pipeline"][0], seen["workers"][0]) == ("processes", "3")


@pytest.mark.parametrize(
    ("made", "how"),
    [
        (MadeBy(), NOBODY),
        (MadeBy(processes=2, in_loop=True), "2 living worker processes and the thread that trains"),
        (
            MadeBy(other_threads=1, in_loop=True),
            "1 thread beside the one that trains and the thread that trains",
        ),
    ],
)
def test_where_it_is_not_one_of_them_nothing_is_seen(made, how):
    seen = made.seen()

    assert list(seen) == ["pipeline"] and seen["pipeline"][0] is None and how in seen["pipeline"][1]
