"""The one exporter of all pages of a process."""

from exported import displayed, export
from tiny_notebooks import code, text

PICTURE = "![a chart](chart.png)"


def test_pages_share_a_compiled_template_and_neither_doubts_nor_pictures(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (first / "chart.png").write_bytes(b"of the first")
    doubtful = displayed("text/html", '<img src="https://example.org/x.png" alt="a chart">')

    html, soup, missing = export(first, text(PICTURE), code("f", outputs=[doubtful]))
    assert len(missing) == 1 and soup.find("img")["src"].startswith("data:image/png")

    monkeypatch.setattr("jinja2.environment.Environment.compile", None)
    html, soup, missing = export(second, text(PICTURE))
    assert not soup.find("img") and "example.org" not in html and len(missing) == 1
    assert not export(second, text("# Nothing to doubt"))[2]
