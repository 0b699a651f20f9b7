"""The phases that trials run: a new one needs one entry, and the code that measures it."""

import pytest

from study_data import make_run, make_trial
from trainspeed.conduct.estimates import CEILING_EPOCH_S, TRACE_S, run_s
from trainspeed.core.errors import UserError
from trainspeed.core.frame import to_frame
from trainspeed.core.phase import CALLS, PHASES, Phase
from trainspeed.core.run import Status
from trainspeed.judge.run_notes import run_notes
from trainspeed.show.tables import failures_table


def test_a_new_phase_is_described_tabled_and_judged_by_its_entry(monkeypatch):
    """A ceiling is short by nature: no model is mentioned, and its short epochs are no reason for doubt."""
    fma = Phase(name="fma", words="multiply-adds only", ceiling=True, work="step_flops", traced=False)
    with pytest.raises(UserError, match="unknown part 'fma'"):
        make_trial(part="fma")
    monkeypatch.setitem(PHASES, "fma", fma)
    run = make_run(0.001, part="fma")
    failed = make_run(part="fma", status=Status.OOM)

    assert run.trial.phase is fma and run.trial.only(PHASES["both"]).whole_steps
    assert run.trial.describe() == ["PyTorch", "default precision", "multiply-adds only"]
    assert not run.trains and run_notes(run) == []
    epochs = run.trial.epochs + 1  # one more finds out how often to repeat it
    assert run_s(run.trial, "cpu") == TRACE_S["torch"] + epochs * CEILING_EPOCH_S
    assert failures_table(to_frame([failed])).data["what"].item() == "PyTorch, multiply-adds only, default"


def test_every_phase_has_a_name_of_its_own_and_words():
    every = [*PHASES.values(), CALLS]
    assert len({phase.name for phase in every}) == len({phase.words for phase in every}) == len(every)
    assert [name for name, phase in PHASES.items() if phase.ceiling] == ["matmul", "conv", "copy"]
    assert all(phase.work and not phase.of_model for phase in PHASES.values() if phase.ceiling)
