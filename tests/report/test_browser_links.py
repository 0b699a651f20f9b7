"""Links to a verdict, followed in a real browser."""

import pytest

import sample_page
from browser_helper import executable, opened

PAGE_COLOUR = "getComputedStyle(document.body).backgroundColor"
IN_SIGHT = """id => {
  const { top, bottom } = document.getElementById(id).getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(executable() is None, reason="no Chromium here: install it (apt install chromium)"),
]


@pytest.fixture
def page(chromium, tmp_path):
    """A page with a verdict in a folded table."""
    with opened(chromium, sample_page.write(tmp_path), 360) as opened_page:
        yield opened_page


def test_a_link_to_a_folded_verdict_shows_it_highlighted(page):
    """And a verdict's own link, which is in sight once the keyboard is at it."""
    row = page.locator(f"#{sample_page.FOLDED}")
    assert not row.is_visible()
    page.goto(f"{page.url}#{sample_page.FOLDED}")
    assert row.is_visible() and page.evaluate(IN_SIGHT, sample_page.FOLDED)
    name = row.locator("td").first
    assert name.evaluate("cell => getComputedStyle(cell).backgroundColor") != page.evaluate(PAGE_COLOUR)
    page.goto(page.url.partition("#")[0] + "#top")
    assert name.evaluate("cell => getComputedStyle(cell).backgroundColor") == page.evaluate(PAGE_COLOUR)
    link = row.locator("a.here")
    page.mouse.move(0, 0)
    assert link.evaluate("link => getComputedStyle(link).opacity") == "0"
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert link.evaluate("link => getComputedStyle(link).opacity") == "1"
