"""An executed notebook as one HTML file that needs nothing else: no script, no request, no account.

Does not run notebooks and does not know what they measure.
"""

from __future__ import annotations

import copy
import functools
import itertools
import logging
import re
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup
from jinja2 import pass_context
from latex2mathml.converter import convert as tex_to_mathml
from nbconvert import HTMLExporter
from traitlets.config import Config

from trainspeed.core.files import METADATA, write_atomically
from trainspeed.core.markdown import visible
from trainspeed.core.page_order import WHOLE, page_order, parts_of
from trainspeed.report.clean import PICTURE, clean_html
from trainspeed.report.execute import title_of
from trainspeed.report.parameters import TAG, parameters_of
from trainspeed.report.polish import local_picture, polish

TEMPLATES = Path(__file__).parent / "templates"
# The browser refuses whatever the template and the checks below may have missed.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
WIDGET = "application/vnd.jupyter.widget-view+json"
REMOVED_CELL_TAG = "remove_cell"  # the tag of a cell that stays in the notebook, and not in the page
REMOVED_INPUT_TAG = "remove_input"  # the tag of one whose outputs alone are in the page
# Characters that nobody can see: they steer a terminal, or turn the direction of what follows.
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
CODE = re.compile(r"(```.*?```|~~~.*?~~~|``.*?``|`[^`\n]*`)", re.DOTALL)
DISPLAY_TEX = re.compile(r"(?<!\\)\$\$(.+?)\$\$", re.DOTALL)
# As in Pandoc: no space inside the dollars and no digit after them, so that prices stay prices.
INLINE_TEX = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<![\s\\])\$(?![\d$])")


def export_html(
    notebook: Path,
    target: Path,
    *,
    pictures: Path,
    scrub: Callable[[str], str] = str,
    front_page: bool = True,
    complete: bool = True,
    resumable: bool | None = None,
) -> tuple[str, ...]:
    """Write the page; return a doubt for each thing that a reader will miss in it.

    Args:
        pictures: Folder that the paths of images in Markdown are relative to; the images are embedded.
        scrub: Takes paths and names out of the finished page.
        front_page: Whether to link to `index.html` in the same folder.
        complete: Whether the whole report is complete; a banner says so where another notebook did not end well.
        resumable: Whether a banner says how to continue; by default where the notebook measured.
    """
    executed = nbformat.read(notebook, 4)
    ending = executed.metadata.get(METADATA, {})
    title = title_of(executed) or notebook.stem
    cells = enumerate(executed.cells)
    removed = [index for index, cell in cells if REMOVED_CELL_TAG in cell.metadata.get("tags", [])]
    page = {
        "title": title,
        "status": ending.get("status", "ok"),
        "error": ending.get("error") or "",
        "gaps": [gap for gap in ending.get("gaps", ()) if gap["cell"] not in removed],
        "css": (TEMPLATES / "report.css").read_text(encoding="utf-8"),
        "policy": POLICY,
        "front_page": front_page,
        "complete": complete,
        "resumable": not ending.get("rendered") if resumable is None else resumable,
        "footer": _footer(ending),
    }
    logging.getLogger("traitlets").setLevel(logging.ERROR)  # missing alt texts are returned as doubts instead
    exporter = _exporter()
    exporter.pictures, exporter.doubts = pictures, []
    html, _ = exporter.from_notebook_node(_prepared(executed, ending), resources={"trainspeed": page})
    soup = BeautifulSoup(html, "html.parser")
    for link in () if front_page else soup.select('a[href^="index.html"]'):
        link.unwrap()
    doubts = [*exporter.doubts, *polish(soup, pictures)]
    write_atomically(target, scrub(UNSEEN.sub("\N{REPLACEMENT CHARACTER}", str(soup))))
    return tuple(doubts)


@functools.cache
def _exporter() -> _Exporter:
    """Return the exporter of all pages, whose template is read and compiled once."""
    return _Exporter()


