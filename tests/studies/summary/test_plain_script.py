"""What the front page says of several cores beside a plain script, whose runs are in another study."""

from dataclasses import replace

import pytest

from front_data import report_of
from scaling_data import make_verdict
from study_data import MACHINE, make_run
from trainspeed.core.trial import ALL_CORES
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.cards import remarked
from trainspeed.studies.summary.gains import slower_sentences
from trainspeed.studies.summary.glance import study_sentences
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.plain_script import plain_script

CORES = MACHINE | {"cores": {"logical": 2}}
VERDICT = replace(make_verdict(1.25, batch_size=16, layout="channels_last"), study="multi_gpu")
DDP = VERDICT.candidate
PLAIN = replace(VERDICT.baseline, levers=(ALL_CORES,), layout="channels_first", epochs=9)
BRIEF = "a plain script on 2 cores is faster: 0.150 s an epoch against 0.200 s by medians"
FASTER = (
    "a plain script on 2 cores (switches, channels_first) is faster: 0.150 s an epoch (1 run) against 0.200 s"
)
PAGE = ReportNotebook(name="multi_gpu", title="", status="ok", page="multi_gpu.html")


def runs(trial, *seconds, study="switches", label="feasible"):
    return [make_run(s, trial=trial, study=study, label=label, machine=CORES) for s in seconds]


def found(*more, verdict=VERDICT, machine=CORES):
    own = runs(DDP, 0.1, 0.2, 0.3, study="multi_gpu", label="")
    return plain_script(verdict, machine, [*own, *runs(PLAIN, 0.1, 0.15, 0.16), *more])


def test_a_plain_script_that_another_study_measured_is_told_with_both_medians_wherever_the_gain_is():
    several = [*runs(DDP, 0.2, study="multi_gpu", label=""), *runs(PLAIN, 0.15)]
    report = report_of(VERDICT, runs=several, notebooks=(PAGE,))

    (line,) = study_sentences(report)
    assert line.endswith(f": 2 cores against 1; {BRIEF}.")
    (loss,) = slower_sentences(report)
    assert loss.startswith("2 devices (ddp)") and "**" not in loss, "no size that looks like a gain"
    assert loss.endswith(f") over one core; by medians, not paired, {FASTER}.".replace("s_f", "s\\_f"))
    assert "**no gain over a plain script** for PyTorch" in line and "faster**" not in line
    (remark,) = remarked([VERDICT], report, {}).values()
    assert remark == f"; over one core; by medians, not paired, {FASTER}"
    unmeasured = report_of(VERDICT, runs=several[:1], notebooks=(PAGE,))
    assert slower_sentences(unmeasured)[0].endswith(
        ") over one core; a plain script uses all of them, which was not compared."
    )


def test_of_a_search_the_plain_script_of_fresh_blocks_counts():
    """As on the page of `switches`: the median over all of its sets was another number for the same thing."""
    assert found().plain_s == 0.15
    fresh = found(*runs(PLAIN, 0.17, 0.18, 0.18, label="recipe"))
    assert (fresh.plain_s, fresh.plain_runs) == (0.18, 3)


def test_of_several_comparisons_it_is_counted_in_how_many_a_plain_script_is_faster():
    other = replace(
        VERDICT, **{s: replace(getattr(VERDICT, s), image_size=16) for s in ("baseline", "candidate")}
    )
    several = [*runs(DDP, 0.2, study="multi_gpu", label=""), *runs(PLAIN, 0.15)]
    several += [*runs(other.candidate, 0.1, study="multi_gpu", label="")]
    several += runs(replace(PLAIN, image_size=16), 0.15)

    (line,) = study_sentences(report_of(VERDICT, other, runs=several, notebooks=(PAGE,)))
    assert line.endswith("; by medians, not paired, a plain script on all cores is faster than 1 of 2.")


def test_the_same_layout_is_preferred_unless_another_one_alone_has_enough_runs():
    same = replace(PLAIN, layout="channels_last")

    assert (found().layout, found(*runs(same, 0.3)).layout) == ("channels_first", None)
    assert found(*runs(same, 0.3), *runs(PLAIN, *[0.1] * 3)).layout == "channels_first"


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [({"plain_s": 0.2}, Outcome.SAME), ({"plain_s": 0.3}, Outcome.SLOWER), ({}, Outcome.FASTER)],
)
def test_the_medians_may_also_say_otherwise(changed, outcome):
    told = replace(found(), **changed)
    assert told.outcome is outcome and ("takes about as long" in told.words) == (outcome is Outcome.SAME)


def test_what_is_no_plain_script_on_all_of_the_same_cores_tells_nothing():
    own = runs(DDP, 0.2, study="multi_gpu", label="")
    others = [
        {"precision": "bf16"},
        {"batch_size": 8},
        {"model": "wrn28_1"},
        {"image_size": 16},
        {"levers": ()},
    ]
    others = [run for changed in others for run in runs(replace(PLAIN, **changed), 0.1)]

    assert plain_script(VERDICT, CORES, [*own, *others]) is None
    assert plain_script(VERDICT, CORES, runs(PLAIN, 0.1)) is None, "no run of the devices"
    assert found(machine=CORES | {"cores": {"logical": 4}}) is None
    assert found(machine=CORES | {"device": "gpu"}) is None
