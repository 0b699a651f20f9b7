"""What the charts of switches say."""

from dataclasses import replace
from itertools import cycle

import pytest

from search_findings import LOOP, feasible, nothing_yet, whole, without_bf16
from study_data import make_run, make_trial
from trainspeed.judge.verdict import Outcome
from trainspeed.search.findings import Decision
from trainspeed.show.waterfall import QUESTION
from trainspeed.studies.switches.charts import DROPPED, EFFECTS_QUESTION, KEPT, UNDECIDED
from trainspeed.studies.switches.messages import best_waterfall_title, effects_title
from trainspeed.studies.switches.views import effect_rows, switch_verdicts

RECIPE = next(v for v in switch_verdicts([whole()], [make_run(study="switches")]) if v.factor == "recipe")


def of(outcome, framework="torch"):
    judgement = replace(RECIPE.judgement, outcome=outcome)
    return replace(RECIPE, judgement=judgement, baseline=make_trial(framework=framework))


def test_the_effects_say_how_many_switches_were_kept():
    other = whole(make_trial(model="cnn_keras", dataset="digits"))

    assert effects_title(effect_rows([whole()])) == "3 of 4 switches kept"
    assert effects_title(effect_rows([whole(), other])) == (
        "Switches kept: 3 of 4 in PyTorch, cnn10 and 3 of 4 in PyTorch, cnn_keras"
    )
    assert effects_title(effect_rows([nothing_yet()])) == EFFECTS_QUESTION


def test_where_a_lever_has_several_values_they_are_what_is_counted():
    one = whole()
    rivals = replace(one, feasible=(*one.feasible, feasible(LOOP)))

    assert effects_title(effect_rows([rivals])) == "3 of 5 values kept"
    other = whole(make_trial(model="cnn_keras", dataset="digits"))
    assert effects_title(effect_rows([rivals, other])).startswith(
        "Values kept: 3 of 5 in PyTorch, cnn10 and 3 of 4"
    )


def test_what_there_was_no_time_to_decide_is_not_said_to_be_dropped():
    one, other = whole(), whole(make_trial(model="cnn_keras", dataset="digits"))
    lacks = dict(zip(one.decisions, cycle([Decision.UNCONFIRMED, Decision.UNDECIDED]), strict=False))
    rows = effect_rows([replace(one, kept=(), decisions=lacks)])

    assert set(rows["kind"]) >= {UNDECIDED} and not set(rows["kind"]) & {KEPT, DROPPED}
    assert effects_title(rows) == "0 of 4 switches kept, 4 undecided"
    assert effects_title(effect_rows([replace(one, kept=(), decisions=lacks), other])) == (
        "Switches kept: 0 of 4 (4 undecided) in PyTorch, cnn10 and 3 of 4 in PyTorch, cnn_keras"
    )


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([RECIPE], "What was kept: 1.70 times as fast with 3 switches"),
        ([of(Outcome.SLOWER)], "All switches together: not faster, but slower"),
        ([of(Outcome.SAME)], "All switches together: no faster than without"),
        ([of(Outcome.UNDECIDED)], QUESTION),
        ([of(Outcome.UNDECIDED), of(Outcome.UNDECIDED, "tensorflow")], QUESTION),
        (
            [RECIPE, of(Outcome.UNDECIDED, "tensorflow")],
            "All switches together: 1.70 times as fast with 3 switches in PyTorch, cnn10; undecided in TensorFlow, "
            "cnn10",
        ),
        (
            [RECIPE, of(Outcome.SLOWER, "tensorflow"), of(Outcome.SLOWER, "jax")],
            "All switches together: 1.70 times as fast with 3 switches in PyTorch, cnn10; "
            "not faster, but slower in TensorFlow, cnn10 and JAX, cnn10",
        ),
        ([], QUESTION),
    ],
    ids=["faster", "slower", "same", "undecided", "both undecided", "one undecided", "mixed", "nothing"],
)
def test_the_way_says_of_each_panel_how_many_times_as_fast_or_asks(verdicts, said):
    assert best_waterfall_title([whole()], verdicts) == said


def test_a_panel_without_a_verdict_is_named():
    searches = [whole(), whole(make_trial(model="cnn_keras", dataset="digits"))]
    assert best_waterfall_title(searches, [RECIPE]) == (
        "What was kept: 1.70 times as fast with 3 switches in PyTorch, cnn10; without a verdict in PyTorch, cnn_keras"
    )


def test_what_was_thrown_out_is_no_part_of_what_is_said_to_be_together():
    found = [without_bf16(), whole(make_trial(model="cnn_keras", dataset="digits"))]
    verdicts = switch_verdicts(found, [make_run(study="switches")])

    assert (
        best_waterfall_title(found[:1], verdicts[:1])
        == "What was kept: 1.403 times as fast with 2 switches, without bf16"
    )
    assert best_waterfall_title(found, verdicts) == (
        "What was kept: 1.403 times as fast with 2 switches, without bf16 in PyTorch, cnn10; 1.70 times as fast with 3 "
        "switches in PyTorch, cnn_keras"
    )
