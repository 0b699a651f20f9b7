from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
import pytest

from study_data import make_run, make_trial
from trainspeed.conduct import machine
from trainspeed.conduct.plan import Plan
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.core.runs import Measured
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.comparison import verdict_between
from trainspeed.studies import explore
from trainspeed.studies.layout.plan import plan_layout
from trainspeed.worker import backends

SMALL = {"batch_size": 8, "images_per_epoch": 16, "epochs": 3, "image_size": 8, "dataset": "digits"}


@pytest.fixture
def out(monkeypatch, tmp_path):
    """Return the folder that a notebook measures to; the fake backend plays every framework."""
    monkeypatch.setenv("TRAINSPEED_OUT", str(tmp_path))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    )
    for name in FRAMEWORKS:
        monkeypatch.setitem(backends.MODULES, name, "fake_backend")
        monkeypatch.setenv(f"TRAINSPEED_PYTHON_{name.upper()}", sys.executable)
    return tmp_path


@pytest.fixture
def displayed(monkeypatch):
    """Collect what is displayed as Markdown."""
    texts = []
    monkeypatch.setattr(explore.notebook, "display", lambda shown, **_: texts.append(shown.data))
    monkeypatch.setattr(explore, "show", lambda drawing, alt: texts.append("chart"))
    return texts


def measured(*runs):
    return Measured(tuple(runs), "layout", "s", out=Path(), folder=Path())


def plan_small(**fields):
    return explore.trial_plan(make_trial(**SMALL | fields))


def plan_layouts(**changed):
    """Return the plan of a notebook: both layouts in two frameworks."""
    parameters = {
        "frameworks": ["tensorflow", "torch"],
        "models": ["cnn10"],
        "layouts": ["channels_first", "channels_last"],
        "precisions": ["fp32"],
        "compile": [False],
        "batch_sizes": [8],
        "blocks": 6,
        "survey_models": [],
        "survey_batch_sizes": [],
        "survey_blocks": 1,
        "controls": [],
        "image_size": 8,
        "images_per_epoch": 16,
        "epochs": 3,
        "accuracy_blocks": 1,
        "dataset": "digits",
        "seed": 0,
    }
    return plan_layout(**parameters | changed)


def test_each_core_trial_is_compared_with_its_changed_self():
    plan = plan_layouts()
    pairs = explore.changed_pairs(plan, plan.change(batch_sizes=[16]))

    assert [(a.framework, a.layout) for a, _ in pairs] == [(b.framework, b.layout) for _, b in pairs]
    assert len(pairs) == 4 and {(a.batch_size, b.batch_size) for a, b in pairs} == {(8, 16)}


def test_a_plan_can_be_narrowed_first():
    small = explore.narrowed(plan_layouts(), frameworks=["torch"])

    assert {trial.framework for trial in small.core} == {"torch"}
    assert {trial.framework for trial in small.change(batch_sizes=[16]).core} == {"torch"}, "it stays so"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "makes the same trials"),
        ({"batch_sizes": [8]}, "makes the same trials"),
        ({"batch_sizes": [4096]}, "larger than the epoch"),
        ({"batch_sizes": [16], "blocks": 0}, "blocks"),
        ({"batch_sizes": [8, 16]}, "8 trials of 4"),
        ({"batchsizes": [8]}, "did you mean 'batch_sizes'"),
    ],
)
def test_an_impossible_change_is_one_line_and_measures_nothing(out, parameters, message):
    with pytest.raises(UserError, match=message):
        explore.change(plan_layouts(), **parameters)
    assert not (out / "runs.jsonl").exists()


def test_the_plan_of_a_search_is_refused_with_what_to_take_in_its_place(out):
    with pytest.raises(UserError, match=r"take its plain trials, explore\.trial_plan\("):
        explore.change(Plan(), batch_size=4)


def test_a_field_that_a_trial_does_not_have_is_named():
    with pytest.raises(UserError, match="did you mean 'batch_size'"):
        explore.change(plan_small(), batchsize=8)


@pytest.mark.parametrize(
    ("levers", "found"),
    [
        ((("huge_pages", "on"),), (("huge_pages", "on"), ("threads", "all"))),
        ("threads=half", (("threads", "half"),)),
        ([["threads", None], "huge_pages=on"], (("huge_pages", "on"),)),
    ],
)
def test_levers_are_pulled_beside_those_that_a_trial_has(levers, found):
    """A plain trial of a search has all cores by a lever: the candidate without it trained on one of them."""
    (trial,) = plan_small(levers=(("threads", "all"),)).change(levers=levers).core

    assert trial.levers == found


@pytest.mark.parametrize("levers", [(("thread", None),), (("thread", "all"),), None, ("threads", None)])
def test_levers_that_cannot_be_are_one_line(levers):
    with pytest.raises(UserError, match="lever"):
        plan_small(levers=(("threads", "all"),)).change(levers=levers)


def test_both_trials_are_measured_in_the_same_blocks_in_a_study_of_their_own(out, displayed):
    explored = explore.change(plan_small(), blocks=2, batch_size=16, interval_s=0.2)

    runs = Ledger(out).read()[0]
    assert {run.study for run in runs} == {"explore"}
    assert sorted((run.block, run.trial.batch_size) for run in runs) == [(0, 8), (0, 16), (1, 8), (1, 16)]
    (verdict,) = explored.verdicts
    assert verdict.factor == "batch_size" and verdict.blocks == 2
    explore.show_change(explored)
    assert "batch 16 vs batch 8" in displayed[0] and "on each" not in displayed[0] and displayed[1] == "chart"


