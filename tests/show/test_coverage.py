from dataclasses import replace

import pytest

from study_data import make_trial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.show.coverage import (
    core_left_out,
    coverage_sentences,
    left_out_in_short,
    left_out_table,
    why_missing,
)


def test_a_study_that_had_time_for_nothing_is_told():
    group = GroupCoverage(part="core", core=True, trials=(make_trial().as_dict(),), blocks=0, most=6)

    sentences = coverage_sentences(
        Coverage(session="s", study="layout", budget_s=60.0, spent_s=5.0, groups=(group,))
    )

    assert sentences[0] == "Time: 5 s of 1 min 00 s that it was given."
    assert sentences[1].startswith(
        "No time for 1 of 1 group of trials that take turns (1 of them of the core): PyTorch, cnn10 (1 trial). Give"
    )


def test_what_was_left_out_is_named_by_what_tells_it_from_the_rest():
    def group(blocks=0, **factors):
        arms = [make_trial(layout=name, **factors).as_dict() for name in ("channels_first", "channels_last")]
        return GroupCoverage(part="sizes", core=False, trials=tuple(arms), blocks=blocks, most=1)

    groups = (group(1), group(1), group(framework="tensorflow", batch_size=8), *[group(model="wrn28_1")] * 2)
    covered = Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=groups)

    assert coverage_sentences(covered)[1].startswith(
        "No time for 3 of 5 groups of trials that take turns: TensorFlow, cnn10, batch 8 (2 trials that differ in "
        "layout); PyTorch, wrn28_1 (2 trials that differ in layout). Give it more (`make report NOTEBOOKS=layout "
        "BUDGET=3m`"
    )
    assert left_out_in_short(covered) == [
        "No time for 3 groups of measurements: layout (TensorFlow, cnn10, batch 8); layout (PyTorch, wrn28_1). To make "
        "up for it: `make report NOTEBOOKS=layout BUDGET=3m`."
    ]
    assert left_out_in_short(replace(covered, groups=groups[:2])) == []


def test_what_two_nodes_had_no_time_for_is_asked_of_both_again():
    arms = tuple(make_trial(strategy="ddp", devices=2, nodes=nodes).as_dict() for nodes in (1, 2))
    group = GroupCoverage(part="core", core=True, trials=arms, blocks=0, most=6)
    covered = Coverage(session="s", study="multi_gpu", budget_s=60.0, spent_s=60.0, groups=(group,))

    command = "make fleet FLEET=fleet.yaml NODES=2"
    assert f"Give it more (`{command} NOTEBOOKS=multi_gpu BUDGET=3m`" in coverage_sentences(covered)[1]
    assert left_out_in_short(covered)[0].endswith(f"`{command} NOTEBOOKS=multi_gpu BUDGET=3m`.")


def test_what_differs_in_what_is_run_is_named_in_the_words_of_a_reader():
    arms = tuple(make_trial(part=part).as_dict() for part in ("both", "compute"))
    group = GroupCoverage(part="parts", core=True, trials=arms, blocks=0, most=6)
    covered = Coverage(session="s", study="amp", budget_s=60.0, spent_s=60.0, groups=(group,))

    assert left_out_in_short(covered)[0].startswith(
        "No time for 1 group of measurements: part of the training (PyTorch, cnn10). "
    )


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ((15, 15), "15 blocks"),
        ((1, 15), "1 to 15 blocks"),
        ((6, 9), "6 to 9 of at most 15 blocks"),
        ((6, 6), "6 of at most 15 blocks"),
    ],
)
def test_the_fewest_blocks_are_told_whether_or_not_others_had_all(blocks, told):
    arm = make_trial().as_dict()
    groups = [GroupCoverage(part="core", core=True, trials=(arm,), blocks=had, most=15) for had in blocks]
    covered = Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=tuple(groups))

    time = "Time: 1 min 00 s of 1 min 00 s that it was given"
    assert coverage_sentences(covered) == [f"{time}: the core comparisons had {told}."]
    search = replace(covered, groups=(*groups, *[replace(groups[0], blocks=1, most=1)] * 3))
    assert coverage_sentences(search) == [f"{time}: of the core comparisons 2 had {told} and 3 had 1 block."]


def a_coverage(*groups):
    made = [
        GroupCoverage(part=part, core=core, trials=(make_trial(**more).as_dict(),), blocks=blocks, most=6)
        for part, core, blocks, more in groups
    ]
    return Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=tuple(made))


def test_only_comparisons_of_the_core_that_have_a_name_in_the_plan_are_missed_in_the_answer():
    """A size that an earlier result asked for has none, and what stands beside the core is told below."""
    had = ("core", True, 6, {"batch_size": 16})
    beside, asked = ("survey", False, 0, {"batch_size": 8}), ("", True, 0, {"batch_size": 4})
    tensorflow, jax = (("core", True, 0, {"framework": name}) for name in ("tensorflow", "jax"))

    assert core_left_out(None) == core_left_out(a_coverage(had, beside, asked)) == []
    (said,) = core_left_out(a_coverage(had, tensorflow, jax))
    command = "`make report NOTEBOOKS=layout BUDGET=3m`"
    assert said == f"TensorFlow, cnn10; JAX, cnn10, compiled: no time for their own blocks here: {command}."


def test_what_is_missing_says_what_there_was_no_time_for_only_where_that_is_why():
    lacking = a_coverage(("fed", False, 0, {"part": "matmul"}), ("core", True, 6, {}))
    command = "`make report NOTEBOOKS=layout BUDGET=3m`."

    assert (
        why_missing(lacking, "fed", otherwise="None.")
        == f"No time for PyTorch, default precision, matrix products only: {command}"
    )
    of_phase = why_missing(lacking, "conv", "matmul", otherwise="None.")
    assert of_phase == f"No time for matrix products alone: {command}", "phases are known, too"
    assert why_missing(lacking, "core", otherwise="None.") == "None.", "there was time for it"
    assert why_missing(None, "fed", otherwise="None.") == "None."


def test_what_earlier_results_asked_for_is_called_so_and_is_not_of_the_core():
    sets = [("core", 6), ("sweep", 0), ("", 0)]
    groups = tuple(
        GroupCoverage(
            part=part, core=part != "sweep", trials=(make_trial().as_dict(),), blocks=blocks, most=6
        )
        for part, blocks in sets
    )
    covered = Coverage(session="s", study="conv2d", budget_s=60.0, spent_s=60.0, groups=groups)

    assert "take turns: " in coverage_sentences(covered)[1]
    table = left_out_table(covered).data
    assert [*table["belongs to"]] == ["further measurements", "what depends on earlier results"]
    assert [*table["blocks measured"]] == ["none of 6"] * 2
    unnamed = replace(covered, groups=tuple(replace(group, part="") for group in groups))
    assert "depends on" not in left_out_table(unnamed).to_html()


def test_each_row_of_what_was_left_out_says_with_what_it_would_have_been_compared():
    sets = (
        [make_trial()],
        [make_trial(), make_trial(layout="channels_last"), make_trial(batch_size=64)],
        [make_trial(strategy="ddp", devices=2), make_trial()],
    )
    groups = tuple(
        GroupCoverage(part="s", core=False, trials=tuple(one.as_dict() for one in some), blocks=0, most=1)
        for some in sets
    )
    covered = Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=groups)

    compared = left_out_table(covered).data["compared with"]

    assert [*compared] == ["\N{EM DASH}", "channels_last; batch 64", "without 2 devices (ddp)"]
