"""What a page says of a recipe is computed from its search."""

import json
from dataclasses import replace

import pytest

from front_data import runs_of, verdicts_of
from recipe_world import FIELDS, ORDER, PLANTED, World, drive, search_of, start_of
from trainspeed.core.run import Role, Status
from trainspeed.judge.comparison import Verdict, as_json
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.recipe import Search, searches
from trainspeed.studies.summary.recipe_text import (
    chain_rows,
    plain_sentence,
    recipe_verdicts,
    step_rows,
    total_sentence,
    where,
)
from trainspeed.studies.summary.switches import Switch

EXACT = replace(PLANTED, noise=1e-9)


@pytest.fixture(scope="module")
def measured():
    """All six switches tried in an exact world: bf16, channels_last and two devices are kept."""
    return drive(search_of(*ORDER), EXACT)


# Sentences.


def test_the_plain_trial_and_what_is_tried_on_it():
    search = search_of("precision", "batch_size")
    other = Switch(factor="layout", fields=(("layout", "channels_last"),), alone=1.3, model="wrn28_1")
    search = replace(search, switches=(*search.switches, other))
    assert plain_sentence(search) == (
        "PyTorch, cnn10, channels_first, batch 16, 16 px, default precision, not compiled: to be switched on in "
        "this order: bf16 (1.50x alone), batch 64 (no verdict calls it faster), "
        "channels_last (1.30x alone with wrn28_1)."
    )


def test_without_a_switch_there_is_nothing_to_try():
    search = Search(start_of(), (), 6)
    assert "no study has found a faster setting for it" in plain_sentence(search)
    assert total_sentence(search) == "PyTorch, cnn10: nothing to switch on was found."


@pytest.mark.parametrize(("blocks", "compared"), [(6, True), (5, False)])
def test_where_nothing_was_compared_often_enough_it_is_not_said_that_nothing_was_found(blocks, compared):
    """Its core may have had no time at all."""
    verdicts = verdicts_of(runs_of("layout", 1.0, blocks=blocks))
    about = {"switches": ORDER, "try_also": (), "devices": 1, "blocks": 6, "margin_points": 0.5, **FIELDS}
    of_torch, of_tensorflow = searches(["torch", "tensorflow"], ["cnn10"], verdicts, **about)

    found = "nothing to switch on was found"
    unknown = (
        "nothing was compared in 6 blocks or more, which a verdict needs, so what to switch on is not known"
    )
    assert total_sentence(of_torch) == f"PyTorch, cnn10: {found if compared else unknown}."
    assert total_sentence(of_tensorflow) == f"TensorFlow, cnn10: {unknown}."
    assert plain_sentence(of_tensorflow).endswith(
        ": nothing was compared in 6 blocks or more, which a verdict needs."
    )


def test_the_total_with_its_interval_its_switches_and_its_accuracy(measured):
    assert total_sentence(measured.search) == (
        "PyTorch, cnn10, bf16 + channels_last + 2 devices (ddp): all together 3.00x "
        "(95 % interval 3.00 to 3.00): faster. 6 fresh blocks. "
        "Accuracy: +0.0 points in test accuracy (95 % interval +0.0 to +0.0): the same within the margin."
    )


def test_accuracy_of_a_model_that_learned_nothing_is_not_told():
    search = drive(search_of("layout"), replace(EXACT, accuracy=0.1)).search
    assert total_sentence(search).endswith("not compared: the models had not learned enough to tell.")


def test_what_was_tried_and_not_kept_says_why():
    search = drive(search_of("pipeline", "batch_size"), EXACT).search
    assert total_sentence(search) == (
        "PyTorch, cnn10: no switch was kept. Tried: in_model (not faster in combination), "
        "batch 64 (hurts accuracy, in fewer steps at the same learning rate)."
    )


def test_too_few_blocks_say_so():
    search = drive(search_of("layout", blocks=2), EXACT).search
    assert "channels_last (undecided in combination: measure more blocks)" in total_sentence(search)


def test_a_search_that_has_not_begun_or_was_stopped_says_so():
    assert total_sentence(search_of("layout")) == "PyTorch, cnn10: the recipe was not measured here."
    absent = drive(search_of("layout", "compile"), replace(EXACT, missing=("torch",))).search
    assert total_sentence(absent) == (
        "PyTorch, cnn10: the recipe was not measured here. It got as far as channels_last (not measured here)."
    )


def test_a_total_that_is_missing_or_failed_is_not_claimed(measured):
    search = replace(measured.search, runs=[r for r in measured.runs if r.label != Role.RECIPE])
    assert total_sentence(search).endswith(
        "2 devices (ddp), but not confirmed: the fresh blocks are missing."
    )
    out = replace(EXACT, fails=lambda p: Status.OOM if p.label == Role.RECIPE and p.trial.compile else None)
    failed = drive(search_of("compile"), out).search
    assert total_sentence(failed) == "PyTorch, cnn10: kept compiled, but not confirmed: oom: for a test."


