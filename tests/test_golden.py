"""The recorded report, drawn again: its verdicts and what its pages say, compared with what is committed.

A sentence that is meant to change is changed in `tests/golden` too: with `--update-golden`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from page_text import page_text

GOLDEN = Path(__file__).parent / "golden"
PAGES = ("layout", "multi_gpu", "amp", "conv2d", "index")

pytestmark = pytest.mark.slow


@pytest.fixture
def compare(request):
    """A function that compares a text with a golden file, or writes it where that was asked for."""

    def check(name: str, text: str) -> None:
        if request.config.getoption("--update-golden"):
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_text(text, encoding="utf-8")
        assert text.splitlines() == (GOLDEN / name).read_text(encoding="utf-8").splitlines()

    return check


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_it_said(page, report_folder, compare):
    compare(f"{page}.txt", page_text(report_folder / f"{page}.html"))


def test_the_verdicts_are_what_they_were(report_folder, compare):
    verdicts = json.loads((report_folder / "verdicts.json").read_text())
    compare("verdicts.json", json.dumps(verdicts, indent=1, ensure_ascii=False) + "\n")


def test_the_comparison_can_fail(request, compare):
    if not request.config.getoption("--update-golden"):
        with pytest.raises(AssertionError):
            compare("index.txt", "something else")
