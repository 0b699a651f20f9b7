"""A report runs the models that its user named, and none that only the files of a folder name."""

import json
from dataclasses import asdict, replace

import pytest

import trainspeed.report.notebooks
from front_data import verdicts_of
from report_helper import Kernels
from study_data import make_run
from tiny_notebooks import write
from trainspeed.conduct.context import Context, current
from trainspeed.core import user_model
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import SESSIONS_FILE, append_line
from trainspeed.core.run import Role
from trainspeed.core.runs import RunSet
from trainspeed.report.request import ReportRequest, read_sessions
from trainspeed.report.run import report

EVIL = "downloads/evil.py:build"
BUILD = "def build(input_shape, classes, layout): ..."


@pytest.fixture
def folder(tmp_path):
    """Notebooks that train models, as parameters name them."""
    made = tmp_path / "notebooks"
    write(made, "layout")
    notebook = json.loads((made / "layout.ipynb").read_text())
    notebook["cells"][1]["source"] = 'models: list = ["cnn10"]  # models'
    (made / "layout.ipynb").write_text(json.dumps(notebook))
    (made / "presets").mkdir()
    (made / "presets/quick.yaml").write_text("")
    return made


@pytest.fixture
def kernels(monkeypatch):
    stand_in = Kernels()
    monkeypatch.setattr(trainspeed.report.notebooks, "execute", stand_in)
    return stand_in


@pytest.fixture
def out(tmp_path):
    """A folder that somebody else made, with a session that trains a program in it."""
    session = ReportRequest(
        session="20260101T000000Z-abcd",
        preset="quick",
        notebooks=("layout",),
        parameters={"layout": {"models": [EVIL]}},
    )
    append_line(tmp_path / "out" / SESSIONS_FILE, asdict(session))
    return tmp_path / "out"


@pytest.fixture
def evil(own):
    """The program, below the folder that the user works in."""
    return own(BUILD, "downloads/evil.py")


def test_resuming_does_not_run_what_only_the_folder_names(kernels, folder, out):
    with pytest.raises(UserError) as caught:
        report(out=out, folder=folder, resume=True)

    assert str(caught.value) == (
        f"session 20260101T000000Z-abcd trains {EVIL!r}, which runs as a program: name it again to continue, with the "
        "MODEL=… or PARAMS=… that the report was begun with, or leave RESUME out"
    )
    assert not kernels.calls


def test_resuming_with_another_model_does_not_run_it_either(kernels, folder, out, own):
    with pytest.raises(UserError, match=r"trains .downloads/evil\.py:build., which runs as a program"):
        report(out=out, folder=folder, resume=True, model=own(BUILD))

    assert not kernels.calls


@pytest.mark.parametrize("by", ["model", "params"])
def test_a_model_that_is_named_again_goes_on(kernels, folder, out, evil, tmp_path, by):
    file = tmp_path / "mine.yaml"
    file.write_text(f"layout: {{models: [{EVIL!r}]}}")

    assert report(out=out, folder=folder, resume=True, **{by: EVIL if by == "model" else file}) == 0

    parameters, environment = kernels.of("layout")
    assert parameters == {"models": [EVIL]} and environment["TRAINSPEED_RESUME"] == "1"
    assert json.loads(environment["TRAINSPEED_MODELS"]) == [EVIL]


def test_a_session_of_trainspeeds_own_models_goes_on_as_before(kernels, folder, tmp_path):
    report(out=tmp_path / "mine", folder=folder)

    assert report(out=tmp_path / "mine", folder=folder, resume=True) == 0
    assert "TRAINSPEED_MODELS" not in kernels.calls[0][2]


def test_a_new_report_tells_its_notebooks_which_models_it_was_asked_for(kernels, folder, out, evil):
    """The folder is somebody else's; without RESUME its session counts for nothing."""
    assert report(out=out, folder=folder) == 0
    assert "TRAINSPEED_MODELS" not in kernels.calls[-1][2]

    report(out=out, folder=folder, model=EVIL)
    assert current(kernels.calls[-1][2]).user_models == (EVIL,)


@pytest.mark.parametrize(
    ("parameters", "models"),
    [
        ({"a": {"models": ["cnn10", EVIL], "n": 1}}, {EVIL}),
        ({"a": {"x": [{"deep": (EVIL,)}]}}, {EVIL}),
        ({"a": {EVIL: None}}, {EVIL}),
        ({"a": {"models": ["cnn10"], "x": None, "y": 1.5}}, set()),
    ],
)
def test_models_are_found_however_deep_parameters_name_them(parameters, models):
    assert user_model.user_models_in(parameters) == models


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"session": "../../x"},
            {"session": "\x1b[2J"},
            {"session": 1},
            {"notebooks": []},
            {"notebooks": ["../x"]},
        ),
        *({"preset": "x" * 1000}, {"parameters": []}, {"budget_s": -1}, {"weights": {"layout": [-1, 0]}}),
    ],
)
def test_a_session_that_no_report_wrote_is_left_out(out, changed):
    good = json.loads((out / SESSIONS_FILE).read_text())
    append_line(out / SESSIONS_FILE, good | changed)
    with (out / SESSIONS_FILE).open("a") as file:
        file.write("[" * 100_000 + "\n")

    assert [session.session for session in read_sessions(out)] == [good["session"]]


# What is in a folder's verdicts.


@pytest.fixture
def front(monkeypatch, tmp_path):
    """A function that plans the front page of a folder whose verdicts call a program faster."""
    from trainspeed.studies.summary import plan
    from trainspeed.studies.summary.collect import ReportSummary

    monkeypatch.setattr(plan, "devices_here", lambda study: (1, "CPU core"))
    runs = [
        make_run(1.0 if layout == "channels_last" else 2.0, block=block, layout=layout, model=EVIL)
        for block in range(6)
        for layout in ("channels_first", "channels_last")
    ]
    report = ReportSummary(out=tmp_path, verdicts=tuple(verdicts_of(runs)))
    assert report.gains

    def planned(*own, drawn=False, **context):
        monkeypatch.setattr(plan, "current", lambda: Context(id="s", out=tmp_path, **context))
        own_runs = replace(report, own=RunSet(own))
        return plan.plan_summary(report=own_runs, drawn=drawn, confirm=1, confirm_blocks=6, seed=0)

    return planned


def test_a_gain_is_confirmed_only_with_models_that_the_user_named(front):
    assert front().top == [] and front(in_report=True).top == []
    assert {verdict.baseline.model for verdict in front(user_models=(EVIL,)).top} == {EVIL}


def test_what_was_confirmed_is_drawn_again_whoever_named_the_model(front):
    """PARAMS named it for a notebook; nothing runs while a report is drawn."""
    fresh = make_run(study="summary", label=Role.CONFIRMATION, model=EVIL)

    assert {verdict.baseline.model for verdict in front(fresh, drawn=True).top} == {EVIL}
    assert front(fresh).top == front(drawn=True).top == []
