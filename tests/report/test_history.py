"""`make history`: one page with the real notebook, of two folders, and the mistakes that write nothing."""

import re
from pathlib import Path

import pytest

from command_line import trainspeed as run_command
from page_text import read_page
from sessions_data import day, upgraded_twice
from trainspeed.core.errors import UserError
from trainspeed.core.files import HISTORY
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.report.compare import draw_history
from trainspeed.report.request import new_session


def test_one_session_is_told_in_one_line_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger(tmp_path / "mine").append(*day(2))
    with pytest.raises(
        UserError, match=r"^there is 1 session of trials.*`make history OUT=outputs` shows them\.$"
    ):
        draw_history(["mine"], out=tmp_path / "out")
    with pytest.raises(UserError, match=r"^outputs does not exist"):
        draw_history(out=Path("outputs"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_no_report_runs_it():
    more = {"preset": "smoke", "params": None, "has_gpu": False, "folder": ROOT / "notebooks"}
    assert HISTORY not in new_session(notebooks=(), **more).notebooks
    with pytest.raises(
        UserError, match="history measures nothing, so no report runs it: `make history` does"
    ):
        new_session(notebooks=(HISTORY,), **more)


@pytest.mark.slow
def test_the_sessions_of_two_folders_are_one_history(tmp_path):
    """One folder has the first five sessions, as an artefact of CI may; the other one the last two."""
    runs = upgraded_twice()
    first, rest = tmp_path / "secret_place/first", tmp_path / "secret_place/rest"
    Ledger(first).append(*(run for run in runs if run.session < "20261122"))
    Ledger(rest).append(*(run for run in runs if run.session > "20261115"))
    done = run_command("history", str(rest), str(first), "--out", str(tmp_path / "out"))

    assert done.returncode == 0, done.stdout + done.stderr
    html = read_page(tmp_path / "out/history.html")
    for text in (
        "Since 2026-11-19 (PyTorch 2.14.0 → 2.15.0, NVIDIA driver 580.65 → 590.11), <strong>slower</strong>: PyTorch, "
        "cnn10, 1.08 times as long (1.07 to 1.09)",
        "All 6 sessions were measured on one machine: NVIDIA A10G.",
        "Every trial is in two sessions or more.",
    ):
        assert text in html, text
    assert html.index('class="part answer"') < html.index('class="part evidence"')
    assert "secret_place" not in html + (tmp_path / "out/history.ipynb").read_text()
    images = re.findall(r"<img[^>]*>", html)
    assert images and all(re.search(r'alt="[^"]{20,}"', image) for image in images)
