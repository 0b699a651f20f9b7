"""The cards of the front page, one for each study."""

from dataclasses import replace

import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup

from front_data import report_of, runs_of, verdicts_of
from trainspeed.judge.answer import answers
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary import cards
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import switch_sentences
from trainspeed.studies.summary.notebooks import ReportNotebook

HOSTILE = 'x"><img src=//evil onerror=go()>'


def verdict(ratio=1.3, *, study="layout", blocks=6, **more):
    return replace(verdicts_of(runs_of(study, ratio, blocks=blocks))[0], **more)


def test_a_card_says_what_fresh_blocks_say_and_marks_no_gain_that_they_refuted():
    lost, held = verdict(1.5), verdict(1.3, baseline=replace(verdict().baseline, batch_size=7))
    again = {lost: Confirmed(first=lost, again=verdict(0.8)), held: Confirmed(first=held, again=verdict(1.3))}
    told = cards.remarked([lost, held], report_of(lost, held), again)
    (answer,) = answers(told)

    said = cards.card_text(answer, told)
    assert "(1.30x; in fresh blocks, 1.30x at first)" in said
    assert "1.50x" not in said
    open_ = cards.open_text([answer], told)
    assert open_.startswith("<strong>Undecided</strong>: ")
    assert "(0.802x; slower in fresh blocks, 0.800 to 0.804; faster at first, 1.50x)" in open_
    assert [*cards.card_rows([*told])["kind"]] == ["faster", "undecided"]


def test_a_gain_that_fresh_blocks_confirm_has_their_size_first():
    """What is found first is the likelier to be too large: a card said 1.48x of what fresh blocks put at 1.43x."""
    first, again = verdict(1.48), verdict(1.43)
    report = report_of(first)
    one = Confirmed(first=first, again=again)
    ((shown, remark),) = cards.remarked([first], report, {first: one}).items()

    assert (shown.speedup, shown.low, shown.high) == (again.speedup, again.low, again.high)
    assert remark == "; in fresh blocks, 1.48x at first"
    (line,) = switch_sentences(report, [one])
    assert line.startswith("**1.43x** (") and line.endswith(", 1.48x at first.")


def test_a_card_says_what_is_of_an_earlier_session():
    old = verdict(1.5, session="20260101T000000Z-abcd")
    newer = ReportNotebook(name="amp", title="", status="ok", session="20260201T000000Z-abcd")

    told = cards.remarked([old], report_of(old, notebooks=(newer,)), {})

    assert [*told.values()] == ["; from an earlier session"]


@pytest.mark.parametrize(
    ("device", "said"), [("cpu", "; over one core; a plain script uses all of them"), ("gpu", "")]
)
def test_a_card_says_that_what_several_cores_gain_is_over_one(device, said):
    cores = verdict(1.8, factor="devices")
    runs = tuple(runs_of("multi_gpu", machine={"device": device, "cpu": "Test CPU"}))

    assert [*cards.remarked([cores], report_of(cores, runs=runs), {}).values()] == [said]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, "in the code, as the set was measured with it; its own share was not measured"),
        (Outcome.FASTER, "in the code, as it is faster beside the others there"),
        (Outcome.SLOWER, "in the code, as the set was measured with it; its own share there: slower"),
    ],
)
def test_a_card_says_of_what_does_not_pay_alone_why_the_code_has_it(share, said):
    """Else the code has a line that the page calls undecided, and of which another page says to leave it."""
    open_ = verdict()
    open_ = replace(open_, judgement=replace(open_.judgement, outcome=Outcome.UNDECIDED))
    whole = replace(verdict(1.7), study="switches", factor="recipe")
    alone = report_of(open_, whole)
    whole = replace(whole, candidate=replace(whole.candidate, precision="bf16"))
    of_share = replace(open_, study="switches", candidate=whole.candidate)
    of_share = replace(of_share, judgement=replace(of_share.judgement, outcome=share))
    report = report_of(open_, whole, *([of_share] if share else []))

    assert [*cards.remarked([open_], alone, {}).values()] == ["; in the code, as the search confirmed it"]
    assert [*cards.remarked([open_], report, {}).values()] == [f"; {said}"]
    assert [*cards.remarked([open_], report_of(open_), {}).values()] == [""]


