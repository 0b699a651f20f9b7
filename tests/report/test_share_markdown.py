"""The report as a comment on a pull request. GitHub's rules are those of CommonMark where nothing else is said."""

import re
from dataclasses import replace

import msgspec
import pytest

from front_data import NOTHING, report_of, runs_of
from share_data import HOSTILE, a_verdict, values_with
from trainspeed.judge.checks import CheckOutcome
from trainspeed.judge.verdict import judge_difference
from trainspeed.report.share_markdown import MOST_LETTERS, escape_markdown, fenced, markdown_of
from trainspeed.studies.summary.collect import ReportNotebook
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.headline import headline
from trainspeed.studies.summary.values import CheckValues, report_values


@pytest.fixture(scope="module")
def text():
    values = values_with(a_verdict(2.0), a_verdict(0.5), a_verdict(1.4, blocks=2), again=1.9)
    return markdown_of(values, complete=True)


def test_it_begins_with_the_headline_and_its_interval(text):
    heading, _, headline, _, machine, *_ = text.splitlines()

    assert heading == "## What makes training faster here?"
    assert machine.startswith("Measured on: Test CPU") and "PyTorch 2.15.0" in machine
    assert headline.startswith(
        "**1.90x as fast** (1.90 to 1.91, 6 blocks): channels\\_last vs channels\\_first, "
    )
    assert headline.endswith("; confirmed, but smaller in fresh blocks.")


def test_what_to_paste_is_code_with_the_whole_program_folded(text):
    shown, folded = text.split("### What to paste")[1].split("<details>")[:2]

    assert shown.count("```") == folded.count("```") == 2
    assert "torch.channels_last" in shown and "import torch" not in shown
    assert "import torch\n" in folded


def test_the_comments_of_what_was_switched_are_promised_and_are_there():
    """A field of the trial, here the layout, has one as a lever has."""
    layout = a_verdict(2.0)
    fused = replace(layout, candidate=layout.candidate.pulled("optimizer", "fused"))
    for verdict in (layout, fused):
        report = report_of(verdict, runs=runs_of("layout"))
        values = report_values(report, NOTHING, [Confirmed(first=verdict, again=verdict)])
        text = markdown_of(values, complete=True)
        assert "### What to paste" in text
        assert "a comment says what each switch does to the numbers" in text
        (gain,) = values.headline.gains
        assert any(": same numbers but for the order of sums" in line for line in gain.lines)


def test_the_table_has_interval_outcome_and_what_fresh_blocks_say(text):
    rows = [line for line in text.splitlines() if line.startswith("| channels")]

    assert len(rows) == 2 and rows[0].count("|") == 6
    assert (
        "| 2.00x | 2.00 to 2.01 | **faster**; in fresh blocks: 1.90x, confirmed, but smaller | 6 |" in rows[0]
    )
    assert rows[1].endswith("| 0.501x | 0.500 to 0.502 | slower | 6 |")
    assert "2 verdicts with a 95 % interval: 1 faster, 1 slower. 1 first look in fewer than 6 blocks" in text


def test_what_is_faster_and_no_gain_says_so_beside_its_outcome():
    values = values_with(a_verdict(2.0), a_verdict(1.3))
    values.verdicts[0]["no_gain"] = "no gain over a plain script"

    assert "| **faster**: no gain over a plain script | 6 |" in markdown_of(values, complete=True)


def test_what_pays_together_comes_with_its_accuracy_and_a_warning_of_what_was_slower_elsewhere():
    whole = a_verdict(1.5, factor="recipe")
    lost = replace(whole, quantity="accuracy", judgement=judge_difference([80.0] * 6, [79.0, 81.0] * 3))
    other = a_verdict(0.7, study="amp")
    other = replace(other, factor="layout", candidate=replace(whole.candidate, model="wrn28_1"))
    other = replace(other, baseline=replace(whole.baseline, model="wrn28_1"))
    _, _, headline, _, warning, *_ = markdown_of(values_with(whole, lost, other), complete=True).splitlines()

    assert headline.endswith("; accuracy undecided.")
    assert warning.startswith("Try it on your model: with others, one of these was slower. channels")
    assert "]" not in warning and "0.70" in warning


