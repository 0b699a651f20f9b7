"""Which verdicts are gains that a plain script can have, and keep its accuracy."""

from dataclasses import replace

import pytest

from front_data import report_of, runs_of, verdicts_of
from study_data import MACHINE, make_run
from trainspeed.core.run import Role
from trainspeed.core.trial import ALL_CORES
from trainspeed.judge.verdict import Outcome
from trainspeed.search.untried import searched
from trainspeed.studies.summary.gains import switch_sentences
from trainspeed.studies.summary.glance import study_sentences
from trainspeed.studies.summary.worth import is_part, not_kept_words, slower_elsewhere, worthwhile

GPU = {"device": "gpu"}


def verdict(ratio=1.3, *, study="layout", **more):
    return replace(verdicts_of(runs_of(study, ratio))[0], **more)


def judged(one, outcome):
    return replace(one, judgement=replace(one.judgement, outcome=outcome))


def test_what_costs_accuracy_is_no_gain():
    faster = verdict(study="amp")
    worse = judged(replace(faster, quantity="accuracy"), Outcome.WORSE)
    other = replace(worse, study="layout")

    assert worthwhile([faster], [faster, worse], GPU) == []
    assert worthwhile([faster], [faster, other], GPU) == [faster]
    assert worthwhile([faster], [faster, judged(worse, Outcome.UNDECIDED)], GPU) == [faster]


@pytest.mark.parametrize(("framework", "gains"), [("torch", 1), ("tensorflow", 0), ("jax", 0)])
def test_the_layout_that_a_framework_has_by_itself_is_no_gain(framework, gains):
    found = verdicts_of(runs_of("layout", framework=framework))[0]
    assert len(worthwhile([found], [found], GPU)) == gains


@pytest.mark.parametrize(
    ("levers", "gains"),
    [
        ([("malloc_thresholds", "off")], 0),
        ([("python_gc", "off")], 1),
        ([("malloc_thresholds", "off"), ("python_gc", "off")], 1),
    ],
)
def test_what_trainspeed_alone_sets_is_no_gain_over_a_script_that_never_had_it(levers, gains):
    plain = verdict(factor="levers")
    baseline = replace(plain.baseline, levers=[("threads", "all")])
    candidate = replace(baseline, levers=[*baseline.levers, *levers])
    own = replace(plain, baseline=baseline, candidate=candidate)
    assert len(worthwhile([own], [own], GPU)) == gains


@pytest.mark.parametrize(("device", "gains"), [("cpu", 0), ("gpu", 1)])
def test_several_cores_are_no_gain_over_a_script_that_has_them_all(device, gains):
    devices = verdict(factor="devices")
    assert len(worthwhile([devices], [devices], {"device": device})) == gains


def test_what_is_undecided_by_itself_may_be_part_of_what_pays_together():
    alone = judged(verdict(), Outcome.UNDECIDED)
    whole = replace(alone, factor="recipe")
    other = replace(whole, candidate=replace(whole.baseline, precision="bf16"))
    elsewhere = replace(whole, candidate=replace(whole.candidate, model="wrn28_1"))

    assert is_part(alone, [other, whole])
    assert not is_part(alone, [other, elsewhere]), "another switch, another model"
    assert not is_part(judged(alone, Outcome.FASTER), [whole]), "that one pays by itself"


@pytest.mark.parametrize("outcome", [Outcome.FASTER, Outcome.UNDECIDED, Outcome.SLOWER, None])
def test_what_a_switch_does_beside_all_others_is_a_gain_only_where_all_together_are_one(outcome):
    """Without the whole, its baseline is no plain script: the others are on in it."""
    left_out = verdict(study="amp")
    whole = verdict(study="amp", factor="recipe")
    whole = judged(whole, outcome or Outcome.FASTER)
    hurt = [judged(replace(whole, quantity="accuracy"), Outcome.WORSE)] if outcome is None else []
    others_baseline = replace(left_out, baseline=replace(left_out.baseline, compile=True))

    found = worthwhile([others_baseline], [others_baseline, whole, *hurt], GPU)
    assert found == ([others_baseline] if outcome is Outcome.FASTER else [])


def test_what_a_search_tried_and_did_not_keep_says_so_wherever_it_is_called_faster():
    """A reader who pastes the code has it not."""
    gain = verdict()
    best = replace(verdict(2.0), study="switches", factor="recipe")
    plain = replace(best.baseline, levers=[ALL_CORES])
    kept = replace(best, baseline=plain, candidate=replace(plain, precision="bf16"))
    tried = [plain, kept.candidate, replace(plain, layout="channels_last")]
    runs = [make_run(study="switches", trial=t, label="feasible") for t in tried]
    said = "tried in switches on all cores and not kept"

    report = report_of(gain, kept, runs=runs)
    assert f"(1.30x; {said}), on 1 core." in study_sentences(report)[0]
    assert switch_sentences(report)[0].endswith(f"; {said}.")
    with_it = replace(kept, candidate=tried[-1])
    assert not_kept_words(gain, [with_it], searched(runs)) == "", "kept"
    assert not_kept_words(gain, [kept], searched(runs[:-1])) == "", "not tried"
    assert not_kept_words(replace(gain, baseline=tried[-1], candidate=plain), [kept], searched(runs)) == "", (
        "plain"
    )
    on_gpu = [replace(run, machine=MACHINE | {"device": "gpu"}) for run in runs]
    assert not_kept_words(gain, [kept], searched(on_gpu)) == "; tried in switches and not kept"
    open_ = "; tried in switches and not measured in fresh blocks there"
    assert not_kept_words(gain, [], searched(on_gpu)) == open_, "promising, for all that is known"
    fresh = [*on_gpu, replace(on_gpu[0], label=Role.RECIPE)]
    assert not_kept_words(gain, [], searched(fresh)) == "; tried in switches and not kept"


def test_the_code_to_paste_comes_with_what_was_slower_for_another_model():
    """A program switched bf16 on for any model, and the same report had it at 0.62x for mobilenet."""
    bf16 = verdict(0.62, study="amp")
    plain, best = bf16.baseline, replace(bf16.candidate, levers=(("optimizer", "fused"),))
    other = replace(bf16, baseline=replace(plain, model="mobilenet", image_size=32))
    other = replace(other, candidate=replace(bf16.candidate, model="mobilenet", image_size=32))

    assert slower_elsewhere([(plain, best)], [bf16]) == [], "of its own model the search knows more"
    (said,) = slower_elsewhere([(plain, best)], [bf16, other])
    assert "slower. bf16 vs" in said and "mobilenet" in said and "0.62" in said
    assert slower_elsewhere([(plain, replace(plain, compile=True))], [other]) == []