def test_a_card_has_the_question_the_answer_and_a_chart_that_is_described(capsys):
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cards, "display", lambda page: shown.append(page.data))
        cards.show_cards(report_of(verdict(1.3), verdict(2.0, study="conv2d")))
    soup = BeautifulSoup(shown[0], "html.parser")

    assert [card.h3.a["href"] for card in soup.select(".cards > .card")] == ["layout.html", "conv2d.html"]
    card = soup.select_one(".card")
    assert "channels_last vs channels_first: faster for PyTorch, cnn10 (1.30x)." in card.get_text()
    assert card.img["src"].startswith("data:image/svg+xml;base64,") and "with intervals" in card.img["alt"]


def test_a_report_without_comparisons_has_no_cards(monkeypatch):
    monkeypatch.setattr(cards, "display", lambda page: pytest.fail("something was shown"))

    cards.show_cards(report_of())


def test_words_from_elsewhere_are_no_html():
    trial = replace(verdict().baseline, model=f"nets/{HOSTILE}.py:build")
    (answer,) = answers([replace(verdict(), baseline=trial)])

    assert "<img" not in cards.card_text(answer)


def test_the_chart_of_a_card_has_the_largest_effects_and_the_faster_ones_first():
    several = [
        verdict(1 + step / 10, baseline=replace(verdict().baseline, batch_size=step)) for step in range(2, 9)
    ]
    rows = cards.card_rows([verdict(0.5), *several])

    assert len(rows) == cards.MOST_ROWS
    assert [*rows["kind"]] == [str(Outcome.FASTER)] * 4 + [str(Outcome.SLOWER)]  # 0.5x is as much as 2x
    assert rows["value"].is_monotonic_decreasing


def test_a_card_has_its_names_above_the_marks_and_none_behind_them_and_a_long_one_in_whole():
    rows = cards.card_rows(
        [verdict(0.5), verdict(1.3, baseline=replace(verdict().baseline, model=f"{'x' * 60}.py:build"))]
    )
    ax = plt.subplots()[1]
    cards.plot_card(rows, ax=ax)
    texts = {gid: [text for text in ax.texts if text.get_gid() == gid] for gid in ("label", "size")}
    strips = [line for line in ax.lines if line.get_gid() == "one"]
    plt.close(ax.figure)

    assert [text.get_text() for text in texts["size"]] == ["1.30x", "0.50x"]
    long, short = (text.get_text().split("\n") for text in texts["label"])
    assert "".join(long).count("x") == 60 and "x" not in "".join(short), (
        "what tells them apart is not cut off"
    )
    assert max(map(len, (*long, *short))) <= cards.LABEL_LETTERS
    for text, strip in zip(texts["label"], strips, strict=True):
        lines = text.get_text().count("\n")
        assert text.get_position()[1] + cards.LINE * lines / 2 < min(strip.get_ydata())
    assert min(strips[1].get_ydata()) - max(strips[0].get_ydata()) > cards.LINE


def test_convolutions_have_the_last_card_and_what_pays_together_the_first(monkeypatch):
    shown = []
    monkeypatch.setattr(cards, "display", lambda page: shown.append(page.data))
    recipe = replace(verdict(1.5, factor="recipe"), study="amp")
    verdicts = [verdict(2.0, study="conv2d"), verdict(1.3), recipe]
    pages = (
        ReportNotebook(name=n, title="", status="ok", page=f"{n}.html") for n in ("conv2d", "layout", "amp")
    )
    cards.show_cards(report_of(*verdicts, notebooks=tuple(pages)))

    links = [card.h3.a["href"] for card in BeautifulSoup(shown[0], "html.parser").select(".card")]
    assert links == ["amp.html", "layout.html", "conv2d.html"]