@pytest.mark.parametrize(
    ("field", "values", "words"),
    [
        ("workers", (1, 4), "processes (4 workers) vs processes (1 worker): 2.00x"),
        ("dataset", ("auto", "mnist"), "mnist vs digits: 2.00x"),
    ],
)
def test_what_depends_on_the_machine_is_compared_like_any_other_field(monkeypatch, out, field, values, words):
    """Both arms were taken for one, each of whose runs was compared with itself: the same, whatever was measured."""
    monkeypatch.setattr(machine, "data_set_of", lambda t, auto: t.dataset.replace("auto", "digits"))
    monkeypatch.setattr(
        explore,
        "measure",
        lambda study, plan, **_: measured(
            *(
                make_run(seconds, block=block, trial=trial)
                for block in range(6)
                for seconds, trial in zip((2.0, 1.0), plan.others[0], strict=True)
            )
        ),
    )
    before, after = values
    plan = plan_small(pipeline="processes", augment=True, **{"workers": 1, field: before})

    (verdict,) = explore.change(plan, **{field: after}).verdicts

    assert words in verdict.sentence and verdict.sentence.count("1 worker") == 1


def test_what_auto_stands_for_is_no_change(monkeypatch, out):
    monkeypatch.setattr(machine, "data_set_of", lambda *_, **__: "digits")

    with pytest.raises(UserError, match="makes the same trials"):
        explore.change(plan_small(dataset="auto"), dataset="digits")


@pytest.mark.parametrize(
    ("changed", "factor"),
    [
        ({"layout": "channels_last"}, "layout"),
        ({"strategy": "ddp", "devices": 2}, "devices"),
        ({"strategy": "ddp", "devices": 2, "batch_size": 64}, "devices"),
        ({"pipeline": "threads", "workers": 1}, "pipeline"),
        ({"framework": "jax"}, "framework"),
    ],
)
def test_what_goes_together_is_one_change(changed, factor):
    assert explore.factor_of(make_trial(), make_trial(**changed)) == factor


def test_two_things_at_once_are_refused_before_anything_is_measured(out):
    """The verdict named one of them, and gave the other as the setting in which it held."""
    with pytest.raises(UserError, match=r"batch_size and image_size together: change one of them"):
        explore.change(plan_small(), batch_size=4, image_size=24)
    assert not (out / "runs.jsonl").exists()


def test_a_larger_batch_that_needs_a_larger_epoch_is_compared_over_as_many_images():
    plan = plan_small()
    ((before, after),) = explore.changed_pairs(plan, plan.change(batch_size=32, images_per_epoch=64))

    assert explore.factor_of(before, after) == "batch_size" and before.images_per_epoch == 64


def test_several_trials_are_each_compared_with_their_changed_self():
    plan = explore.trial_plan(make_trial(), make_trial(framework="tensorflow"))

    pairs = explore.changed_pairs(plan, plan.change(precision="bf16"))

    assert [(a.framework, b.framework, b.precision) for a, b in pairs] == [
        ("torch", "torch", "bf16"),
        ("tensorflow", "tensorflow", "bf16"),
    ]


def test_what_a_cell_ends_with_is_a_few_lines_and_not_all_that_is_in_it():
    """Three runs were 16 KB, those of a notebook 747 KB."""
    runs = measured(*(make_run(seconds, batch_size=size) for seconds, size in ((2.0, 8), (1.0, 16))))
    failed = measured(*runs, make_run(status=Status.OOM))
    verdict = verdict_between([runs[0]], [runs[1]], "batch_size", explore.QUESTION)
    words = "Measured layout, session s: 3 runs, 1 without a result; .frame has them"

    assert repr(failed) == words and repr(runs.ok()) == "2 runs; .frame has them"
    assert repr(explore.Explored((verdict,), failed)) == f"{verdict.sentence}\n{words}"
    assert repr(explore.Explored()) == explore.NOT_IN_A_REPORT


def test_a_failed_run_is_shown_with_its_reason(displayed):
    explore.show_change(explore.Explored((), measured(make_run(status=Status.OOM))))

    assert displayed == ["- oom: for a test"]


def test_in_a_report_nothing_is_measured(monkeypatch, out, displayed):
    monkeypatch.setenv("TRAINSPEED_REPORT", "1")

    small = explore.narrowed(plan_layouts(), frameworks=["none"])
    explore.show_change(explore.change(small, batch_sizes=[4096]))

    assert "Not measured in a report" in displayed[0] and not (out / "runs.jsonl").exists()


@pytest.mark.parametrize("name", ["layout", "multi_gpu", "amp", "conv2d", "switches"])
def test_every_study_ends_with_cells_to_explore_that_its_page_leaves_out(name):
    cells = nbformat.read(ROOT / f"notebooks/{name}.ipynb", 4).cells
    begin = next(place for place, cell in enumerate(cells) if cell.source.startswith("## Explore"))
    explored = cells[begin:]

    assert all("remove_cell" in cell.metadata.get("tags", []) for cell in explored) and len(explored) >= 3
    assert "explore.change(" in explored[1].source and ".query(" in explored[2].source
