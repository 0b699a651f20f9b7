"""What a reader asks first: a line each on the front page's first screen."""

from dataclasses import replace

import pytest

from front_data import (
    NOTHING,
    fact,
    report_of,
    runs_of,
    verdicts_of,
)
from study_data import MACHINE, control_runs, make_run
from trainspeed.core.notes import CoresBusy
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import ALL_CORES, AS_SET
from trainspeed.judge.comparison import controls
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary import cards
from trainspeed.studies.summary.collect import ReportNotebook
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.glance import fact_sentences, setting_sentences, study_sentences

GB = 10**9
ON_CPU = MACHINE | {"device": "cpu", "memory_bytes": 10 * GB, "gpus": [{"memory_bytes": GB}]}
GPUS = [{"name": "H200", "memory_bytes": 8 * GB}, {"name": "L4", "memory_bytes": 4 * GB}]
ON_GPU = MACHINE | {"device": "gpu", "memory_bytes": GB, "gpus": GPUS}


def verdict(ratio=1.3, *, study="layout", **more):
    return replace(verdicts_of(runs_of(study, ratio))[0], **more)


def test_a_study_with_one_verdict_says_where_and_how_much_and_leads_to_its_page():
    assert study_sentences(report_of(verdict(1.3))) == [
        "[channels\\_last vs channels\\_first](layout.html): **faster** for PyTorch, cnn10 (1.30x)."
    ]


def test_several_verdicts_are_named_and_other_comparisons_of_the_study_too():
    slow = verdict(0.5)
    slower = replace(
        slow,
        baseline=replace(slow.baseline, batch_size=7),
        candidate=replace(slow.candidate, batch_size=7),
    )
    other = verdict(1.2, study="amp")
    several = [verdict(1.3), slower, replace(other, study="layout")]

    (said,) = study_sentences(report_of(*several))

    first = "batch 32, default precision **1.30x**, batch 7, default precision **slower** (0.501x)"
    ends = f"{first}; bf16: **faster** for channels\\_first, batch 32 (1.20x)."
    assert said.endswith(f"(layout.html): {ends}")


def test_one_setting_against_two_others_is_told_with_what_it_is_against():
    """bf16 over the default, and over strict fp32, which comes last."""
    over_fp32 = replace(verdict(3.1, study="amp"), study="layout")
    default = replace(over_fp32.baseline, precision="default")
    over_default = replace(verdict(1.2, study="amp"), study="layout", baseline=default)

    (said,) = study_sentences(report_of(over_fp32, over_default))

    assert said.startswith("[bf16 vs default precision](layout.html): ") and "; bf16 vs fp32: " in said


def test_frameworks_tell_verdicts_apart_and_the_rest_is_counted():
    start = verdict().baseline
    names = [
        (1.5, "torch", "cnn10"),
        (1.3, "tensorflow", "cnn10"),
        (1.2, "jax", "cnn10"),
        (0.5, "torch", "wrn28_1"),
    ]
    several = [verdict(size, baseline=replace(start, framework=f, model=m)) for size, f, m in names]

    (said,) = study_sentences(report_of(*several[:2]))
    assert said.endswith("(layout.html): PyTorch **1.50x**, TensorFlow **1.30x**.")
    (said,) = study_sentences(report_of(*several))
    first = ": PyTorch cnn10 **1.50x**, PyTorch wrn28\\_1 **slower** (0.501x), "
    assert said.endswith(f"{first}TensorFlow cnn10 **1.30x**, JAX cnn10 **1.20x**."), "not gains alone first"
    more = verdict(1.1, baseline=replace(start, framework="jax", model="wrn28_1"))
    (said,) = study_sentences(report_of(*several, more))
    assert said.endswith(f"{first}3 more in [layout](layout.html).")


def test_single_convolutions_come_last_and_name_the_fastest_alone():
    first, last = study_sentences(report_of(*verdicts_of(runs_of("conv2d", 4.0)), verdict(1.3)))

    assert "channels" in first
    assert last == (
        "Single convolutions ([conv2d](conv2d.html)): fastest with 1 channel **PyTorch**, 4.0x as fast as TensorFlow "
        "(graph)."
    )


