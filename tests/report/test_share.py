"""`make share`: the files that it writes, what it refuses, and what it says."""

import json
import shutil
import zipfile
from posixpath import dirname, join, normpath

import pytest
from bs4 import BeautifulSoup

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
    front = unzipped(out)["report/index.html"]
    assert sorted(unzipped(out)) == ["report/index.html", "report/layout.html"]
    assert 'href="layout.html#speed"' in front and USER not in front
    monkeypatch.undo()
    share(out=out)
    assert not (out / "share/report.zip").exists()


def unzipped(out):
    with zipfile.ZipFile(out / "share/report.zip") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_pages_of_a_zip_are_as_clean_and_lead_to_nothing_that_is_not_in_it(out, monkeypatch):
    write_page(out, "index", "## Speed", "[here](#speed), [data](runs.csv), [all](layout.html)")
    page = out / "layout.html"
    page.write_text(
        page.read_text().replace("</main>", "<script>go()</script><p onclick='go()'>words</p></main>")
    )
    monkeypatch.setattr(command, "MOST_BYTES", 10_000)
    share(out=out)

    pages = unzipped(out)
    links = [
        link["href"] for link in BeautifulSoup(pages["report/index.html"], "html.parser").main.find_all("a")
    ]
    assert {"#speed", "#", "#top", "layout.html"} == set(links)
    assert "data (not in this file)" in pages["report/index.html"]
    assert "words" in pages["report/layout.html"] and "go()" not in pages["report/layout.html"]
    assert 'href="index.html">Back to the front page' in pages["report/layout.html"]


def test_a_front_page_that_is_older_than_what_was_begun_last_says_so(out, capsys):
    (out / "report.json").unlink()
    (out / "summary.ipynb").write_text('{"metadata": {"trainspeed": {"session": "20261101T080000Z-abcd"}}}')
    asked = {"session": "20261101T080000Z-abcd", "preset": "quick", "notebooks": ["layout"]}
    sessions = out / "sessions.jsonl"
    sessions.write_text(json.dumps(asked) + "\n")
    share(out=out)
    assert 'class="banner"' not in (out / "share/report.html").read_text()

    sessions.write_text(f"{json.dumps(asked)}\n{json.dumps(asked | {'session': '20261102T080000Z-abcd'})}\n")
    capsys.readouterr()
    assert share(out=out) == 1
    html = (out / "share/report.html").read_text()
    assert "A newer one, session 20261102T080000Z-abcd, was begun and did not end" in html
    assert "session 20261102T080000Z-abcd, did not end: `make render`" in capsys.readouterr().out


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


@pytest.mark.parametrize("large", [False, True])
def test_a_fleet_is_shared_with_the_reports_of_its_machines(out, large, monkeypatch):
    """Of the folders beside its page, those that it compares: no other one."""
    fleet = out.parent / "fleet"
    write_page(fleet, "fleet", "## Speed")
    saved = {"metadata": {"papermill": {"parameters": {"runs": ["a10g", "h100", "../out"]}}}}
    (fleet / "fleet.ipynb").write_text(json.dumps(saved))
    (fleet / MARKER).touch()
    for name in ("a10g", "h100", "mine"):
        shutil.copytree(out, fleet / name)
    monkeypatch.setattr(command, "MOST_BYTES", 10_000 if large else 10**9)
    assert share(out=fleet) == 0

    (written,) = (fleet / "share").iterdir()
    files = ["fleet", "a10g/index", "a10g/layout", "h100/index", "h100/layout"]
    if not large:
        soup = BeautifulSoup(written.read_text(), "html.parser")
        assert [part["id"] for part in soup.select("article")] == [file.replace("/", "-") for file in files]
        assert soup.select_one("#h100-index a[href='#h100-layout--speed']")
        assert soup.select_one("#h100-layout .bar a")["href"] == "#h100-index"
        assert soup.select("nav.pages a")[3].get_text() == "h100: The question of index"
        return
    soups = {file: BeautifulSoup(page, "html.parser") for file, page in unzipped(fleet).items()}
    assert list(soups) == [f"report/{file}.html" for file in files]
    for file, soup in soups.items():
        links = [link["href"].partition("#")[0] for link in soup.main.find_all("a")]
        assert all(normpath(join(dirname(file), link)) in soups for link in links if link), links
    assert soups["report/h100/index.html"].select_one(".bar a")["href"] == "../fleet.html"


@pytest.mark.parametrize("large", [False, True])
def test_a_machine_of_a_fleet_that_is_called_like_its_user_is_not_named(out, large, monkeypatch):
    """Neither by what is written of it, nor by a link, an id or a file."""
    fleet = out.parent / "fleet"
    write_page(fleet, "fleet", "## Speed")
    (fleet / "fleet.ipynb").write_text(
        json.dumps({"metadata": {"papermill": {"parameters": {"runs": [USER]}}}})
    )
    (fleet / MARKER).touch()
    shutil.copytree(out, fleet / USER)
    monkeypatch.setattr(command, "MOST_BYTES", 10_000 if large else 10**9)
    assert share(out=fleet) == 0

    pages = unzipped(fleet) if large else {"": (fleet / "share/report.html").read_text()}
    assert USER not in str(pages)
    front = BeautifulSoup(next(iter(pages.values())), "html.parser")
    led = front.find("a", string="user: The question of index")["href"]
    assert led == ("user/index.html" if large else "#user-index")


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


def test_runs_of_elsewhere_are_drawn_and_shared_and_leave_the_users_own_report_alone(
    out, monkeypatch, tmp_path
):
    asked = []

    def render(*, out, **about):
        asked.append(about)
        assert not out.exists(), "there is no page that could be taken for one of theirs"
        write_page(out, "index", "## Speed", f"drawn in {out}")
        return 1

    monkeypatch.setattr("trainspeed.report.run.render", render)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.name != MARKER}

    assert share(out=out, source=tmp_path / "runs") == 1
    assert asked[0]["source"] == tmp_path / "runs" and not asked[0]["stays"]
    assert {name: (out / name).read_bytes() for name in before} == before
    assert {path.name for path in out.iterdir()} == {*before, MARKER, "share"}
    assert [path.name for path in (out / "share").iterdir()] == ["report.html"]
    html = (out / "share/report.html").read_text()
    assert "drawn in report" in html and USER not in html and 'id="layout"' not in html


@pytest.mark.parametrize("newer", ["fleet", "summary"])
def test_of_a_report_and_a_fleet_in_one_folder_the_newer_one_is_shared(out, newer, capsys):
    """On a head that has measured by itself before. Who copies a folder gives its files other times."""
    write_page(out, "fleet", "## Speed")
    shutil.copytree(out, out / "a10g")
    for name in ("summary", "fleet"):
        about = {"start_time": f"2026-11-2{3 if name == newer else 2}T20:00:00+00:00"}
        about |= {"parameters": {"runs": ["a10g"]}}
        (out / f"{name}.ipynb").write_text(json.dumps({"metadata": {"papermill": about}}))
    assert share(out=out) == 0

    soup = BeautifulSoup((out / "share/report.html").read_text(), "html.parser")
    pages = [part["id"] for part in soup.select("article")]
    written = sorted(path.name for path in (out / "share").iterdir())
    said = capsys.readouterr().out
    if newer == "fleet":
        assert pages[:2] == ["fleet", "a10g-index"] and not {"index", "layout"} & {*pages}
        assert written == ["report.html"] and "fleet.html is newer than index.html" in said
    else:
        assert pages[0] == "index" and "report.md" in written and "newer" not in said
