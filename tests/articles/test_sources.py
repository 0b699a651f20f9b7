"""Who the articles are."""

import csv

import pytest

from trainspeed.articles.claims import FOLDER, claims
from trainspeed.articles.sources import articles, articles_sentence

STUDIES = ("layout", "multi_gpu", "amp", "conv2d")


def test_every_article_of_which_numbers_are_kept_is_there():
    cited = set()
    for file in FOLDER.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as rows:
            cited |= {row["source"] for row in csv.DictReader(rows)}
    assert cited == {article.source for article in articles()}


@pytest.mark.parametrize("study", STUDIES)
def test_their_years_are_those_of_their_statements(study):
    years = {article.source: article.year for article in articles()}
    dated = {(claim.source, str(claim.year)) for claim in claims(study) if claim.year}
    assert dated <= set(years.items())


def test_a_title_that_is_not_known_is_left_out():
    assert articles_sentence({"001"}) == (
        "Article, in Japanese: 001, PyTorch beside TensorFlow (two RTX 2080 Ti, 2019)."
    )
    both = articles_sentence({"002", "003"})
    assert both.startswith("Articles, in Japanese: 002, several GPUs") and "; 003, “Tensorコア" in both
    assert "（" not in both and "” (“Speeding up deep learning with Tensor Cores”), " in both
    assert all(bool(article.title) is bool(article.meaning) for article in articles())
    assert articles_sentence(()) == ""
