import math

import pandas as pd
import pytest

from pipeline_data import measured, trials
from trainspeed.studies.multi_gpu.balances import balance_sentences, balance_table, pipeline_balances

WHERE = "JAX, cnn10, 1 device"


def balance(balances, framework, pipeline, devices="1 device"):
    """Return input, compute and whole steps of one pipeline."""
    (row,) = balances[
        (balances["where"] == f"{framework}, cnn_keras, {devices}") & (balances["pipeline"] == pipeline)
    ].itertuples()
    return row.input_s, row.compute_s, row.both_s


def parts(*rows, blocks=6):
    """Return balances of (pipeline, input, compute, whole steps)."""
    columns = ["where", "pipeline", "input_s", "compute_s", "both_s", "blocks"]
    return pd.DataFrame([(WHERE, *row, blocks) for row in rows], columns=columns)


def test_a_balance_has_the_median_epoch_of_each_part():
    found = pipeline_balances(measured())

    assert balance(found, "TensorFlow", "generator") == (3.0, 1.0, 4.0)
    assert balance(found, "TensorFlow", "in_model")[0] == 0.1, "its images are those of arrays"


def test_more_devices_have_their_own_computing_and_the_input_of_one_but_for_ranks():
    found = pipeline_balances(measured(counts=(2,)))

    two = balance(found, "TensorFlow", "processes (2 workers)", "2 devices (mirrored)")
    assert two == (0.5, 0.5, 1.0)
    inputs = {(t.framework, t.devices) for t in trials(counts=(2,)) if t.part == "input"}
    assert inputs == {("tensorflow", 1), ("torch", 2)}


def test_sentences_name_the_bottleneck_and_how_far_it_is():
    runs = measured(pipelines=["generator", "processes"], frameworks=("torch",))
    assert balance_sentences(pipeline_balances(runs)) == [
        "In 1 of 2 the input is the bottleneck, 3.0 times as long as the compute: PyTorch, cnn_keras, 1 device, "
        "generator.",
        "In 1 of 2 the compute is the bottleneck, 2.0 times as long as the input: PyTorch, cnn_keras, 1 device, "
        "processes (2 workers).",
        "Whole steps take up to 50 % longer than their longer part: PyTorch, cnn_keras, 1 device, processes "
        "(2 workers), whose parts take 0.5 s of input and 1 s of computing.",
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [("arrays", 0.1, 1.0, 1.0)],
            [f"For {WHERE}, arrays the compute is the bottleneck: it takes 10 times as long as the input."],
        ),
        (
            [("arrays", 0.1, 1.0, 1.0), ("threads", 0.5, 1.0, 0.9)],
            ["In all 2 the compute is the bottleneck: it takes 2.0 to 10 times as long as the input."],
        ),
    ],
)
def test_where_all_have_one_bottleneck_one_sentence_says_so(rows, said):
    """And none says how much longer whole steps take, where they take no longer."""
    assert balance_sentences(parts(*rows)) == said


@pytest.mark.parametrize(
    ("both_s", "shown"), [(1.002, "+0 %"), (0.998, "+0 %"), (1.1, "+10 %"), (0.9, "-10 %")]
)
def test_whole_steps_are_compared_with_their_longer_part(both_s, shown):
    table = balance_table(parts(("arrays", 0.1, 1.0, both_s))).data
    assert list(table.iloc[0])[-2:] == ["compute, 10 times the input", shown]


def test_a_part_that_was_not_measured_is_said_and_not_made_up():
    runs = [run for run in measured(pipelines=["generator"]) if run.trial.part != "input"]

    found = pipeline_balances(runs)
    assert balance_sentences(found) == ["Of 2 pipelines none was measured in all parts."]
    assert found["input_s"].isna().all() and found["both_s"].notna().all()
    assert list(balance_table(found).data["input alone s"]) == ["—", "—"]
    assert balance_sentences(pipeline_balances([])) == []

    some = parts(("arrays", 0.1, 1.0, 1.0), ("threads", math.nan, 1.0, 1.0))
    assert balance_sentences(some)[0] == "Of 2 pipelines 1 was measured in all parts."
    assert list(balance_table(some).data["bottleneck"])[1] == "—"


@pytest.mark.parametrize(("blocks", "said"), [(1, True), (5, True), (6, False)])
def test_medians_over_few_blocks_are_said_to_decide_nothing(blocks, said):
    sentences = balance_sentences(parts(("arrays", 0.1, 1.0, 1.0), blocks=blocks))
    assert any("decide nothing" in sentence for sentence in sentences) is said
