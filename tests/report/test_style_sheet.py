"""Rules of the pages that hold only beside others."""

from trainspeed.report.export import TEMPLATES

SCREEN, _, PRINT = (TEMPLATES / "report.css").read_text().partition("@media print {")


def test_on_paper_the_first_column_of_a_table_does_not_stick():
    """A weaker selector than that of the screen changes nothing, and its background hides the lines of the rows."""
    (sticky,) = [line for line in SCREEN.splitlines() if "> :first-child" in line and "sticky" in line]
    selector = sticky.partition(" {")[0]
    assert f"{selector} {{ position: static; background: none; }}" in PRINT


def test_on_paper_a_heading_and_its_introduction_stand_with_what_they_introduce():
    """A section whose code is folded has nothing else between its introduction and what follows."""
    rules = [line.partition(" {")[0] for line in PRINT.splitlines() if "break-after: avoid" in line]
    assert any(".markdown:has(> :is(h2, h3, h4)):not(:last-child)" in selector for selector in rules)


def test_code_that_goes_on_to_the_right_has_the_shade_of_tables():
    assert ".scroll, pre {\n  background:\n" in SCREEN


def test_on_paper_what_stands_last_and_the_footer_are_siblings():
    """Only between siblings is a break avoided: else the footer has a sheet of its own where the text fills one."""
    assert "footer { margin: 1rem 0 0; break-before: avoid; }" in PRINT
    assert "main, .part:last-of-type { display: contents; }" in PRINT


def test_long_texts_wrap_before_a_table_scrolls_on_all_but_a_phone():
    assert "@media screen and (min-width: 34.01rem) { .scroll > table { max-width: 100%; } }" in SCREEN
    assert "@media screen and (min-width: 34.01rem) { wbr:not(.long) { display: none; } }" in SCREEN
