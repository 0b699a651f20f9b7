"""`make share`: the files that it writes, what it refuses, and what it says."""

import json
import zipfile

import pytest

from share_data import a_verdict, values_with, write_page, write_values
from trainspeed.core.errors import UserError
from trainspeed.report import share as command
from trainspeed.report.output_folder import MARKER
from trainspeed.report.share import share

USER = "rosalind"


@pytest.fixture
def out(tmp_path):
    """The folder of a report: a front page, a page, and values."""
    folder = tmp_path / "out"
    write_page(folder, "index", "## Speed", f"[layout](layout.html#speed), by {USER}")
    write_page(folder, "layout", "## Speed")
    write_values(folder, values_with(a_verdict(2.0), again=1.9))
    (folder / MARKER).touch()
    return folder


@pytest.fixture(autouse=True)
def named(monkeypatch):
    monkeypatch.setattr("trainspeed.core.scrub._machine_names", lambda: {USER: "user"})


def test_a_report_becomes_four_files(out, capsys):
    assert share(out=out) == 0

    names = sorted(path.name for path in (out / "share").iterdir())
    assert names == ["badge.svg", "report.html", "report.json", "report.md"]
    assert [line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()] == [
        "report.html",
        "report.md",
        "report.json",
        "badge.svg",
    ]
    assert 'href="#layout--speed"' in (out / "share/report.html").read_text()
    assert json.loads((out / "share/report.json").read_text()) == json.loads(
        (out / "report.json").read_text()
    )


def test_twice_makes_the_same_files(out):
    share(out=out)
    first = {path.name: path.read_bytes() for path in (out / "share").iterdir()}
    share(out=out)

    assert {path.name: path.read_bytes() for path in (out / "share").iterdir()} == first


def test_names_of_user_machine_and_folder_are_in_none_of_them(out):
    values = json.loads((out / "report.json").read_text())
    (out / "report.json").write_text(
        json.dumps({**values, "doubts": [f"{USER} was here: {out.resolve()}/x"]})
    )
    share(out=out)

    for path in (out / "share").iterdir():
        assert USER not in path.read_text() and str(out.resolve()) not in path.read_text(), path.name
    assert "user was here: out/x" in (out / "share/report.md").read_text()


def test_what_is_too_large_for_one_file_becomes_a_zip_of_the_pages_which_is_said(out, monkeypatch, capsys):
    share(out=out)
    monkeypatch.setattr(command, "MOST_BYTES", 10_000)
    capsys.readouterr()
    assert share(out=out) == 0

    said = capsys.readouterr().out.splitlines()
    assert said[0] == "all pages as one file would have 0 MB, more than 0: they are in report.zip"
    assert not (out / "share/report.html").exists()
    with zipfile.ZipFile(out / "share/report.zip") as archive:
        assert sorted(archive.namelist()) == ["report/index.html", "report/layout.html"]
        front = archive.read("report/index.html").decode()
    assert 'href="layout.html#speed"' in front and USER not in front
    monkeypatch.undo()
    share(out=out)
    assert not (out / "share/report.zip").exists()


def test_pages_of_several_reports_come_last_and_what_is_no_page_is_left_out(out):
    for name in ("compare", "amp"):
        write_page(out, name, "## Speed")
    (out / "notes.html").write_text("<p>mine</p>")
    share(out=out)

    html = (out / "share/report.html").read_text()
    places = [html.index(f'id="{name}"') for name in ("index", "layout", "amp", "compare")]
    assert places == sorted(places) and "mine" not in html


def test_a_report_that_failed_is_shared_with_its_banner(out):
    write_page(out, "index", "## Speed", complete=False)
    (out / "summary.failed.ipynb").write_text("{}")
    assert share(out=out) == 0

    assert "This report is not complete" in (out / "share/report.html").read_text()
    assert "**This report is not complete**" in (out / "share/report.md").read_text()
    assert "not complete" in (out / "share/badge.svg").read_text()
    assert json.loads((out / "share/report.json").read_text())["complete"] is False


@pytest.mark.parametrize("damage", [None, "{}"])
def test_without_values_there_are_the_pages_alone_which_is_said(out, damage, capsys):
    share(out=out)
    (out / "report.json").unlink()
    if damage:
        (out / "report.json").write_text(damage)

    assert share(out=out) == 1
    assert [path.name for path in (out / "share").iterdir()] == ["report.html"]
    assert "no report.md, report.json and badge.svg: " in capsys.readouterr().out


def test_a_comparison_alone_is_shared_too(out):
    for name in ("index.html", "layout.html", "report.json"):
        (out / name).unlink()
    write_page(out, "fleet", "## Speed")

    assert share(out=out) == 0
    assert [path.name for path in (out / "share").iterdir()] == ["report.html"]


def test_a_folder_without_a_report_is_refused_in_one_line_and_nothing_is_written(tmp_path):
    with pytest.raises(UserError, match=r"^no report in .*: make one with `make report`, or name its folder"):
        share(out=tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    write_page(tmp_path / "a10g", "index", "## Speed")
    with pytest.raises(UserError, match=r"there is one in .*a10g: OUT=.*a10g\.$"):
        share(out=tmp_path)


def test_a_front_page_that_no_report_wrote_is_refused(tmp_path):
    (tmp_path / MARKER).touch()
    (tmp_path / "index.html").write_text("<main>mine</main>")

    with pytest.raises(UserError, match="is no page of a report: `make render` writes it anew"):
        share(out=tmp_path)


def test_a_link_in_place_of_the_folder_is_not_followed(out, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (out / "share").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UserError, match="is no folder: remove it"):
        share(out=out)
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_runs_are_drawn_first(out, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr("trainspeed.report.run.render", lambda **about: asked.append(about) or 1)

    assert share(out=out, source=tmp_path / "runs") == 1
    assert asked[0]["out"] == out and asked[0]["source"] == tmp_path / "runs"
    assert (out / "share/report.html").is_file()