# Rows.


def test_a_row_for_each_switch_that_was_tried(measured):
    rows = step_rows(measured.searches)
    assert list(rows["switch"]) == [
        "bf16",
        "channels_last",
        "compiled",
        "in_model",
        "batch 64",
        "2 devices (ddp)",
    ]
    assert list(rows["alone"]) == ["1.50x", "1.30x", "1.20x", "1.10x", "—", "1.80x"]
    assert rows["combined"][2] == "0.84x (0.84 to 0.84)"
    assert rows["accuracy"][4] == "-3.0 points (-3.0 to -3.0)"
    assert list(rows["decision"])[-2:] == [
        "hurts accuracy, in fewer steps at the same learning rate",
        "kept",
    ]
    assert set(rows["where"]) == {"PyTorch, cnn10"}


def test_a_row_says_why_a_switch_was_not_measured():
    search = drive(search_of("layout"), replace(EXACT, fails=lambda planned: Status.UNSUPPORTED)).search
    (row,) = step_rows([search]).to_dict("records")
    assert (row["combined"], row["accuracy"]) == ("—", "—")
    assert row["decision"] == "not measured here: unsupported: for a test"


def test_too_few_blocks_have_no_interval():
    search = drive(search_of("layout", blocks=2), EXACT).search
    assert step_rows([search])["combined"][0] == "1.30x"


def test_without_a_search_there_are_no_rows_but_columns():
    assert list(step_rows([]).columns)[:2] == ["where", "switch"]
    assert len(chain_rows([])) == len(chain_rows([search_of("layout")])) == 0
    assert list(chain_rows([]).columns) == ["where", "switch", "speedup", "low", "high"]


def test_the_chain_is_the_speed_up_after_each_switch(measured):
    rows = chain_rows(measured.searches)
    assert list(rows["switch"]) == ["bf16", "channels_last", "2 devices (ddp)"]
    assert list(rows["speedup"]) == pytest.approx([1.5, 1.5 * 1.3 * 1.1, 1.5 * 1.3 * 1.1 * 1.4])
    assert (rows["low"] <= rows["speedup"]).all() and (rows["speedup"] <= rows["high"]).all()


def without_stage(measured, number):
    """Return the search where this stage of the chain ran out of memory in the fresh blocks."""
    trial = measured.search.chain[number].spec
    gone = [r for r in measured.runs if r.label == Role.RECIPE and r.trial.spec == trial]
    failed = [replace(r, status=Status.OOM, epoch_s=(), reason="full") for r in gone[:1]]
    return replace(measured.search, runs=[*(r for r in measured.runs if r not in gone), *failed])


def test_a_stage_that_failed_shares_the_row_of_the_next(measured):
    """A bar must not name one switch and show the gain of two."""
    rows = chain_rows([without_stage(measured, 2)])
    assert list(rows["switch"]) == ["bf16", "channels_last + 2 devices (ddp)"]
    assert list(rows["speedup"]) == pytest.approx([1.5, 1.5 * 1.3 * 1.1 * 1.4])


def test_without_the_last_stage_there_is_no_waterfall(measured):
    """Its end would be called "all together"."""
    assert len(chain_rows([without_stage(measured, 3)])) == 0


# The verdict.


def test_the_whole_recipe_is_a_verdict_on_time_and_on_accuracy(measured):
    time, accuracy = recipe_verdicts(measured.searches, measured.runs)
    assert (time.quantity, accuracy.quantity) == ("time", "accuracy")
    assert (time.outcome, accuracy.outcome) == (Outcome.FASTER, Outcome.SAME)
    assert (time.study, time.session, time.factor) == ("summary", measured.runs[0].session, "recipe")
    assert (time.baseline, time.candidate) == (measured.search.chain[0], measured.search.chain[-1])
    assert time.label == "all switches together, PyTorch, cnn10"
    assert time.sentence.startswith("PyTorch, cnn10: all together 3.00x (95 % interval")


def test_the_verdicts_survive_their_file(measured):
    verdicts = recipe_verdicts(measured.searches, measured.runs)
    read = [Verdict.from_dict(element) for element in json.loads(json.dumps(as_json(verdicts)))]
    assert read == verdicts


def test_each_search_speaks_for_itself():
    both = [search_of("layout"), search_of("layout", start=start_of("torch", model="wrn28_1"))]
    worlds = drive(both, World(times={"layout": 1.5}))
    found = recipe_verdicts(worlds.searches, worlds.runs)
    assert [v.baseline.model for v in found] == ["cnn10", "cnn10", "wrn28_1", "wrn28_1"]
    assert [where(search) for search in worlds.searches] == ["PyTorch, cnn10", "PyTorch, wrn28_1"]


def test_nothing_kept_is_no_verdict(measured):
    assert recipe_verdicts([search_of("layout")], measured.runs) == []
    empty = drive(search_of("pipeline"), EXACT)
    assert recipe_verdicts(empty.searches, empty.runs) == []
