"""The headline as a badge."""

from dataclasses import replace

import msgspec
import pytest
from lxml import etree

from share_data import HOSTILE, a_verdict, values_with
from trainspeed.judge.checks import CheckOutcome
from trainspeed.judge.verdict import Outcome
from trainspeed.report.share_badge import AMBER, GREEN, GREY, RED, WIDTHS, badge, drawn, text_px
from trainspeed.studies.summary.values import CheckValues

SVG = "{http://www.w3.org/2000/svg}"
UNDECIDED = a_verdict(1.02, judgement=replace(a_verdict(1.02).judgement, outcome=Outcome.UNDECIDED))
FAULTY = CheckValues(outcomes={CheckOutcome.NOT_OK: 1}, faults=["the clock is wrong"])


def parts(svg):
    """Return the texts of both halves, the colour of the second, and the title."""
    tree = etree.fromstring(svg.encode())
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    return *texts, [path.get("fill") for path in tree.iter(f"{SVG}path")][1], tree.find(f"{SVG}title").text


@pytest.mark.parametrize(
    ("verdicts", "again", "said"),
    [
        ([a_verdict(2.0)], 1.9, ("PyTorch cnn10", "1.90x as fast, 3 lines", GREEN)),
        (
            [a_verdict(2.0), a_verdict(1.5, factor="recipe")],
            None,
            ("PyTorch cnn10", "1.50x as fast, 3 lines", GREEN),
        ),
        ([a_verdict(2.0)], None, ("PyTorch cnn10", "2.00x as fast, found once", AMBER)),
        ([a_verdict(0.5)], None, ("Trainspeed", "nothing faster", GREY)),
        ([UNDECIDED], None, ("Trainspeed", "undecided", GREY)),
        ([], None, ("Trainspeed", "undecided", GREY)),
    ],
)
def test_it_says_what_was_found_and_how_sure_it_is(verdicts, again, said):
    assert parts(badge(values_with(*verdicts, again=again), complete=True))[:3] == said


def test_its_title_has_interval_machine_and_confirmation():
    title = parts(badge(values_with(a_verdict(2.0), again=1.9), complete=True))[3]

    assert title.startswith("channels_last vs channels_first, PyTorch, cnn10")
    assert "1.90x as fast (1.90 to 1.91), confirmed in fresh blocks, on Test CPU" in title


def test_what_a_search_kept_is_measured_once_and_not_called_confirmed():
    title = parts(badge(values_with(a_verdict(1.5, factor="recipe")), complete=True))[3]

    assert "measured in 6 fresh blocks, none of which chose it" in title and "confirmed" not in title


def test_a_report_that_is_not_complete_and_a_wrong_instrument_are_no_green():
    values = values_with(a_verdict(2.0), again=1.9)

    assert parts(badge(values, complete=False))[1:3] == ("1.90x as fast, 3 lines, not complete", AMBER)
    faulty = msgspec.structs.replace(values, check=FAULTY)
    assert parts(badge(faulty, complete=True))[:3] == ("Trainspeed", "instrument not ok", RED)


def test_words_from_elsewhere_are_text():
    tree = etree.fromstring(drawn(HOSTILE, "1.00x", GREY, HOSTILE).encode())

    assert {element.tag.removeprefix(SVG) for element in tree.iter()} == {"svg", "title", "path", "g", "text"}
    assert "\u202e" not in etree.tostring(tree, encoding="unicode")


def test_each_half_is_as_wide_as_its_letters():
    tree = etree.fromstring(drawn("mmmm", "iiii", GREY, "").encode())
    wide, narrow = (float(text.get("textLength")) for text in tree.iter(f"{SVG}text"))

    assert (wide, narrow) == (text_px("mmmm"), text_px("iiii")) and wide > 3 * narrow
    assert float(tree.get("width")) == wide + narrow + 24
    assert len(WIDTHS) == ord("~") - ord("!") + 1
    assert text_px("漢字") == 22


def test_a_long_name_is_cut():
    name, *_ = parts(drawn("x" * 500, "", GREY, ""))
    assert len(name) == 60 and name.endswith("…")
