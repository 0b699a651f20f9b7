"""The notebook on switches, from a ledger that was made up: every cell, without a kernel and without a framework."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pytest

from study_data import make_run
from trainspeed.conduct.plan import schedule
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Role
from trainspeed.report.parameters import TAG, resolve_parameters
from trainspeed.report.run import NOTEBOOKS
from trainspeed.search.findings import Decision

mpl.use("Agg")
GAINS = {("layout", "channels_last"): 1.3, ("optimizer", "fused"): 1.15, ("optimizer", "foreach"): 1.02}
PARTS = {"both": 1.0, "input": 0.2, "compute": 0.7, "fit": 1.3}
VALUES = {
    "levers": ["layout", "optimizer", "huge_pages", "threads"],
    "confirm_blocks": 9,
    "dataset": "digits",
} | {"images_per_epoch": 1024}
MOST_STAGES = 20


def seconds(trial, block):
    """What an epoch takes: channels_last and fused pay, huge pages would pay most if they were in effect."""
    gain = GAINS.get(("layout", trial.layout), 1.0)
    for setting in trial.levers:
        gain *= GAINS.get(setting, 1.0)
    return PARTS[trial.part] * (1 + block / 500) / gain


def run_of(planned):
    """A run; of huge pages it sees nothing."""
    trial = planned.trial
    seen = {name: (None if name == "huge_pages" else value, "a look") for name, value in trial.levers}
    about = {"study": "switches", "label": planned.label, "block": planned.block, "group": planned.group}
    about |= {"test_accuracy": 0.8, "peak_memory_bytes": 10**9, "in_effect": seen, "stages_s": {"train": 4.0}}
    run = make_run(
        seconds(trial, planned.block), images_per_epoch=trial.images_per_epoch, batch_size=8, **about
    )
    return replace(run, trial=trial, started_at="2026-11-20T10:00:00+00:00")


def executed(monkeypatch, out, *, render=None):
    """Run the cells; return their variables, as far as the plan where there is nothing to render."""
    for variable, value in {
        "TRAINSPEED_DEVICE": "cpu",
        "TRAINSPEED_OUT": out,
        "TRAINSPEED_REPORT": 1,
        "TRAINSPEED_RENDER": render,
    }.items():
        monkeypatch.setenv(variable, str(value or ""))
    monkeypatch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 2)
    values = resolve_parameters(["switches"], NOTEBOOKS, preset="smoke")["switches"] | VALUES
    names: dict = {}
    with plt.rc_context():
        for cell in nbformat.read(NOTEBOOKS / "switches.ipynb", 4).cells:
            if cell.cell_type == "code" and (render or "measure(" not in cell.source):
                exec(cell.source, names)
                if TAG in cell.metadata.get("tags", []):
                    names |= values
            elif cell.cell_type == "code":
                return names
    return names


def whole_ledger(plan, out):
    """Measure all that the plan wants, until it wants nothing."""
    runs: list = []
    sets = [*plan.rest, *plan.others]
    for _ in range(MOST_STAGES):
        if not sets:
            break
        new = [run_of(planned) for part in sets for planned in schedule([part], 0)]
        known = {run.key for run in runs}
        runs += [run for run in new if run.key not in known]
        sets = plan.more(runs)
    assert not sets, "it asks for ever"
    ledger = Ledger(out)
    for run in runs:
        ledger.append(run)
    return runs


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The variables of the notebook, drawn from its ledger."""
    with pytest.MonkeyPatch.context() as patch:
        out = tmp_path_factory.mktemp("switches")
        whole_ledger(executed(patch, out)["plan"], out)
        return executed(patch, out, render=out)


def test_the_best_is_found_and_confirmed_and_what_had_no_effect_is_none_of_it(page):
    (found,) = page["found"]

    assert {(switch.lever, switch.value) for switch in found.kept} == {
        ("layout", "channels_last"),
        ("optimizer", "fused"),
    }
    assert found.confirmation.total.speedup == pytest.approx(1.3 * 1.15, rel=0.01)
    assert [d for switch, d in found.decisions.items() if switch.lever == "huge_pages"] == [
        Decision.NOT_IN_EFFECT
    ]


def test_a_search_that_began_with_all_cores_is_drawn_as_it_began(page):
    """While runs are drawn the machine has as many devices as they had: one."""
    (found,) = page["found"]

    assert found.start.levers == (("threads", "all"),)
    assert "threads" not in page["code"].program_blocks(page["kept"])[0]


def test_the_parts_of_a_step_come_from_the_same_ledger(page):
    (row,) = page["parts"].to_dict("records")

    assert (row["compute_s"], row["waiting_s"]) == pytest.approx((0.7, 0.2))
    assert row["validation_s"] == pytest.approx(0.3)


def test_its_verdicts_are_recorded(page):
    assert {(v.factor, str(v.outcome)) for v in page["verdicts"] if v.quantity == "time"} >= {
        ("recipe", "faster"),
        ("layout", "faster"),
    }
    assert (page["measured"].out / "verdicts.json").is_file()


def test_the_code_has_what_was_kept(page):
    (program,) = page["code"].program_blocks(page["kept"])

    assert "channels_last" in program and "fused=True" in program


def test_a_folder_without_a_run_is_drawn_too(tmp_path, monkeypatch):
    run = replace(make_run(study="layout"), label=Role.DATA)
    Ledger(tmp_path).append(run)

    said: list = []
    monkeypatch.setattr("trainspeed.show.notebook.display", lambda shown, **_: said.append(shown))
    page = executed(monkeypatch, tmp_path, render=tmp_path)

    assert page["found"] == []
    words = "\n".join(shown.data for shown in said if isinstance(shown.data, str))
    introductions = {name: text for name, text in vars(page["introductions"]).items() if name.isupper()}
    assert len(introductions) == 5 and page["text"].NOTHING_MEASURED in words
    assert not any(text in words for text in introductions.values())
