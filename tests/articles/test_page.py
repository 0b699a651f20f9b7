"""What stands beside the articles: what is of this machine is shown, the rest is folded."""

import pytest
from pandas.io.formats.style import Styler

from scaling_data import make_verdict
from trainspeed.articles import charts, page, ratios, views
from trainspeed.articles.claims import ClaimAnswer, Result, claims
from trainspeed.show import notebook

STATED = claims("multi_gpu")


@pytest.fixture
def shown(monkeypatch):
    """What is shown: a chart by its title, a table as it is, all else by its text."""
    things = []
    monkeypatch.setattr(
        notebook, "display", lambda thing, **_: things.append(getattr(thing, "data", thing) or thing)
    )
    monkeypatch.setattr(
        notebook, "show_table", lambda table: things.append(table) if table is not None else None
    )
    monkeypatch.setattr(page, "show", lambda ax, alt: things.append(ax.figure.get_suptitle()))
    return things


def answered(*results):
    return [ClaimAnswer(claim=claim, result=result) for claim, result in zip(STATED, results, strict=False)]


def test_statements_that_nothing_was_measured_about_are_folded(shown):
    page.show_claims(answered(Result.UNDECIDED, Result.UNMEASURED, Result.AGREES, Result.UNMEASURED))
    table, folded, sources = shown
    assert sources.startswith("- Articles, in Japanese: 000, ")
    assert table.data["this machine"].tolist() == ["undecided", "agrees"]
    assert folded.startswith("<details><summary>Not measured here: 2 statements</summary>")
    assert STATED[1].claim in folded and STATED[0].claim not in folded


@pytest.mark.parametrize("result", [Result.UNMEASURED, Result.DISAGREES])
def test_where_all_are_of_one_kind_the_other_is_not_there(shown, result):
    page.show_claims(answered(result))
    only, _ = shown
    assert isinstance(only, Styler) == (result is Result.DISAGREES)


def test_no_statement_at_all_is_a_sentence(shown):
    page.show_claims([])
    assert shown == [page.NO_STATEMENT]


@pytest.mark.parametrize(
    ("data", "plot", "table"),
    [
        (ratios.second_device([]), charts.plot_second_device, views.second_device_table),
        (ratios.input_pipelines([]), charts.plot_published_pipelines, views.pipelines_table),
        (ratios.batch_sizes([]), charts.plot_batch_sizes, views.batch_sizes_table),
    ],
    ids=["second device", "pipelines", "batch sizes"],
)
def test_numbers_of_the_article_alone_are_a_folded_table(shown, data, plot, table):
    page.show_numbers(data, plot, table, name="Numbers", alt="A chart.")
    (folded,) = shown
    assert folded.startswith(f"<details><summary>Numbers: {page.THEIRS_ALONE}") and "article" in folded


def test_numbers_of_this_machine_are_a_chart_and_a_table(shown):
    data = ratios.second_device([make_verdict(1.25)])
    arguments = data, charts.plot_second_device, views.second_device_table
    page.show_numbers(*arguments, name="Numbers", alt="A chart.")
    page.show_numbers(*arguments, name="Numbers", alt="A chart.", with_table=False)
    title, table, again = shown
    assert isinstance(table, Styler) and title == again and "1.25x" in title


def test_nothing_of_either_is_a_sentence(shown):
    page.show_numbers(
        ratios.precision_shares([]), charts.plot_shares, views.shares_table, name="Numbers", alt="A chart."
    )
    assert shown == [page.NO_NUMBER]
