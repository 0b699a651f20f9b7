"""What the articles are, for a reader who only meets their numbers."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import dataclass

from trainspeed.articles.claims import FOLDER


@dataclass(frozen=True, kw_only=True)
class Article:
    """An article that measured.

    Attributes:
        source: Its number, as tables and charts have it.
        title: As printed; "" where it is not known.
        meaning: The title in English, as we translate it.
        subject, hardware: What it measured, and on what.
        year: "" where it is not known.
    """

    source: str
    title: str
    meaning: str
    subject: str
    hardware: str
    year: str

    @property
    def words(self) -> str:
        """Return what it is, in words."""
        title = f"“{self.title}” (“{self.meaning}”), " if self.title else ""
        year = f", {self.year}" if self.year else ""
        return f"{self.source}, {title}{self.subject} ({self.hardware}{year})"


def articles() -> list[Article]:
    """Return all articles, in the order of their numbers."""
    with (FOLDER / "articles.csv").open(encoding="utf-8", newline="") as file:
        return [Article(**row) for row in csv.DictReader(file)]


def articles_sentence(sources: Collection[str]) -> str:
    """Return the sentence that says what these articles are; "" of none.

    Args:
        sources: Their numbers.
    """
    told = [article.words for article in articles() if article.source in sources]
    noun = "Article" if len(told) == 1 else "Articles"
    return f"{noun}, in Japanese: {'; '.join(told)}." if told else ""
