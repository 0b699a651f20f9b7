"""A trial over the sessions of a machine: an upgrade that makes it slower, and what is no more than noise."""

import pytest

from sessions_data import day, failed_day, history_of, machine, quiet_day, upgraded_twice
from study_data import make_run
from trainspeed.core.result import Failure
from trainspeed.studies.across.changes import ChangeOutcome
from trainspeed.studies.across.common import common_trials
from trainspeed.studies.across.history_text import (
    change_blocks,
    change_certainty_sentences,
    letters,
    letters_of,
    machine_sentences,
    size_text,
    unrepeated_sentences,
)

OLD, NEW = "2.14.0", "2.15.0"
CONTROLS = (("layout", 0.1), ("multi_gpu", 0.001))  # study, and how far apart its halves are


def changes(*several):
    (history,) = history_of(*several)[1]
    return history.changes


def answer(*several):
    return change_blocks(*history_of(*several))


def test_an_upgrade_that_makes_slower_is_said_with_its_date_versions_and_interval():
    before, after = [day(1), day(2)], [day(5, 1.08, NEW), day(6, 1.08, NEW)]
    (change,) = changes(*before, *after)
    assert (change.finding, change.is_last, len(change.before), len(change.after)) == (
        ChangeOutcome.SLOWER,
        True,
        2,
        2,
    )
    assert change.size == pytest.approx(1.08) and change.low < change.speedup < change.high < 1
    assert answer(*before, *after) == [
        "Since 2026-11-05 (PyTorch 2.14.0 → 2.15.0), **slower**: PyTorch, cnn10, 1.08 times as long (1.07 to 1.09)."
    ]


def test_an_upgrade_after_which_another_came_says_until_when():
    said = answer(quiet_day(1), quiet_day(2, 0.8, "2.14.1"), quiet_day(3, 0.8, NEW))
    assert said == [
        "On 2026-11-02 (PyTorch 2.14.0 → 2.14.1), **faster**: PyTorch, cnn10, 1.25 times as fast (1.24 to 1.26)."
    ]


def test_a_noisy_day_makes_no_change():
    """The day of the upgrade was slow, and the one after it was not."""
    (change,) = changes(day(1), day(2), day(5, 1.12, NEW), day(6, 1.0, NEW))
    assert change.finding is not ChangeOutcome.SLOWER
    assert change.noise == pytest.approx(1.12)
    (change,) = changes(day(1, 1.0), day(2, 1.10), day(5, 1.15, NEW))
    assert change.outcome == "slower" and change.finding is ChangeOutcome.NOISE
    said = answer(day(1, 1.0), day(2, 1.10), day(5, 1.15, NEW))
    assert said[0].startswith("**No change made training slower or faster** beyond noise: 3 sessions")
    assert said[0].endswith("of 1 comparison before and after a change, 1 no more than noise.")


@pytest.mark.parametrize(("control", "finding"), [(0.01, ChangeOutcome.SLOWER), (0.1, ChangeOutcome.NOISE)])
def test_a_change_within_what_controls_show_is_none(control, finding):
    (change,) = changes(day(1, control=control), day(2, 1.08, NEW, control=control))
    assert change.noise == pytest.approx(1 + control, rel=0.02)
    assert change.finding is finding


def test_each_studys_control_counts_where_two_control_the_same_trial():
    sessions = [
        [run for study, apart in CONTROLS for run in day(on, seconds, version, control=apart, study=study)]
        for on, seconds, version in ((1, 1.0, OLD), (2, 1.08, NEW))
    ]
    found = [change for history in history_of(*sessions)[1] for change in history.changes]

    assert len(found) == 2 and all(change.noise > 1.09 for change in found)


def test_without_a_control_or_a_second_session_on_either_side_nothing_is_called_slower():
    (change,) = changes(day(1), day(2, 1.5, NEW))
    assert (change.outcome, change.noise, change.finding) == ("slower", None, ChangeOutcome.UNDECIDED)
    assert answer(day(1), day(2, 1.5, NEW))[0].startswith(
        "**Whether a change made training slower or faster is "
    )
    said = " ".join(change_certainty_sentences(history_of(day(1), day(2, 1.5, NEW))[1]))
    assert "What noise does is not known for 1 comparison, so that none is called slower or faster" in said