def test_a_gain_that_fresh_blocks_refuted_is_none():
    lost = verdict(1.5)
    (said,) = study_sentences(report_of(lost), [Confirmed(first=lost, again=verdict(0.8))])
    assert "**undecided** for" in said


def test_a_gain_that_fresh_blocks_neither_confirmed_nor_refuted_says_so():
    first, again = verdict(1.5), verdict(1.0)
    open_ = replace(again, judgement=replace(again.judgement, outcome=Outcome.UNDECIDED, low=0.9, high=1.2))
    (said,) = study_sentences(report_of(first), [Confirmed(first=first, again=open_)])
    not_shown = "(1.00x; undecided in fresh blocks, 0.90 to 1.20; faster at first, 1.50x)"
    assert "**undecided** for" in said and not_shown in said


@pytest.mark.parametrize(
    ("factor", "levers", "said"),
    [
        ("layout", (), "(1.30x), on 1 core."),
        ("layout", (ALL_CORES,), "(1.30x), on all cores."),
        ("layout", (AS_SET,), "(1.30x), on as many threads as the environment sets."),
        ("devices", (), "(1.30x): 2 cores against 1, not against a plain script."),
    ],
)
def test_a_line_says_on_how_many_cores_that_is_and_nothing_of_a_gpu(factor, levers, said):
    sides = {side: replace(getattr(verdict(), side), levers=levers) for side in ("baseline", "candidate")}
    if factor == "devices":
        sides["candidate"] = replace(sides["candidate"], devices=2, strategy="ddp")
    (line,) = study_sentences(report_of(verdict(factor=factor, **sides), runs=[make_run(machine=ON_CPU)]))
    assert line.endswith(said)
    (line,) = study_sentences(report_of(verdict(), runs=[make_run(machine=ON_GPU)]))
    assert line.endswith("(1.30x).")


def test_the_length_of_the_epochs_is_that_of_what_is_told():
    longer = verdict(1.1, candidate=replace(verdict().candidate, images_per_epoch=3200))
    told = "128 to 3,200 images (4 to 100 steps) where there is an interval; "
    told += "epochs of more images were not measured."
    assert fact("Epochs", make_run(images_per_epoch=64), verdicts=[verdict(), longer]) == told
    told = "only 128 images (4 steps) where there is an interval; epochs of more images were not measured."
    assert fact("Epochs", verdicts=[verdict()]) == told
    told = "only 128 images (4 steps) where there is an interval."
    assert fact("Epochs", make_run(images_per_epoch=3200), verdicts=[verdict()]) == told
    facts = setting_sentences(report_of(*verdicts_of(runs_of("conv2d"))), NOTHING, MACHINE)
    assert not [said for said in facts if "Epochs" in said]


def test_what_fresh_blocks_did_not_confirm_is_counted_as_in_the_list_of_verdicts_and_told():
    several = verdicts_of(runs_of("conv2d", 4.0))
    shown = [v for v in several if v.outcome is Outcome.FASTER and v.row.choice]
    open_ = replace(shown[0], judgement=replace(shown[0].judgement, outcome=Outcome.UNDECIDED))
    (said,) = study_sentences(report_of(*several), [Confirmed(first=shown[0], again=open_)])
    others = [f"{len(shown) - 1} **faster**"] * (len(shown) > 1)
    assert ", ".join([*others, "1 **undecided** (1 not confirmed)"]) in said


def test_a_search_that_has_no_verdict_yet_is_among_the_studies():
    searching = [make_run(study="switches", label=Role.SLOW_WAY, status=Status.TIMEOUT)]
    pages = [ReportNotebook(name="switches", title="", status="ok", page="switches.html")]
    (said,) = study_sentences(report_of(runs=searching, notebooks=tuple(pages)))
    assert said.endswith("Nothing is decided yet.")