class _Exporter(HTMLExporter):
    """Fills the template; what cells and outputs hold as HTML or Markdown goes through `clean_html` there.

    Attributes:
        pictures: Folder that the paths of images in the page's Markdown are relative to.
        doubts: What a reader of the page will miss.
    """

    def __init__(self) -> None:
        self.pictures = Path()
        self.doubts: list[str] = []
        config = Config()
        config.HTMLExporter.extra_template_basedirs = [str(TEMPLATES)]
        config.HTMLExporter.template_name = "report"
        config.HTMLExporter.embed_images = False  # True damages inline HTML in Markdown (nbconvert#2020)
        config.HTMLExporter.exclude_anchor_links = True
        config.HTMLExporter.exclude_input_prompt = config.HTMLExporter.exclude_output_prompt = True
        config.CoalesceStreamsPreprocessor.enabled = config.TagRemovePreprocessor.enabled = True
        config.TagRemovePreprocessor.remove_cell_tags = {REMOVED_CELL_TAG}
        config.TagRemovePreprocessor.remove_input_tags = {REMOVED_INPUT_TAG}
        config.TagRemovePreprocessor.remove_all_outputs_tags = {"remove_output"}
        super().__init__(config=config)

    def default_filters(self) -> Iterator[tuple[str, Callable[..., str]]]:
        """Add the filters that the template passes HTML through."""
        yield from super().default_filters()
        yield "clean", self._clean
        yield "picture", lambda source: source if PICTURE.fullmatch(source or "") else ""
        yield "clean_cell", lambda html: self._clean(html, of_cell=True)

    def _clean(self, html: str, *, of_cell: bool = False) -> str:
        """Return the HTML as a page may hold it; a text that was written before anything ran may show pictures."""

        def keep_picture(source: str) -> bool:
            if of_cell and local_picture(source, self.pictures):
                return True
            self.doubts.append(
                f"an image is missing, as a page holds no outside picture: {visible(source)[:200]}"
            )
            return False

        return clean_html(html, keep_picture=keep_picture)

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Turn TeX into MathML, which nbconvert's Markdown would leave to a script."""
        formulas: list[str] = []
        html = super().markdown2html(context, _take_tex(source, formulas))

        def formula(match: re.Match[str]) -> str:
            number = int(match[1])
            return formulas[number] if number < len(formulas) else match[0]

        return re.sub(r"TEX(\d{1,6})XET", formula, html)


def _take_tex(source: str, formulas: list[str]) -> str:
    """Move formulas into a list, leaving marks that Markdown does not touch; code keeps its dollars."""

    def take(display: str) -> Callable[[re.Match[str]], str]:
        def replacement(match: re.Match[str]) -> str:
            try:
                formulas.append(tex_to_mathml(match[1].strip(), display=display))
            except Exception:  # latex2mathml raises many kinds without a common base
                return match[0]
            return f"TEX{len(formulas) - 1}XET"

        return replacement

    parts = CODE.split(source)
    for index in range(0, len(parts), 2):
        parts[index] = DISPLAY_TEX.sub(take("block"), parts[index])
        parts[index] = INLINE_TEX.sub(take("inline"), parts[index])
    return "".join(parts)


def _prepared(notebook: nbformat.NotebookNode, ending: dict[str, Any]) -> nbformat.NotebookNode:
    """Return a copy without widgets, with the parameters as a table, the failed cells marked, the answer first.

    What stopped half-way has no answer: its cells stay in the order in which they ran.
    """
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    stopped = ending.get("cell")
    if ending.get("status", "ok") != "ok" and stopped is not None and stopped < len(notebook.cells):
        notebook.cells[stopped].metadata["failed_cell"] = "stopped-here"
    for gap in ending.get("gaps", ()):
        notebook.cells[gap["cell"]].metadata["failed_cell"] = f"gap-{gap['cell']}"
    values = notebook.metadata.get("papermill", {}).get("parameters", {})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if WIDGET not in o.get("data", {})]
        if TAG in cell.metadata.get("tags", []):
            cell.metadata["parameters_table"] = [
                {
                    "name": p.name,
                    "value": _value(values.get(p.name, p.default)),
                    "help": _help(p.help),
                    "group": p.group,
                }
                for p in parameters_of(notebook, "notebook").values()
            ]
    notebook.cells = [c for c in notebook.cells if REMOVED_CELL_TAG not in c.metadata.get("tags", [])]
    if ending.get("status", "ok") in WHOLE:
        _order(notebook)
    return notebook


def _order(notebook: nbformat.NotebookNode) -> None:
    """Put the cells into the order of a page, and mark where each part begins and ends."""
    parts = parts_of(notebook.cells)
    order = page_order(notebook.cells)
    for _, group in itertools.groupby((i for i in order if parts[i]), key=parts.__getitem__):
        indices = [*group]
        notebook.cells[indices[0]].metadata["part_begins"] = str(parts[indices[0]])
        notebook.cells[indices[-1]].metadata["part_ends"] = True
    notebook.cells = [notebook.cells[index] for index in order]


def _value(value: Any) -> str:
    return ", ".join(str(item) for item in value) or "—" if isinstance(value, list) else str(value)


def _help(text: str) -> str:
    """Return the text as HTML, with `code` set as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _footer(ending: dict[str, Any]) -> str:
    facts = [f"{word} {ending[word]}" for word in ("session", "preset") if ending.get(word)]
    facts.append(f"Trainspeed {ending['version']}" if ending.get("version") else "Trainspeed")
    return " · ".join(facts)