def test_an_upgrade_that_changes_nothing_is_the_same():
    (change,) = changes(day(1), day(2, 1.001, NEW))
    assert change.finding is ChangeOutcome.SAME and change.noise is None


def test_too_few_blocks_decide_nothing():
    (change,) = changes(day(1), day(2, 2.0, NEW)[:5])
    assert change.finding is ChangeOutcome.UNDECIDED
    assert size_text(change) == "2.00 times as long"
    assert answer(day(1), day(2, 2.0, NEW)[:5])[0].startswith(
        "**Whether a change made training slower or faster is undecided** beyond noise"
    )


def test_two_machines_are_never_compared():
    other = machine(cpu="Another CPU")
    ordered, trials = history_of(day(1), day(2, 3.0, NEW, machine=other))
    assert trials == []
    common = common_trials({session.label: session.runs for session in ordered})
    assert unrepeated_sentences(ordered, common, trials) == [
        "1 trial has no time in any of several sessions, or never in two of one machine."
    ]
    (said,) = change_blocks(ordered, trials)
    assert said.startswith("**No trial has a time in two sessions of one machine** (2 sessions")
    assert "Machine 1 (Test CPU, no GPU used): 1 session; Machine 2 (Another CPU, no GPU used): 1 " in said
    assert machine_sentences(ordered)[1] == (
        "Machine 2, from 2026-11-02 on: Another CPU, no GPU used, another one than before (CPU Test CPU → Another CPU)."
    )


def test_sessions_are_said_to_be_of_one_machine_only_where_its_gpus_tell():
    gpu = {"name": "NVIDIA A10G", "memory_bytes": 24 * 10**9}
    own = {"machine": machine(device="gpu", gpus=[{**gpu, "uuid": "1"}])}
    unknown = {"machine": machine(device="gpu", gpus=[gpu])}

    def said(about):
        ordered, trials = history_of(quiet_day(1, **about), quiet_day(2, 1.3, **about))
        return [*machine_sentences(ordered), *change_blocks(ordered, trials)]

    assert said(own)[0] == "All 2 sessions were measured on one machine: NVIDIA A10G."
    assert "the luck of a day, or something" in said(own)[1]
    assert said(unknown)[0] == (
        "All 2 sessions were measured on machines that are alike, whether or not they are one: NVIDIA A10G."
    )
    assert "the luck of a day, another machine that is alike, or something" in said(unknown)[1]
    ordered, _ = history_of(day(1), day(2), day(3, **own), day(4, **own))
    assert machine_sentences(ordered)[-1] == (
        "Sessions of machine 1 were measured on machines that are alike, whether or not they are one."
    )


def test_each_of_several_machines_has_its_own_history_and_its_name_in_each_sentence():
    other = {"machine": machine(cpu="Another CPU")}
    ordered, trials = history_of(
        quiet_day(1),
        quiet_day(2, **other),
        quiet_day(3, 1.2, NEW),
        quiet_day(4, 1.3, **other),
        failed_day(5, NEW, **other),
    )
    assert [(one.machine, len(one.changes), one.failing is None) for one in trials] == [
        (1, 0, False),
        (0, 1, True),
    ]
    failed, slower, alone = change_blocks(ordered, trials)
    assert failed.startswith("Machine 2 (Another CPU, no GPU used): since 2026-11-05 (PyTorch 2.14.0 → ")
    assert slower.startswith("Machine 1 (Test CPU, no GPU used): since 2026-11-03 (PyTorch 2.14.0 → ")
    assert alone.startswith("Machine 2 (Another CPU, no GPU used): on 2026-11-04, PyTorch, cnn10 was slower ")


def test_versions_that_are_not_known_are_no_upgrade():
    ordered, (history,) = history_of(day(1, torch=None), day(2, torch=None))
    assert history.changes == []
    assert change_blocks(ordered, [history]) == [
        "**Nothing that was recorded changed** on any machine between its sessions (2 sessions, 2026-11-01 to "
        "2026-11-02)."
    ]


