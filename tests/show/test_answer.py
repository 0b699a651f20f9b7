"""The answer of a study, and how sure it is, in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from study_data import control_runs, layout_pair, make_pair, make_run
from trainspeed.core.coverage import Choice, Coverage, GroupCoverage
from trainspeed.core.runs import Measured, RunSet
from trainspeed.judge.answer import answers, where_measured
from trainspeed.judge.comparison import compare, controls
from trainspeed.judge.next_step import NextStep
from trainspeed.judge.verdict import Outcome
from trainspeed.show.answer import answer_text, certainty_sentences, first_looks
from trainspeed.show.next_steps import step_sentences

SESSION = "20261120T100000Z-abcd"


def judged(runs):
    return compare(RunSet(tuple(runs)), "layout", "channels_first", "channels_last", question="?")


def over_fp32(precision, runs):
    return compare(RunSet(tuple(runs)), "precision", "fp32", precision, question="?")


def measured(runs, **more):
    return Measured(tuple(runs), "layout", SESSION, out=Path(), folder=Path(), **more)


def several():
    return [
        *layout_pair([1.3] * 6),
        *layout_pair([1.5] * 6, model="wrn28_1"),
        *layout_pair([0.8] * 6, framework="tensorflow"),
        *layout_pair([1.3], batch_size=64),
    ]


def test_the_answer_names_each_setting_by_what_tells_it_from_the_others():
    """A comparison of one block has no interval, and answers nothing."""
    (answer,) = answers(judged(several()))

    assert answer_text(answer) == (
        r"channels\_last vs channels\_first: **faster** for PyTorch, wrn28\_1 (1.50x, 1.50 to 1.50) and PyTorch, "
        "cnn10 (1.30x, 1.30 to 1.30); **slower** for TensorFlow, cnn10 (0.80x, 0.80 to 0.80)."
    )


def test_what_is_over_strict_fp32_comes_after_what_is_over_the_default():
    """On a GPU the default has TF32: 3.1 times strict fp32 may be 1.1 times what a script trains at."""
    arms = [("default", 1.1), ("fp32", 3.1), ("bf16", 1.0)]
    runs = [make_run(s, block=block, precision=name) for block in range(6) for name, s in arms]
    over_default = [
        verdict
        for name in ("fp32", "bf16")
        for verdict in compare(RunSet(tuple(runs)), "precision", "default", name, question="?")
    ]

    told = answers([*over_fp32("bf16", runs), *over_default])

    assert [answer.versus for answer in told] == [
        "bf16 vs default precision",
        "bf16 vs fp32",
        "fp32 vs default precision",
    ]


@pytest.mark.parametrize(("on_cores", "ratio", "said"), [(True, 1.3, 1), (True, 0.8, 0), (False, 1.3, 0)])
def test_what_several_cores_gain_is_said_to_be_over_one(on_cores, ratio, said):
    (verdict,) = judged(layout_pair([ratio] * 6))
    (answer,) = answers([replace(verdict, factor="devices")])

    text = answer_text(answer, on_cores=on_cores)
    assert text.count(". That is over one core; a plain script uses all of them.") == said


def test_what_is_undecided_says_what_its_interval_rules_out():
    """From 1.01 to 1.05 it is no loss to switch it on, although it may be a gain of less than the margin."""
    up = [1.01, 1.02, 1.03, 1.03, 1.04, 1.05]
    runs = [*layout_pair(up), *layout_pair([1 / ratio for ratio in up], model="wrn28_1")]
    (answer,) = answers(judged(runs))

    assert answer_text(answer) == (
        r"channels\_last vs channels\_first: **undecided** for cnn10 (1.03x, 1.01 to 1.05, so not slower) and "
        r"wrn28\_1 (0.97x, 0.95 to 0.99, so not faster)."
    )


def test_first_looks_are_told_framework_by_framework_beside_an_answer_too():
    looks = [
        *layout_pair([1.1], framework="tensorflow"),
        *layout_pair([1.2], framework="tensorflow", batch_size=64),
    ]
    verdicts = judged([*layout_pair([1.3] * 6), *layout_pair([1.4], batch_size=64), *looks])

    assert first_looks(verdicts) == [
        r"PyTorch: a first look in fewer than 6 blocks, which decides nothing: channels\_last vs channels\_first "
        "(batch 64) 1.40x.",
        r"TensorFlow: **undecided**, as no comparison has 6 blocks; a first look: channels\_last vs channels\_first "
        "1.10x to 1.20x.",
    ]
    (one,) = first_looks(judged(several()))
    assert one.endswith(r"channels\_first (batch 64) 1.30x.")
    assert first_looks(controls(RunSet(tuple(control_runs([1.0]))))) == []
    (one,) = first_looks(judged(looks[:2]))
    assert one.endswith(r"a first look: channels\_last vs channels\_first 1.10x.")


def test_first_looks_at_several_things_are_not_thrown_together():
    """What is far slower in fp16 is no first look at bf16."""
    precisions = [
        ("fp16", make_pair("precision", ("fp32", "fp16"), [0.03])),
        ("bf16", make_pair("precision", ("fp32", "bf16"), [1.5] * 6)),
        ("bf16", make_pair("precision", ("fp32", "bf16"), [0.88], model="wrn28_1")),
        ("bf16", make_pair("precision", ("fp32", "bf16"), [0.9], model="wrn28_1", batch_size=64)),
    ]

    assert first_looks([verdict for one in precisions for verdict in over_fp32(*one)]) == [
        r"PyTorch: a first look in fewer than 6 blocks, which decides nothing: fp16 vs fp32 0.03x; bf16 vs fp32 "
        r"(wrn28\_1 or batch 64) 0.88x to 0.90x."
    ]


def test_a_line_of_first_looks_stays_a_line():
    """Settings that differ in many words are only called others, and of many comparisons three are named."""
    sizes = [run for size in (1, 2, 4) for run in layout_pair([1.1], batch_size=size)]
    (one,) = first_looks(judged([*layout_pair([1.3] * 6), *sizes]))
    assert one.endswith(r"channels\_first in other settings 1.10x.")
    pairs = [(to, make_pair("precision", ("fp32", to), [1.1])) for to in ("default", "tf32", "fp16", "bf16")]
    (one,) = first_looks([verdict for pair in pairs for verdict in over_fp32(*pair)])
    assert one.count("1.10x") == 3 and one.endswith("; 1 more.")


def test_one_setting_alone_is_named_by_framework_and_model():
    (answer,) = answers(judged(layout_pair([1.3] * 6)))

    assert [name for name, _ in answer.settings[Outcome.FASTER]] == ["PyTorch, cnn10"]


def test_the_fifth_setting_is_only_counted():
    runs = [run for size in (1, 2, 4, 8, 16, 32) for run in layout_pair([1.3] * 6, batch_size=size)]
    (answer,) = answers(judged(runs))

    assert answer_text(answer).endswith(" and 2 more.")


def test_what_holds_for_many_intervals_is_not_said_of_one():
    runs = layout_pair([1.3] * 6)
    (said,) = [s for s in certainty_sentences(measured(runs), judged(runs), []) if "interval" in s]
    assert said.startswith("It is a 95 % interval over 6 blocks of fresh processes. Comparisons in all: 1.")


@pytest.mark.parametrize("by_hand", [True, False])
def test_fresh_blocks_are_told_on_a_front_page_and_by_hand_there_is_none(by_hand):
    runs = layout_pair([1.3] * 6)
    said = " ".join(certainty_sentences(measured(runs, by_hand=by_hand), judged(runs), []))
    assert ("index.html" in said) is not by_hand
    assert ("Nothing was measured again in fresh blocks." in said) is by_hand


def test_certainty_tells_where_blocks_noise_and_doubts():
    runs = [*several(), *control_runs([1.03] * 6)]
    sentences = certainty_sentences(measured(runs), judged(runs), controls(runs))

    where, intervals, noise, doubts = sentences
    assert where == (
        "Measured on: Test CPU (1 core), PyTorch 2.15.0, TensorFlow 2.21.0, batch 32, 16 px, default precision, "
        "not compiled."
    )
    assert "over 6 blocks" in intervals
    assert "of 3 such intervals, at most 0.15 are expected to miss the truth." in intervals
    assert "1.03x (1.03 to 1.03)" in noise
    assert doubts == "1 reason to distrust this: see the [doubts](#doubts)."


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (15, "`make report NOTEBOOKS=layout BUDGET="),
        (6, "`make report NOTEBOOKS=layout BUDGET="),
        (6, "m PARAMS='layout: {blocks: 12}'`."),
    ],
)
def test_undecided_comes_with_what_would_decide_it(most, said):
    runs = layout_pair([1.0, 1.08, 1.10, 1.10, 1.12, 1.2])
    trials = tuple(run.trial.as_dict() for run in runs[:2])
    group = GroupCoverage(part="core", core=True, trials=trials, blocks=6, most=most)
    coverage = Coverage(session=SESSION, study="layout", budget_s=60, spent_s=60, groups=(group,))
    *_, step = certainty_sentences(measured(runs, coverage=coverage), judged(runs), [])

    assert step.startswith(
        "Undecided: channels_last vs channels_first, PyTorch, cnn10, batch 32. 12 blocks in all, about "
    )
    assert said in step


def test_the_command_of_a_report_without_a_limit_repeats_what_it_was_asked_for():
    """As with the presets smoke and article, and with `budget: null`: it was that of `quick` on this machine."""
    runs = layout_pair([1.0, 1.08, 1.10, 1.10, 1.12, 1.2])
    choice = Choice(preset="article", parameters={"image_size": 64}, by_fleet=True)
    *_, step = certainty_sentences(measured(runs, choice=choice), judged(runs), [])

    assert "`make fleet FLEET=fleet.yaml PRESET=article NOTEBOOKS=layout BUDGET=" in step
    assert step.endswith("PARAMS='layout: {image_size: 64, blocks: 12}'`.")


def test_what_was_compared_across_nodes_is_decided_by_a_fleet():
    """`make report` has one node: its multi_gpu would have measured nothing of what is open."""
    pair = layout_pair([1.0, 1.08, 1.10, 1.10, 1.12, 1.2])
    spread = judged(pair)[0]
    spread = replace(spread, candidate=replace(spread.candidate, strategy="ddp", devices=4, nodes=2))
    *_, step = certainty_sentences(measured(pair), [spread], [])

    assert (
        ": `make fleet FLEET=fleet.yaml NODES=2 NOTEBOOKS=layout BUDGET=" in step
        and "PARAMS='layout: {" in step
    )


def test_the_answer_of_a_search_holds_where_its_framework_ran():
    """What it compares, all that was kept, is no trial that ran under this name."""
    runs = layout_pair([1.3] * 6)
    verdicts = [replace(v, baseline=replace(v.baseline, model="wrn28_1")) for v in judged(runs)]
    verdicts = [replace(v, candidate=replace(v.candidate, model="wrn28_1")) for v in verdicts]

    assert where_measured(verdicts, RunSet(tuple(runs))) == ["Test CPU (1 core)", "PyTorch 2.15.0"]


def test_a_machine_of_which_both_sides_have_a_part_is_named_once():
    """ "AMD EPYC (2 cores), AMD EPYC (1 core)" read as two machines."""
    one = make_run(1.0, framework="jax")
    both = make_run(1.0, framework="jax", devices=2, strategy="data_parallel")
    (verdict,) = judged(layout_pair([1.3] * 6))
    told = replace(verdict, baseline=one.trial.spec, candidate=both.trial.spec)
    assert where_measured([told], RunSet((one, both)))[0] == "Test CPU (2 cores or 1 core)"


def test_without_an_interval_the_next_step_is_six_blocks():
    runs = layout_pair([1.3] * 2)
    *_, step = certainty_sentences(measured(runs), judged(runs), [])

    assert step.startswith(
        "Undecided: channels_last vs channels_first, PyTorch, cnn10, batch 32. 6 blocks in all, about "
    )


def test_what_a_search_brings_is_not_said_to_be_measured_once_more():
    verdicts = judged(layout_pair([1.3] * 6))
    told = [
        " ".join(certainty_sentences(measured(layout_pair([1.3] * 6)), several, []))
        for several in (verdicts, [replace(v, factor="recipe") for v in verdicts])
    ]

    assert [
        "What was measured again in fresh blocks is on the [front page](index.html#" in text for text in told
    ] == [
        True,
        False,
    ]
    assert "The total was measured in blocks that were not used to choose the switches." in told[1]


def test_the_noise_of_a_control_names_its_model_as_text():
    """What is shown as a list of sentences is escaped there."""
    runs = control_runs([1.0] * 6)
    control = controls([replace(run, trial=replace(run.trial, model="cnn_keras")) for run in runs])
    (noise,) = (s for s in certainty_sentences(measured([]), [], control) if "noise alone" in s)

    assert "PyTorch, cnn_keras 1.00x (1.00 to 1.00)" in noise


SLOW, FAST = ("python_gc", "off"), ("optimizer", "fused")


@pytest.mark.parametrize(
    ("open_", "values"),
    [
        ([[SLOW]], "already_on: 12, levers: [python_gc]"),
        ([[SLOW], [FAST]], "confirm_blocks: 12, already_on: 12"),
        ([[SLOW, FAST]], "confirm_blocks: 12"),
    ],
)
def test_a_slow_way_has_more_blocks_by_a_parameter_of_its_own(open_, values):
    """Where nothing else is open, its lever is named: the list of the preset may be without it."""
    pair = layout_pair([1.0, 1.08, 1.10, 1.10, 1.12, 1.2])
    verdict = judged(pair)[0]
    several = (replace(verdict, candidate=replace(verdict.candidate, levers=levers)) for levers in open_)
    step = NextStep(open=tuple(several), near=(), blocks=12, more_s=60.0)

    assert f"PARAMS='switches: {{{values}}}'`" in step_sentences(step, "switches", 60.0, None)[0]
