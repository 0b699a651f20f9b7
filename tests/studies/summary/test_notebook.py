"""The summary notebook, drawn by the report's own command from a made-up report of all four studies."""

import json
import re
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

from browser_helper import executable
from command_line import trainspeed
from first_screen import QUESTIONS, WIDTHS_PX, where_answered
from front_data import SESSION, STUDIES
from made_up_report import write_ledger, write_summary
from page_text import read_page
from trainspeed.judge.text import outcome_word, size_of
from trainspeed.show.notebook import read_elements
from trainspeed.studies.summary.collect import read_report
from trainspeed.studies.summary.tables import SWITCHES, other_verdicts

pytestmark = pytest.mark.slow


def rendered(out, *options):
    result = trainspeed("render", "--out", str(out), *options)
    assert result.returncode == 0, result.stdout + result.stderr
    return read_page(out / "index.html")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The folder; the front page while only the studies were measured, and with confirmations."""
    out = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        write_ledger(out, patch)
        before = rendered(out)
    with pytest.MonkeyPatch.context() as patch:
        write_summary(out, patch)
    ledger = (out / "runs.jsonl").read_bytes()
    after = rendered(out, "--notebooks", "summary")
    assert (out / "runs.jsonl").read_bytes() == ledger  # it measured nothing
    return out, before, after


@pytest.fixture(scope="module")
def out(report):
    return report[0]


@pytest.fixture(scope="module")
def before(report):
    return BeautifulSoup(report[1], "html.parser")


@pytest.fixture(scope="module")
def page(report):
    return BeautifulSoup(report[2], "html.parser")


@pytest.fixture(scope="module")
def verdicts(out):
    from trainspeed.judge.comparison import Verdict

    elements = [e for e in read_elements(out / "verdicts.json") if e["study"] in STUDIES]
    return [Verdict.from_dict(element) for element in elements]


def section(soup, heading):
    """Return the text between a heading and the next."""
    start = next(h for h in soup.find_all(["h2", "h3"]) if h.get_text() == heading)
    texts = []
    for element in start.find_parent("div").find_next_siblings():
        if element.find(["h2", "h3"]):
            break
        texts.append(element.get_text(" ", strip=True))
    return " ".join(texts)


def _text(cell):
    """Return a cell's text with a space between its tags, but none where a long name may break."""
    return BeautifulSoup(str(cell).replace("<wbr/>", ""), "html.parser").get_text(" ", strip=True)


def table(soup, caption):
    """Return the rows of a table, with what its caption says of all of them, and the table."""
    captions = [
        (t.caption.get_text().partition(". In all rows, "), t) for t in soup.find_all("table") if t.caption
    ]
    found, said = next((t, said) for (name, _, said), t in captions if name == caption)
    names = [name.get_text() for name in found.thead("th")]
    rows = [[_text(cell) for cell in row("td")] for row in found.tbody("tr")]
    shared = {
        column: part.removeprefix(f"{column}: ")
        for part in said.split("; ")
        for column in ("difference in points", "speed-up", "outcome", "95 % interval", "blocks", "notebook")
        if part.startswith(f"{column}: ")
    }
    return [shared | dict(zip(names, row, strict=True)) for row in rows], found


def test_the_page_has_its_sections_in_the_order_of_a_readers_questions(page):
    assert page.title.string == page.h1.get_text() == "What makes training faster here?"
    assert [heading.get_text() for heading in page.find_all("h2")][:8] == [
        "Code to paste",
        "Study by study",
        "What to switch on",
        "Every verdict",
        "What was not measured",
        "Doubts",
        "How to read this page",
        "Notebooks",
    ]
    assert not page.select(".banner")


def test_every_verdict_of_every_notebook_is_a_row_of_one_table(page, report, verdicts):
    """The switches of a training are in sight, the others folded."""
    front = read_report(report[0], report[0])
    groups = {SWITCHES: front.headlines, **other_verdicts(front)}
    told = [verdict for several in groups.values() for verdict in several]
    rows = [row for caption in groups for row in table(page, caption)[0]]

    assert sorted(map(repr, told)) == sorted(map(repr, verdicts))
    assert [(row["comparison"], row["notebook"]) for row in rows] == [(v.name, v.study) for v in told]
    assert all(
        row["outcome"] == outcome_word(v.judgement, v.quantity)
        for row, v in zip(rows, told, strict=True)
        if v.low is not None
    )
    assert {row["notebook"] for row in rows} == set(STUDIES)
    assert table(page, SWITCHES)[1].find_parent("details") is None
    assert all(table(page, caption)[1].find_parent("details") for caption in [*groups][1:])
    for row, verdict in zip(rows, told, strict=True):
        size = row["speed-up" if verdict.quantity == "time" else "difference in points"]
        size = float(re.match(r"[-+\d.]+", size)[0])
        assert size == pytest.approx(verdict.speedup, abs=0.06 if verdict.quantity == "accuracy" else 0.006)