def test_a_newest_session_that_is_slower_without_a_reason_is_called_so():
    ordered, trials = history_of(day(1), day(2), day(3, 1.3))
    said = change_blocks(ordered, trials)
    assert said[0].startswith("On 2026-11-03, PyTorch, cnn10 was slower than before, 1.30 times as long (")
    assert "**nothing that was recorded had changed**" in said[0]
    several = change_blocks(ordered, [*trials, *trials])[0]
    assert ", 2 trials were slower than before, most of all PyTorch, cnn10, 1.30 times as long (" in several


def test_with_six_sessions_on_both_sides_a_session_is_one_value():
    old = [day(n, 1 + n / 1000) for n in range(1, 7)]
    new = [day(n, 1.2 + n / 1000, NEW) for n in range(11, 17)]
    (change,) = changes(*old, *new)
    assert change.blocks == 6 and change.finding is ChangeOutcome.SLOWER
    assert change.noise is None and not change.lacks_noise, "what a day makes is in the interval"


def test_a_change_before_a_session_without_the_trial_counts_for_the_next_one():
    between = [
        make_run(
            1.0, batch_size=64, session="20261103T080000Z-abcd", versions={"torch": NEW}, dataset="digits"
        )
    ]
    governor = quiet_day(5, 1.5, NEW, machine=machine(governor="powersave"))
    ordered, (history,) = history_of(quiet_day(1, machine=machine(governor="performance")), between, governor)
    (change,) = history.changes
    assert change.finding is ChangeOutcome.SLOWER and change.session.label == "2026-11-05"
    assert letters_of(letters(ordered), change) == "A, B"


def test_a_trial_that_fails_since_an_upgrade_is_said_first_with_the_reason():
    sessions = quiet_day(1), quiet_day(2, 1.5, "2.14.1"), failed_day(4, NEW), failed_day(5, NEW)
    (failing, slower) = answer(*sessions)
    assert failing == (
        "Since 2026-11-04 (PyTorch 2.14.1 → 2.15.0), **failed**: PyTorch, cnn10: OOM, 2 GB were \\<asked\\> for."
    )
    assert slower.startswith("On 2026-11-02 (PyTorch 2.14.0 → 2.14.1), **slower**"), "until it failed"
    (history,) = history_of(*sessions)[1]
    assert [point.statuses for point in history.points] == [(), (), ("oom",), ("oom",)]
    assert answer(quiet_day(1), failed_day(2))[0].startswith(
        "Since 2026-11-02 (nothing that was recorded had changed), **failed**: PyTorch, cnn10: OOM"
    )
    assert "failed" not in "".join(answer(quiet_day(1), failed_day(2), quiet_day(3)))


def test_ways_to_fail_that_differ_are_told_with_a_reason_each():
    """Two that lacked different amounts of memory are one."""

    def fails(size, error):
        return failed_day(
            2, batch_size=size, failure=Failure(stage="train", error=error), reason=f"{error}, {size} GB"
        )

    sizes, errors = (8, 16, 32), ("MemoryError", "MemoryError", "RuntimeError")
    before = [run for size in sizes for run in day(1, batch_size=size)]
    said = answer(
        before, [run for size, error in zip(sizes, errors, strict=True) for run in fails(size, error)]
    )

    assert sorted(filter(None, (one.partition("OOM, ")[2] for one in said))) == [
        "MemoryError, 8 GB.",
        "RuntimeError, 32 GB.",
    ]
    assert "batch 8; PyTorch, cnn10, batch 16" in " ".join(said)


def test_the_largest_change_that_has_a_reason_comes_first():
    _, trials = history_of(upgraded_twice())
    assert [history.trial.trial.model for history in trials] == ["resnet50", "cnn10", "vgg16", "wrn28_10"]


def test_how_sure_it_is_tells_of_chance_noise_days_and_of_several_changes():
    sentences = change_certainty_sentences(history_of(upgraded_twice())[1])
    assert sentences[0].startswith("12 intervals at 95 % confidence")
    assert "on average 0.6 of so many miss" in sentences[0]
    assert sentences[2].startswith("1 change of 4 rests on a single session before or after")
    assert sentences[3].startswith("Of 2 changes, several things changed at once")
    assert change_certainty_sentences(history_of(day(1)[:2], day(2, 2.0, NEW)[:2])[1]) == [
        "Nothing is decided: no trial has 6 blocks before a change and as many after it."
    ]
