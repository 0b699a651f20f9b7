"""A notebook of given cells, exported: what the tests of pages look at."""

import nbformat
from bs4 import BeautifulSoup
from nbformat.v4 import new_notebook, new_output

from page_text import read_page
from trainspeed.report.export import export_html


def displayed(mime, data, **metadata):
    return new_output("display_data", data={mime: data}, metadata=metadata)


def export(tmp_path, *cells, metadata=None, scrub=str, **about):
    """Return the page as text, as a tree, both with plain spaces, and what was missing."""
    notebook = new_notebook(cells=list(cells), metadata=metadata or {})
    nbformat.write(notebook, tmp_path / "layout.ipynb")
    about |= {"pictures": tmp_path, "scrub": scrub}
    missing = export_html(tmp_path / "layout.ipynb", tmp_path / "layout.html", **about)
    html = read_page(tmp_path / "layout.html")
    return html, BeautifulSoup(html, "html.parser"), missing
