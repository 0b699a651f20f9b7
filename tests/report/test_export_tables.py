"""Tables of a page: on paper, and that of the parameters."""

from exported import displayed, export
from tiny_notebooks import code

LONG = '<wbr class="long"/>'  # of a name for which a screen may have no room, either


def test_a_table_of_many_columns_is_set_smaller_on_paper_and_names_may_break_in_all(tmp_path):
    """What is copied from it is whole."""
    rows = "<caption>Of channels_last</caption>" + "".join(
        f"<td>{cell}</td>" for cell in ["channels_last", "models/own.py:build_torch", "1_000", *"abcdef"]
    )
    narrow = f"<table><tr><td>channels_last</td><td>{'x' * 50}</td></tr></table>"
    shown = [displayed("text/html", table) for table in (f"<table><tr>{rows}</tr></table>", narrow)]

    html, soup, _ = export(tmp_path, code("t", outputs=shown))

    wide, other = soup.find_all("table")
    assert wide["class"] == ["wide"] and wide["style"] == "--columns: 9" and not other.has_attr("class")
    assert "<td>channels_<wbr/>last</td><td>models/own.py:build_torch</td>" in html.replace(LONG, "")
    assert wide("td")[1].decode_contents() == f"models/{LONG}own.{LONG}py:{LONG}build_{LONG}torch", (
        "25 letters"
    )
    assert [cell.get_text() for cell in wide("td")][:3] == [
        "channels_last",
        "models/own.py:build_torch",
        "1_000",
    ]
    assert wide.parent["aria-label"] == "Of channels_last"
    assert not wide("td")[2].find("wbr")
    assert [len(cell("wbr")) for cell in other("td")] == [1, 2], "a long name without parts breaks, too"


def test_a_parameters_help_may_hold_code_but_no_html(tmp_path):
    source = "dataset: str = 'auto'  # where `make data` <b>fetched</b> it\nsizes: list[int] = []"

    _, soup, _ = export(tmp_path, code(source, "parameters"))

    (row, empty) = soup.select("details.parameters tbody tr")
    shown = row("td")[1].decode_contents().replace("<wbr/>", "")
    assert shown == "where <code>make data</code> &lt;b&gt;fetched&lt;/b&gt; it"
    assert [cell.get_text() for cell in empty(["th", "td"])] == ["sizes", "—", ""]


def test_code_may_break_behind_a_dot_a_bracket_or_an_equals_sign(tmp_path):
    """A phone broke it within names, and right behind an indent."""
    source = "for step in steps:\n    optimizer.zero_grad(set_to_none=True)"

    _, soup, _ = export(tmp_path, code(source))

    (block,) = soup.select(".highlight pre")
    assert "".join(block.strings).strip() == source
    before = [mark.previous_sibling.get_text() for mark in block.find_all("wbr")]
    assert before == [".", "(", "="]