def test_a_study_of_which_this_machine_has_nothing_says_so_on_its_line_and_card(monkeypatch):
    """That a CPU has no 16-bit arithmetic stood nowhere on the first screen of its reader."""
    plain = make_run(study="amp")
    reason = "this CPU has no bf16 arithmetic"
    bf16 = make_run(study="amp", precision="bf16", status=Status.UNSUPPORTED, reason=f"{reason} (a flag)")
    pages = (ReportNotebook(name="amp", title="What do 16 bits buy?", status="ok", page="amp.html"),)
    report = report_of(runs=(plain, bf16), notebooks=pages)

    (said,) = study_sentences(report)
    assert said.endswith(f"Not to be had here: {reason}.")
    shown = []
    monkeypatch.setattr(cards, "display", lambda one: shown.append(one.data))
    cards.show_cards(report)
    assert f"<p>Not to be had here: {reason}.</p>" in shown[0]
    assert study_sentences(report_of(runs=(plain,), notebooks=pages)) == []


def test_a_study_without_an_interval_decided_nothing():
    open_ = verdict(judgement=replace(verdict().judgement, low=None, high=None, outcome=Outcome.UNDECIDED))
    (said,) = study_sentences(report_of(open_))
    assert said.endswith("Nothing is decided yet.")


def test_the_time_is_that_of_all_notebooks_and_of_the_confirmations_with_the_days():
    ran = tuple(ReportNotebook(name=name, title="", status="ok", seconds=100.0) for name in ("layout", "amp"))
    runs = [make_run(started_at=f"2026-11-{day}T10:00:00+00:00") for day in (20, 21, 22)]
    own = make_run(stages_s={"start": 5.0, "train": 35.0}, started_at="2026-11-22T11:00:00+00:00")

    assert fact("Time", *runs, own=[own], notebooks=ran) == "[4 min 00 s](#notebooks) of measuring."
    assert fact("Measured", *runs, own=[own]) == "2026-11-20 to 2026-11-22."
    assert fact("Time", runs[0], notebooks=ran) == "[3 min 20 s](#notebooks) of measuring."
    assert fact("Measured", runs[0]) == "2026-11-20."
    limited = replace(report_of(runs=[make_run()]), budget_s=900.0)
    assert setting_sentences(limited, NOTHING, MACHINE)[-1] == "**Measured**: with a limit of 15 min 00 s."
    assert fact("Time", make_run()) == "[not known](#notebooks)."


def test_what_to_paste_what_was_not_measured_and_how_sure_lead_to_their_sections():
    best = verdict(2.0)
    held = [Confirmed(first=best, again=verdict(2.0))]

    assert fact("To paste", verdicts=[best], confirmed=held) == "[the lines of the headline](#code-to-paste)."
    assert fact("To paste", verdicts=[best]) == "nothing ([why](#code-to-paste))."
    told = fact_sentences(report_of(best, verdict(1.5, factor="recipe")), NOTHING)
    assert not [said for said in told if "To paste" in said], "the headline leads to the lines"
    never = "(#doubts); no gain was measured [again](#measured-again-in-fresh-blocks)"
    assert never in fact("How sure", verdicts=[best]) and "gain" not in fact("How sure")
    own = [make_run(study="summary")]
    some = [*held, Confirmed(first=best, again=None, reason="there was no time")]
    assert "; the largest gain was measured [again](#" in fact("How sure", own=own, confirmed=held)
    assert "; 1 of the 2 largest gains was measured [again](#" in fact("How sure", own=own, confirmed=some)
    whole = [best, replace(verdict(1.5), study="switches", factor="recipe")]
    told = fact("How sure", own=own, confirmed=some, verdicts=whole)
    assert "again" not in told, "the headline is of fresh blocks"
    slower = [Confirmed(first=verdict(0.8), again=verdict(0.8))]
    said = fact("How sure", own=own, confirmed=slower)
    assert "; no gain was, but what is undecided or slower was measured [again](#" in said


def test_how_sure_is_told_by_blocks_noise_and_what_else_was_running():
    """A number of doubts alone says nothing of how much a gain may be off."""
    best = replace(verdict(2.0), study="layout")
    twice = controls(control_runs([1.0, 1.0, 0.96, 0.96, 0.96, 0.96, 0.9]))
    runs = [make_run(notes=(CoresBusy(cores=0.5),)), make_run(), make_run(study="amp")]
    runs += [make_run(block=1, status=Status.TIMEOUT)]  # of which nobody knows what else was running

    said = fact("How sure", *runs, verdicts=[best, *twice])
    assert said.startswith("6 blocks of fresh processes in [layout](layout.html); ")
    assert (
        "; noise, one setting against itself in 7 blocks: 0.90 to 1.00; " in said
        and "; other processes were busy during 1 of its 2 runs; " in said
    )


