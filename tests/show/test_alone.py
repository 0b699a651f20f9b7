"""What stands beside the advice on one setting."""

import json

import pytest

from study_data import layout_pair
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import compare
from trainspeed.show.alone import alone_texts

LINK = "[switches](switches.html)"


def told(folder, lines, **more):
    (folder / "sessions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    runs = layout_pair([1.0] * 6)
    verdicts = compare(runs, "layout", "channels_first", "channels_last", question="?")
    measured = Measured(tuple(runs), "layout", "20261120T100000Z-abcd", out=folder, folder=folder, **more)
    assert alone_texts(measured, []) == []
    (text,) = alone_texts(measured, verdicts)
    return text


def test_advice_on_one_setting_says_where_it_holds_and_leads_to_what_measures_them_together(tmp_path):
    text = told(tmp_path, [json.dumps({"session": "s", "notebooks": ["layout", "switches"]})])

    assert text.startswith("All of this is of one setting changed by itself (held equal: ")
    assert "not compiled" in text and f"{LINK} measures settings together." in text


@pytest.mark.parametrize(
    "lines", [[], [json.dumps({"notebooks": ["layout"]})], ["{", "[1]", '{"notebooks": 3}']]
)
def test_a_page_that_the_report_was_not_asked_for_is_no_link(tmp_path, lines):
    assert LINK not in told(tmp_path, lines)


def test_by_hand_no_page_is_there_to_lead_to(tmp_path):
    text = told(tmp_path, [json.dumps({"session": "s", "notebooks": ["switches"]})], by_hand=True)

    assert text.endswith(" The notebook `switches` measures settings together.")