def test_what_all_comparisons_share_is_said_once_above_them():
    values = values_with(a_verdict(2.0), a_verdict(0.5), a_verdict(1.4))
    text = markdown_of(values, complete=True)

    assert "All of them: PyTorch, cnn10, " in text
    rows = [line for line in text.splitlines() if "x | " in line]
    assert len(rows) == 3 and {row.split(" | ")[0] for row in rows} == {
        "| channels\\_last vs channels\\_first"
    }


def test_what_would_decide_the_rest_comes_before_doubts_and_what_is_missing():
    values = msgspec.structs.replace(values_with(), next_steps=["layout: 9 blocks: `make report`."])
    text = markdown_of(values, complete=True)
    steps, doubts, missing = (text.index(f"### {word}") for word in ("Undecided", "Doubts", "What was not"))

    assert steps < doubts < missing
    assert "- layout: 9 blocks: `make report`." in text


def test_a_report_that_is_not_complete_says_so_first_and_a_wrong_instrument_too():
    ended = (ReportNotebook(name="amp", title="", status="failed"),)
    values = values_with(a_verdict(2.0), notebooks=ended)
    fault = CheckValues(outcomes={CheckOutcome.NOT_OK: 1}, faults=["the clock is wrong."])
    text = markdown_of(msgspec.structs.replace(values, check=fault), complete=False)

    assert text.index("> **This report is not complete**: amp (failed).") < text.index("as fast**")
    assert "> - the clock is wrong." in text


@pytest.mark.parametrize(
    ("verdicts", "again"),
    [
        ([0.5], None),
        ([], None),
        ([1.0, 0.5], None),
        ([1.5], 1.0),
        ([1.5, 0.5], 0.9),
        ([1.5], None),
        ([1.5], 1.4),
    ],
)
def test_the_headline_is_that_of_the_front_page(verdicts, again):
    """What fresh blocks refuted is told in both, in the same words; so is what they did not confirm."""
    several = [a_verdict(ratio) for ratio in verdicts]
    values = values_with(*several, again=again)
    confirmed = [Confirmed(first=several[0], again=a_verdict(again))] if again else []
    (front,) = headline(report_of(*several), confirmed)
    text = markdown_of(values, complete=True)
    said = text.splitlines()[2]

    if values.headline.gains:
        sure = front.partition(". Of those")[0].rpartition("; ")[2]
        assert said.rpartition("; ")[2].removesuffix(".") == sure.removesuffix(".")
        return
    assert "What to paste" not in said
    words = re.sub(r"\]\([^)]*\)|[\[\]*]", "", front).partition(" What would decide")[0]
    assert said.replace("*", "") == words
    assert ("1 undecided (1 not confirmed)" in text) == (again is not None)


def test_it_is_short_enough_for_a_comment_and_says_what_is_left_out():
    values = values_with(*(a_verdict(1 + number / 1000) for number in range(100)))
    long = msgspec.structs.replace(values, verdicts=values.verdicts * 30, doubts=[HOSTILE * 90] * 3000)
    text = markdown_of(long, complete=True)

    assert 5_000 < len(text) <= MOST_LETTERS
    assert "### Doubts: 3000" in text and " more: in the pages of the report." in text


def test_words_from_elsewhere_are_text_and_notify_nobody():
    shown = escape_markdown(HOSTILE, in_table=True)

    assert "@<!-- -->someone" in shown and "\\#<!-- -->12" in shown and "www<!-- -->." in shown
    assert r"`a\|b`" in shown and r"\[x\]" in shown and r"https\://" in shown and r"\<script\>" in shown
    assert "\u202e" not in shown
    assert "|" not in shown.replace("\\|", "")
    assert "\n" not in escape_markdown("one\ntwo")


def test_a_fence_is_longer_than_any_in_the_code():
    assert fenced("a = '```'").startswith("````python\n") and fenced("a").startswith("```python\n")