def test_the_noise_has_as_many_blocks_as_the_headline_where_none_are_told():
    runs = control_runs([1.3, 1.0, 0.96, 0.96, 0.96, 0.96, 0.96, 0.96, 1.1])
    best = replace(verdict(2.0), study="layout")
    said = fact("How sure", *runs, verdicts=[best, *controls(runs)])
    assert "; noise, one setting against itself in 9 blocks: 0.96 to 1.10; " in said
    own = replace(best, judgement=replace(best.judgement, blocks=9))
    said = fact("How sure", *runs, verdicts=[own, *controls(runs)])
    assert said.startswith("9 blocks of") and "; noise, one setting against itself: 0.96 to 1.10; " in said


def test_each_of_several_searches_is_told_with_the_noise_of_its_own_control():
    whole = verdict(1.5, factor="recipe")
    (twice,) = controls(control_runs([1.0, 1.0, 0.96, 0.96, 0.96, 0.96, 0.9]))
    (wide,) = controls(control_runs([0.5, 0.5, 0.96, 0.96, 0.96, 2.0, 2.0]))

    def of_tensorflow(one):
        sides = ("baseline", "candidate")
        return replace(one, **{s: replace(getattr(one, s), framework="tensorflow") for s in sides})

    several = [whole, of_tensorflow(whole), twice, of_tensorflow(wide)]
    said = fact("How sure", verdicts=several)
    assert "itself in 7 blocks: PyTorch 0.90 to 1.00, TensorFlow 0.50 to 2.00; " in said
    (more,) = controls(control_runs([0.5, 0.5, 0.96, 0.96, 0.96, 0.96, 0.96, 2.0, 2.0]))
    said = fact("How sure", verdicts=[*several[:3], of_tensorflow(more)])
    assert "itself: PyTorch 0.90 to 1.00 (7 blocks), TensorFlow 0.50 to 2.00 (9 blocks); " in said
    nine = replace(of_tensorflow(whole), judgement=replace(whole.judgement, blocks=9))
    seven = replace(whole, judgement=replace(whole.judgement, blocks=7))
    said = fact("How sure", verdicts=[seven, nine, twice, of_tensorflow(more)])
    assert "itself: PyTorch 0.90 to 1.00, TensorFlow 0.50 to 2.00; " in said, "as many as each gain's own"
    said = fact("How sure", verdicts=[whole, of_tensorflow(wide)])
    assert "itself in 7 blocks: TensorFlow cnn10 0.50 to 2.00; " in said, "another one's"


def test_what_the_headline_tells_of_a_search_is_no_line_of_its_own_below_it():
    whole = replace(verdict(1.5), study="layout", factor="recipe")
    other = verdict(1.2, study="conv2d")

    assert study_sentences(report_of(whole)) == []
    (line,) = study_sentences(report_of(whole, other))
    assert line.startswith("Single convolutions")


def test_a_doubt_about_the_study_that_found_the_headline_is_about_it_though_fresh_blocks_confirm_it():
    best = replace(verdict(2.0), study="layout")
    held = [Confirmed(first=best, again=replace(best, study="summary"))]
    busy = [make_run(study=study, notes=(CoresBusy(cores=0.5),)) for study in ("layout", "amp")]

    own = fact("How sure", busy[0], verdicts=[best], confirmed=held)
    assert "; [2 reasons to doubt the headline](#doubts)" in own, "its runs, and no control"
    both = fact("How sure", *busy, verdicts=[best], confirmed=held)
    assert "; [2 of 4 doubts are about the headline](" in both, both
    other = fact("How sure", busy[1], verdicts=[best], confirmed=held)
    assert "; [no reason to doubt the headline, " in other, other
    again = make_run(study="summary", notes=(CoresBusy(cores=0.5),))
    open_ = [Confirmed(first=best, again=replace(verdict(1.0), study="summary"))]
    fresh = fact("How sure", own=[again], verdicts=[best], confirmed=open_)
    assert "; [1 reason to doubt this page](#doubts)" in fresh, (
        "what fresh blocks did not confirm is the headline's"
    )
