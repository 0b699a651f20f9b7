"""Where a reader finds the answers to what is asked first: on a page's first screen, or one click further.

Only looks; what has to stand where is for the tests to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from browser_helper import opened

# The text that is wholly on the screen, block by block, and the links among it.
SCREEN = """() => {
  const BLOCKS = "p, li, h1, h2, h3, h4, pre, td, th, summary, figcaption";
  const whole = ({ width, left, top, bottom }) =>
    width > 0 && top >= 0 && bottom <= innerHeight && left >= 0 && left < innerWidth;
  const seen = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return node.parentElement.checkVisibility() && [...range.getClientRects()].some(whole);
  };
  const blocks = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const block = node.parentElement.closest(BLOCKS) ?? node.parentElement;
    const text = node.data.trim() && seen(node) ? node.data : " ";  // words of coloured code have blanks between
    blocks.set(block, (blocks.get(block) ?? "") + text);
  }
  const links = [...document.querySelectorAll("a[href]")].filter(
    (link) => link.checkVisibility() && [...link.getClientRects()].some(whole));
  return {
    lines: [...blocks.values()].map((text) => text.replace(/\\s+/g, " ").trim()),
    links: links.map((link) => link.getAttribute("href")),
  };
}"""


@dataclass(frozen=True)
class Question:
    """What a reader asks.

    Attributes:
        answer: What a line with the answer matches.
        link: What the address matches that leads to it, where it is not on the first screen.
    """

    answer: str
    link: str


WIDTHS_PX = (360, 1400)
OUTCOME = r"\b(faster|slower|undecided|the same within the margin)\b"
QUESTIONS = {
    "is channels_last worth it for PyTorch here?": Question(
        rf"channels_last vs channels_first: .*{OUTCOME} for .*PyTorch", r"layout\.html"
    ),
    "how sure is that?": Question(
        r"How sure: .*\b(reasons? to doubt|doubts? (is|are) about) (the headline|this page)", "#doubts"
    ),
    "what do I paste?": Question(
        r"import torch|import tensorflow|import keras|nothing to paste|is not a line",
        r"#(code-to-paste|pytorch-|keras-on-)",
    ),
    "was memory a problem?": Question(r"Memory: .*(\d GB, \d+ %|not known)", r"\w+\.html"),
    "what was not measured?": Question(
        r"unsupported: |: No time for |Not in this report: ", "#what-was-not-measured"
    ),
    "how long did it take?": Question(r"Time: (\d+ h )?(\d+ min )?\d+ (s|min)\b", "#notebooks"),
}


def where_answered(
    browser: Any, path: Path, width_px: int, questions: Mapping[str, Question]
) -> dict[str, str]:
    """Return for each question "here", the address of the link that leads to its answer, or "nowhere"."""
    with opened(browser, path, width_px) as page:
        first = page.evaluate(SCREEN)
        return {asked: _where(page, path, first, question) for asked, question in questions.items()}


def _where(page: Any, path: Path, first: Mapping[str, list[str]], question: Question) -> str:
    if _answers(first["lines"], question):
        return "here"
    for link in first["links"]:
        if re.match(question.link, link):
            page.goto(urljoin(path.as_uri(), link))
            if _answers(page.evaluate(SCREEN)["lines"], question):
                return link
    return "nowhere"


def _answers(lines: list[str], question: Question) -> bool:
    return any(re.search(question.answer, line) for line in lines)
