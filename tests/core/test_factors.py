"""The rows of factors: a new factor needs one row and nothing else."""

from dataclasses import dataclass, replace

import pytest

from study_data import make_run, make_trial
from trainspeed.core.convolution import CONVOLUTION, Conv2dTrial
from trainspeed.core.factors import CONTROL, RECIPE, RESIDENCY, TRAINING, Factor
from trainspeed.core.frame import to_frame
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import compare
from trainspeed.show.rows import data_rows
from trainspeed.show.tables import results_table

NO_FIELDS = {CONTROL, RECIPE, RESIDENCY}


@dataclass(frozen=True, kw_only=True)
class OptimizerTrial(Trial):
    """A trial with an additional field."""

    optimizer: str = "sgd"


@pytest.fixture
def optimizer(monkeypatch):
    row = Factor(
        name="optimizer",
        value="with {}".format,
        header="optimised",
        described=lambda trial: trial.optimizer != "sgd",
        switch=lambda *_: {"optimizer": "adam"},
    )
    monkeypatch.setitem(TRAINING, "optimizer", row)
    return OptimizerTrial(**make_trial().as_dict())


@pytest.fixture
def runs(optimizer):
    arms = [(optimizer, 1.5), (replace(optimizer, optimizer="adam"), 1.0)]
    return [make_run(s, block=b, trial=t.in_block(b)) for t, s in arms for b in range(6)]


def test_a_new_factor_is_in_label_name_and_sentence(runs):
    (verdict,) = compare(runs, "optimizer", "sgd", "adam", question="?")
    where = "PyTorch, cnn10, channels_first, batch 32"
    assert verdict.label == where
    assert verdict.name == f"with adam vs with sgd, {where}"
    assert verdict.sentence.startswith("with adam vs with sgd: 1.50x (95 % interval 1.50 to 1.50): faster.")
    assert runs[-1].trial.describe()[-1] == "with adam"


def test_a_new_factor_is_in_tables(runs):
    frame = to_frame(runs)
    assert set(data_rows(frame)["variant"]) == {"with sgd", "with adam"}
    assert list(results_table(frame).data["optimised"]) == ["sgd", "adam"]


@pytest.mark.parametrize(("kind", "rows"), [(Trial, TRAINING), (Conv2dTrial, CONVOLUTION)])
def test_every_row_is_of_a_field_and_hides_only_what_there_is(kind, rows):
    fields = set(kind.__dataclass_fields__)
    for row in rows.values():
        assert row.name in NO_FIELDS or set(row.fields) <= fields
        assert set(row.hidden) <= {*rows}


def test_a_field_without_a_row_is_said_by_its_value():
    trial = make_trial(folds=5, fold=1)
    assert trial.factor("folds").versus(trial, replace(trial, folds=4)) == "4 vs 5"


def test_levers_are_told_by_what_one_trial_has_beyond_the_other():
    plain = make_trial(framework="torch")
    fused, paged = plain.pulled("optimizer", "fused"), plain.pulled("huge_pages", "on")
    versus = plain.factor("levers").versus

    assert versus(plain, fused) == "fused optimizer"
    assert versus(fused, plain) == "without fused optimizer"
    assert versus(fused, paged) == "huge pages, without fused optimizer"
    assert versus(fused, plain.pulled("optimizer", "foreach")) == "foreach optimizer"
