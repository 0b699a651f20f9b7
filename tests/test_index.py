import json

import pytest
from bs4 import BeautifulSoup

from tiny_notebooks import write
from trainspeed.execute import Outcome, Result
from trainspeed.index import read_verdicts, write_index

MACHINE = {
    "cpu": "AMD EPYC 9654",
    "cores": {"physical": 8, "logical": 16, "quota": 4.0},
    "memory_bytes": 128 * 2**30,
    "gpus": [{"name": "NVIDIA H200", "memory_bytes": 139 * 2**30, "uuid": "hashed"}] * 2,
    "no_gpus": None,
    "driver": "580.65",
    "container": True,
    "cuda": None,
}


def result(out, name, outcome=Outcome.OK, error=None):
    (out / f"{name}.html").write_text("page")
    suffix = "" if outcome is Outcome.OK else ".failed"
    path = write(out, f"{name}{suffix}")
    return Result(
        name=name, title=f"Is <{name}> fast?", outcome=outcome, seconds=200.0, error=error, path=path
    )


def index(out, results, **options):
    html = write_index(out, results, **options).read_text()
    return html, BeautifulSoup(html, "html.parser")


def rows(soup):
    return [
        [cell.get_text(" ", strip=True) for cell in row("td")]
        for row in soup.select("#content table tbody tr")
    ]


def test_lists_each_notebook_with_how_it_ended(tmp_path):
    results = [result(tmp_path, "layout"), result(tmp_path, "amp", Outcome.FAILED, "ValueError: a <b>")]

    html, soup = index(tmp_path, results, session="20260101T000000Z-abcd", preset="quick", version="0.1")

    assert rows(soup) == [
        ["ok", "Is <layout> fast?", "3 min", "notebook"],
        ["failed", "Is <amp> fast? ValueError: a <b>", "3 min", "notebook"],
    ]
    links = [link["href"] for link in soup.select("tbody a")]
    assert links == ["layout.html", "layout.ipynb", "amp.html", "amp.failed.ipynb"]
    assert "not complete" in soup.select_one(".banner").get_text()
    assert soup.title.string.startswith("Not complete")
    assert "<script" not in html and "http" not in html.replace("http-equiv", "")
    assert "session 20260101T000000Z-abcd · preset quick · Trainspeed 0.1" in soup.footer.get_text()


def test_a_complete_report_has_no_banner(tmp_path):
    _, soup = index(tmp_path, [result(tmp_path, "layout")])

    assert not soup.select(".banner") and soup.title.string == "Trainspeed report"


def test_a_notebook_that_was_not_run_links_to_no_older_page(tmp_path):
    (tmp_path / "amp.html").write_text("older")
    late = Result(name="amp", title="amp", outcome=Outcome.INTERRUPTED, seconds=0.0, error="not run")

    _, soup = index(tmp_path, [late])

    assert rows(soup) == [["interrupted", "amp not run", "", ""]] and not soup.select("tbody a")


def test_notebooks_of_an_earlier_session_are_named_as_such(tmp_path):
    old = json.loads(result(tmp_path, "amp").path.read_text())
    old["metadata"]["trainspeed"] = {"title": "AMP?", "status": "ok", "seconds": 12.0, "preset": "smoke"}
    (tmp_path / "amp.ipynb").write_text(json.dumps(old))
    write(tmp_path, "stranger")  # a notebook of the user's own

    _, soup = index(tmp_path, [result(tmp_path, "layout")])

    assert rows(soup)[1:] == [["ok", "AMP? from an earlier session, preset smoke", "12 s", "notebook"]]


def test_verdicts_are_grouped_by_notebook_and_what_decides_nothing_is_folded(tmp_path):
    verdicts = [
        {"study": "amp", "factor": "precision", "outcome": "slower", "sentence": "bf16 vs fp32: 0.9x"},
        {"study": "layout", "factor": "layout", "outcome": "faster", "sentence": "1.34x (95 % <interval>)"},
        {"study": "layout", "factor": "layout", "outcome": "undecided", "sentence": "1.1x, 1 block"},
        {"study": "layout", "factor": "control", "outcome": "same", "sentence": "A again vs A: 1.00x"},
    ]
    (tmp_path / "verdicts.json").write_text(json.dumps(verdicts))

    _, soup = index(tmp_path, [result(tmp_path, "layout"), result(tmp_path, "amp")])

    assert [heading.get_text() for heading in soup("h3")] == ["Is <layout> fast?", "Is <amp> fast?"]
    found = [item.get_text(" ") for item in soup.select(".verdicts > li")]
    assert found[0] == "faster 1.34x (95 % <interval>)" and found[-1] == "slower bf16 vs fp32: 0.9x"
    folded = [details.get_text(" ", strip=True) for details in soup("details")]
    assert folded == [
        "1 undecided undecided 1.1x, 1 block",
        "1 of a trial against itself same A again vs A: 1.00x",
    ]
    assert "verdicts.json" in [link["href"] for link in soup("a")]


@pytest.mark.parametrize("damaged", ["", "[{", '{"a": 1}', "[1]"])
def test_a_damaged_verdict_file_is_no_verdict(tmp_path, damaged):
    (tmp_path / "verdicts.json").write_text(damaged)

    assert read_verdicts(tmp_path / "verdicts.json") == []
    assert read_verdicts(tmp_path / "none.json") == []


def test_the_machine_is_told_in_words(tmp_path):
    _, soup = index(tmp_path, [result(tmp_path, "layout")], machine=MACHINE, data_sets=["digits", "mine"])

    names = [name.get_text() for name in soup("dt")]
    facts = dict(zip(names, [value.get_text() for value in soup("dd")], strict=True))
    assert facts == {
        "CPU": "AMD EPYC 9654",
        "Cores": "8 physical, 16 logical, of which 4 at a time",
        "Memory": "128 GiB",
        "GPU": "2 × NVIDIA H200, 139 GiB",
        "NVIDIA driver": "580.65",
        "In a container": "yes",
    }
    assert "the digits of scikit-learn" in soup.get_text() and "mine" in soup.get_text()


def test_a_machine_without_gpu_says_why(tmp_path):
    machine = {**MACHINE, "gpus": [], "no_gpus": "no NVIDIA driver library found"}

    _, soup = index(tmp_path, [result(tmp_path, "layout")], machine=machine)

    assert "none: no NVIDIA driver library found" in soup.get_text()
    assert "AMD EPYC 9654, 16 cores, no GPU" in soup.get_text()
