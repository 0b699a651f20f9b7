"""Two pages for the browser: one with what a good report has not, and one with every mistake."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat.v4 import new_notebook, new_output

from tiny_notebooks import code, text
from trainspeed.report.export import export_html

NAME = "stopped.html"
FOLDED = "verdict-in-a-folded-table"
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="300">'
    '<rect width="900" height="300" fill="#05a"/></svg>'
)
COLUMNS = [f"column {n}" for n in range(20)]
SOURCE = '''# a comment
import json

@property
async def speed(self, *, batch: int = 0x20, rate=1.5e-3) -> str:
    """A text."""
    assert isinstance(batch, int) and not None, f"a {batch!r} is {True}"
    return "a line of code that is so long that it does not fit on any phone, nor on paper, nor anywhere" + r"\\s\\n"
%time speed(1)
'''
ANSI = "".join(
    f"\x1b[{weight}{number}mcolour {number}\x1b[0m\n" for weight in ("", "1;") for number in range(30, 38)
)
BROKEN = """<html><style>:root { color-scheme: light dark } img, table { max-width: none }</style>
<link rel="stylesheet" href="https://example.org/style.css">
<nav>a list of contents</nav><h1>A title</h1><h3>too deep</h3><h1>a second title</h1>
<p style="color: #999">too pale <p style="opacity: .5; color: #000; background: #fff">half hidden
<p style="color: #777; background: #ddd">on a badge <p style="color: #000">black in the dark
<p style="color: #909090; background: #fff; font-size: 24px">large enough
<p><a href="/etc/hostname">1</a> <a href="../index.html">2</a> <a href="no-such.html">3</a> <a href="#nowhere">4</a>
<a href="index.html#nowhere">5</a> <a href="https://example.org/">6</a> <a href="index.html"></a>
<p><img src="missing.png" alt="missing" width="100" height="100">
<img src="data:image/svg+xml;utf8,PICTURE" width="100"> <img src="data:image/svg+xml;utf8,PICTURE" alt="too wide">
<ul style="line-height: 1; margin: 0"><li><a href="https://example.org/">a target</a>
<li><a href="https://example.org/">on a target</a></ul>
<table><tr><td><div style="width: 900px">a wide table</div></table>
<div><table class="stacked"><tbody><tr><td><div style="width: 900px">wide</div></table></div>
<table id="T_verdicts"><thead><tr><th><div style="width: 900px"></div><th>95 % interval</table>
<table><tr><th style="max-width: 3rem; overflow-wrap: anywhere">precision
<th style="max-width: 3rem; white-space: nowrap">difference in points</table>
<details class="code"><summary>Code</summary><div class="highlight"><pre>x</pre></div></details>
<pre style="overflow-x: auto">y</pre>
"""


def write(folder: Path) -> Path:
    """Write a page of a notebook that failed, with every kind of cell and output."""
    wide = "".join(f"<th>{name}</th>" for name in COLUMNS), "<td>1,234.5 ms</td>" * len(COLUMNS)
    rows = f"<thead><tr>{wide[0]}</tr></thead><tbody><tr>{wide[1]}</tr></tbody>"
    table = f"<table id=T_layers_1><caption>Wide</caption>{rows}</table>"
    folded = table.replace("_1>", "_2>").replace("<td>", f'<td><span id="{FOLDED}">the verdict </span>', 1)
    error = new_output("error", ename="ValueError", evalue="unknown " + "x" * 200, traceback=[ANSI])
    badges = "".join(
        f'<span class="badge {name}">{name}</span> '
        for name in ("faster", "slower", "same", "undecided", "ok", "failed", "interrupted")
    )
    cells = [
        text(
            "# A notebook that *failed*, with `code`\n\nText, [a link](index.html), `a_very_long_name"
            + "_x" * 60
            + "`."
        ),
        text("## Words\n\n> A quotation.\n\n1. one\n    - two\n\n---\n\n$$\\frac{1}{n}\\sum_{i=1}^{n} x_i$$"),
        text("### Deeper\n\n#### Deepest\n\n![blue](blue.svg)\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
        text("## Tables"),
        code(SOURCE, outputs=[displayed(table), displayed(badges), displayed('<p class="muted">muted</p>')]),
        code(
            "long()",
            outputs=[
                displayed(f"<details><summary>A folded table</summary>{folded}</details>"),
                new_output("stream", name="stdout", text="a long line " * 40 + "\n" + "line\n" * 20),
                new_output("stream", name="stderr", text="a warning " * 20),
            ],
        ),
        text("## End"),
        code("boom()", "show_code", outputs=[error]),
    ]
    ending = {"status": "failed", "error": "ValueError: unknown " + "x" * 200, "cell": len(cells) - 1}
    notebook = new_notebook(cells=cells, metadata={"trainspeed": ending})
    (folder / "blue.svg").write_text(PICTURE)
    nbformat.write(notebook, folder / "stopped.failed.ipynb")
    export_html(folder / "stopped.failed.ipynb", folder / NAME, pictures=folder)
    return folder / NAME


def displayed(html: str) -> nbformat.NotebookNode:
    """Return the output of a cell that shows HTML."""
    return new_output("display_data", data={"text/html": html})


def write_broken(folder: Path) -> Path:
    """Write a page with at least one of each mistake."""
    path = folder / "broken.html"
    path.write_text(BROKEN.replace("PICTURE", PICTURE.replace('"', "'").replace("#", "%23")))
    return path
