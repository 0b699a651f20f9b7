"""What is not marked as Markdown is shown as it is, by the very converter that makes the pages."""

import random

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

import hostile_ledger
from trainspeed.core.markdown import Marked, escape, plain_text, visible

PIECES = (
    *(
        "`",
        "``",
        "```",
        "\\",
        "*",
        "**",
        "_",
        "<b>",
        "<meta http-equiv=refresh>",
        "</li>",
        "<!--",
        "-->",
        "&lt;",
        "$",
    ),
    *(
        "$$",
        "[x](y)",
        "![x](y)",
        "[x]",
        "(",
        ")",
        "\\(",
        "\\[",
        "|",
        "~~",
        "#",
        ">",
        "- ",
        "1. ",
        " ",
        "\n",
        "\n\n",
    ),
    *(
        "https://evil.example/",
        "<https://evil.example/>",
        "word",
        "\u202e",
        "\t",
        ": ",
        "[^1]",
        "- [ ] ",
        "{",
        "}",
    ),
)


def rendered(markdown: str) -> BeautifulSoup:
    html = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True)).render(
        markdown
    )
    return BeautifulSoup(html, "html.parser")


def markup_in(soup: BeautifulSoup) -> list[str]:
    """Return the tags that are neither those of a list nor code, and those with attributes."""
    return [str(tag) for tag in soup.find_all(True) if tag.attrs or tag.name not in ("ul", "li", "p", "code")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("got <class 'int'>", "got \\<class 'int'\\>"),
        ("__call__ of *x* costs $5", "\\_\\_call\\_\\_ of \\*x\\* costs \\$5"),
        ("see [1](x) & `make setup <x>`", "see \\[1\\](x) \\& `make setup <x>`"),
        ("two\n  lines", "two lines"),
        ("a ` alone", "a \\` alone"),
        ("``` <b>`x`", "\\`\\`\\` \\<b\\>`x`"),
        ("see https://x.org", "see https\\://x.org"),
        ("left \u202e right", "left \N{REPLACEMENT CHARACTER} right"),
    ],
)
def test_what_others_wrote_is_shown_as_it_is(text, shown):
    assert escape(text) == shown


def test_what_is_marked_stays_and_what_is_escaped_is_not_escaped_twice():
    assert escape(Marked("**bold**")) == "**bold**"
    assert escape(escape("*")) == "\\*"


@pytest.mark.parametrize("text", hostile_ledger.MARKUP, ids=range(len(hostile_ledger.MARKUP)))
def test_no_markup_of_a_ledger_reaches_a_page(text):
    soup = rendered(f"- {escape(text)}\n- {escape('the next')}")

    assert markup_in(soup) == []
    assert len(soup.find_all("li")) == 2


def test_no_mixture_of_markup_reaches_a_page():
    chance = random.Random(0)
    for _ in range(1500):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 12)))
        soup = rendered(f"- before {escape(text)} after")
        assert markup_in(soup) == [], repr(text)
        whole = f"before {visible(text)} after"
        assert soup.get_text().replace("`", "").split() == whole.replace("`", "").split(), repr(text)


def test_the_check_for_markup_can_fail():
    assert markup_in(rendered("- <meta http-equiv=refresh>")) and markup_in(rendered("- *x*"))


@pytest.mark.parametrize("seed", range(20))
def test_escaped_text_is_plain_text_again(seed):
    line = visible("".join(random.Random(seed).choices(PIECES, k=12)))
    assert plain_text(escape(line)) == line


def test_plain_text_has_the_words_of_links_and_of_bold_text_and_code_as_it_was():
    marked = Marked(
        rf"**Try it**: {escape('a_b [x](y)')} in [multi\_gpu](multi_gpu.html) (`make x P='[1](2)'`)"
    )
    assert plain_text(marked) == "Try it: a_b [x](y) in multi_gpu (`make x P='[1](2)'`)"
    assert plain_text("a **b** [c](d)") == "a **b** [c](d)", "no markup"