def test_every_row_leads_to_the_line_of_its_verdict_or_to_its_section(page, out):
    """Of everything that the four notebooks really record."""
    groups = {SWITCHES: (front := read_report(out, out)).headlines, **other_verdicts(front)}
    links = [row.a["href"] for caption in groups for row in table(page, caption)[1].tbody("tr")]
    told = [verdict for several in groups.values() for verdict in several]
    pages = {study: BeautifulSoup(read_page(out / f"{study}.html"), "html.parser") for study in STUDIES}

    lines = 0
    for link, verdict in zip(links, told, strict=True):
        name, _, anchor = link.partition("#")
        target = pages[verdict.study].find(id=anchor)
        assert name == f"{verdict.study}.html" and target is not None, link
        if target.name in ("tr", "li"):
            lines += 1
            size = size_of(verdict, verdict.quantity, times="", points="")
            assert anchor == verdict.anchor and size in target.get_text(), link
            assert target.find("a", href=f"#{anchor}")
        else:
            assert anchor in ("answer", section_of(verdict)) and target.name in ("h2", "h3"), link
    assert lines > len(told) / 2


def section_of(verdict):
    """Return the id of the section that a notebook shows a verdict in."""
    if verdict.quantity == "accuracy" and not verdict.is_control:
        return {"amp": "does-accuracy-hold"}.get(verdict.study, "accuracy")
    if verdict.factor == "framework":
        return "framework-against-framework"
    if verdict.factor == "pipeline":
        return "the-input-pipeline"
    return "channels_last-against-channels_first" if verdict.study == "layout" else "speed-up"


@pytest.mark.skipif(executable() is None, reason="no Chromium here: see test_browser.py")
def test_six_questions_are_answered_from_the_first_screen(chromium, out):
    for width_px in WIDTHS_PX:
        found = where_answered(chromium, out / "index.html", width_px, QUESTIONS)
        assert "nowhere" not in found.values(), (width_px, found)


def test_no_link_of_the_page_is_dead(page, out):
    links = [link["href"] for link in page.find_all("a", href=True)]

    assert len(links) > 30
    for link in links:
        parts = urlsplit(link)
        assert not parts.scheme and not parts.path.startswith(("/", ".."))
        if parts.path:
            assert (out / parts.path).is_file(), link
        else:
            assert page.find(id=parts.fragment) is not None, link


def test_the_headline_counts_what_is_in_the_file(page, verdicts):
    text = section(page, "Every verdict")

    judged = [v for v in verdicts if v.low is not None]
    shown, folded = re.search(
        r"(\d+) verdicts on switches, with an interval.*?(\d+) more", text, re.DOTALL
    ).groups()
    assert int(shown) + int(folded) == len(judged)
    assert f"up to {0.05 * len(judged):.1f} of these intervals" in text


def test_what_to_switch_on_is_what_was_faster(page, verdicts):
    text = section(page, "What to switch on")

    assert "1.30x (1.30 to 1.30), faster: channels_last vs channels_first, PyTorch" in text
    assert "1.20x (1.20 to 1.20), faster: bf16 vs default" in text
    assert "control" not in text and "slower" not in text
    trainings, _, convolutions = text.partition("Single convolutions: ")
    assert (
        "scipy.signal" not in trainings and " as fast as scipy.signal" in convolutions
    )  # nobody trains with one


def test_the_chart_and_all_other_figures_say_what_they_show(page):
    images = page.find_all("img")
    assert len(images) == 2 + len(page.select(".card")) and all(len(image["alt"]) > 20 for image in images)


def test_every_answer_has_a_chart(page, before, out):
    pages = [BeautifulSoup(read_page(out / f"{study}.html"), "html.parser") for study in STUDIES]
    assert [len(one.select(".answer img")) > 0 for one in (page, before, *pages)] == [True] * (
        2 + len(STUDIES)
    )


def test_before_anything_was_confirmed_the_page_says_so_and_claims_nothing(before):
    assert "there is nothing to paste" in section(before, "Code to paste")
    assert "Nothing was measured again" in section(before, "Measured again in fresh blocks")
    assert "found once, and not yet confirmed" in before.select_one(".answer").get_text()


def test_the_largest_gain_of_each_notebook_was_confirmed(page):
    text = section(page, "Measured again in fresh blocks")
    assert text.count(" in 6 fresh blocks: confirmed.") == len(STUDIES)


def test_what_was_not_measured_is_told_with_its_reason_as_it_was_written(page):
    text = section(page, "What was not measured")
    assert text.count("unsupported: TF32 is <no> mode of *this* CPU.") == 1
    assert "amp: " in text


def test_doubts_machine_data_and_times_are_there(page):
    assert "No A/A control" not in section(page, "Doubts")
    assert "Test CPU" in section(page, "Machine") and "2.15.0" in section(page, "Machine")
    data = section(page, "Data")
    assert "digits of scikit-learn" in data and "runs.jsonl" in data and "verdicts.json" in data
    rows, _ = table(page, "The notebooks of this report")
    assert [row["status"] for row in rows] == ["ran to its end"] * 4
    assert "earlier session" not in page.get_text()
    assert "4 notebooks, drawn again from runs that took" in section(page, "Notebooks")


def test_the_page_says_which_session_it_is_of(page):
    assert f"session {SESSION} · preset smoke" in page.footer.get_text()


def test_the_confirmations_are_recorded_beside_the_studies(out):
    found = [e for e in json.loads((out / "verdicts.json").read_text()) if e["study"] == "summary"]
    assert {e["factor"] for e in found} >= {"layout", "precision"}
