"""What the runs of a comparison are doubted for, side by side and session by session."""

from sessions_data import day, history_of, machine, quiet_day
from sides_data import blocks
from study_data import MACHINE
from trainspeed.core.notes import CoresBusy, LossNotFinite, OnHeadNode
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.studies.across.doubts import doubt_sentences, history_doubts

BUSY = (CoresBusy(cores=1.5),)


def check(session="20261101T080000Z-abcd", **more):
    """Return a check that did not end."""
    probe = Probe(framework="torch", name="epoch")
    ended = {"status": Status.TIMEOUT, "reason": "not finished after 120 s"}
    return Run(
        **{"session": session, "study": "check", "trial": probe, "block": 0, "machine": MACHINE}
        | ended
        | more
    )


def test_the_notes_of_each_side_are_told_with_how_many_runs_have_them():
    sides = {
        "a": [*blocks(1.0, notes=BUSY, count=2), *blocks(1.0, batch_size=64)],
        "b": blocks(1.0, notes=(CoresBusy(cores=2.5), LossNotFinite(loss="nan"))),
        "c": blocks(1.0),
    }

    busy, loss = doubt_sentences(sides, {})

    assert busy == (
        "Other processes kept up to 2.5 CPU cores busy meanwhile: stop them. "
        "In 2 of 8 runs of a and 6 of 6 runs of b (PyTorch)."
    )
    assert loss.startswith("The training loss ended as nan") and loss.endswith(
        "In 6 of 6 runs of b (PyTorch)."
    )


def test_of_many_sides_with_one_doubt_the_runs_are_counted():
    sides = {f"n{number}": blocks(1.0, notes=(OnHeadNode(),)) for number in range(9)}

    (said,) = doubt_sentences(sides, {})

    assert said.startswith("The services of the fleet's head ran on the same machine")


def test_a_check_that_is_not_ok_is_told_unless_it_was_of_another_machine():
    def said(where):
        return doubt_sentences(
            {"a": blocks(1.0), "b": blocks(1.0)}, {"b": [*blocks(1.0), check(machine=where)]}
        )

    assert said(MACHINE)
    assert all(one.startswith("b: the check of the instrument is not ok: ") for one in said(MACHINE))
    assert said(machine(cpu="Another CPU")) == []


def test_a_history_tells_the_doubts_of_the_sessions_on_both_sides_of_a_change():
    other = {"batch_size": 64}
    ordered, trials = history_of(
        [*quiet_day(1), check()],
        quiet_day(2, 1.3, "2.15.0", notes=BUSY),
        day(3, 1.3, "2.15.0", notes=(LossNotFinite(loss="nan"),), **other),
    )

    *faults, busy = history_doubts(ordered, trials)

    assert faults and all(
        one.startswith("2026-11-01: the check of the instrument is not ok: ") for one in faults
    )
    assert busy.startswith("Other processes kept up to 1.5 CPU cores busy meanwhile")
    assert busy.endswith("runs of 2026-11-02 (PyTorch).")
    assert history_doubts(*history_of(day(1), day(2))) == []
