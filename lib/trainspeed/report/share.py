"""The command share: a report as one file to send on, and its verdicts for a pull request or a dashboard.

Runs no notebook and makes no sentence: pages are put together as they are, and values come from the front page's
`report.json`.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from bs4 import BeautifulSoup

from trainspeed.core.errors import UserError
from trainspeed.core.files import DRAWING, FLEET, METADATA, SUMMARY, VALUES, write_atomically
from trainspeed.core.paths import ROOT
from trainspeed.core.scrub import scrub_all, scrubber
from trainspeed.report.export import TEMPLATES, UNSEEN
from trainspeed.report.output_folder import locked, shown
from trainspeed.report.request import read_sessions
from trainspeed.report.share_badge import badge
from trainspeed.report.share_markdown import markdown_of
from trainspeed.report.share_page import each_page, one_page, pages_of, read_page
from trainspeed.studies.summary.collect import PAGE
from trainspeed.studies.summary.values import ReportValues, read_values

FOLDER = "share"  # within the report's own
DRAWN = "report"  # what the folder of one that is drawn first is called, also in texts
PAGES, ZIP, MARKDOWN, BADGE = "report.html", "report.zip", "report.md", "badge.svg"
MOST_BYTES = 8_000_000  # of one file of all pages: what a mail takes with ease
ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # the first that the format knows: the same report makes the same file
LAST = (FLEET, *DRAWING)  # pages of several reports, behind those of this one
OK, FAILED = 0, 1


def share(*, out: Path, source: Path | None = None) -> int:
    """Write the report of a folder into its `share`, as one file; return the exit code.

    Args:
        source: Folder with a ledger whose report is drawn and shared instead; what else is in `out` stays as it is.
    Raises:
        UserError: There is no report in the folder, or it cannot be written to.
    """
    if source is None:
        front = _front(out)
        with locked(out):
            return _share(out, front, out / FOLDER)
    from trainspeed.report.run import NOTEBOOKS, render

    with locked(out), TemporaryDirectory() as temporary:
        drawn = Path(temporary) / DRAWN
        code = render(out=drawn, source=source, folder=NOTEBOOKS, stays=False)
        return max(code, _share(drawn, _front(drawn), out / FOLDER))


def _front(out: Path) -> str:
    """Return the page that the others follow: of a folder that has a report and a fleet's, the one drawn last.

    Raises:
        UserError: There is none.
    """
    of_fleet = f"{FLEET}.html"
    found = [name for name in (PAGE, *(f"{name}.html" for name in LAST)) if (out / name).is_file()]
    if not found:
        raise UserError(f"no report in {shown(out)}: {_where(out)}")
    if {PAGE, of_fleet} <= {*found} and _drawn_at(out, FLEET) > _drawn_at(out, SUMMARY):
        print(
            f"{shown(out / of_fleet)} is newer than {PAGE} beside it: it is shared, and that is not",
            flush=True,
        )
        return of_fleet
    return found[0]


def _drawn_at(out: Path, name: str) -> str:
    """Return when a notebook was run last, as text that sorts; "" where it does not say so.

    The times of files are those of the copy where a folder was copied.
    """
    found = [_metadata(out / f"{name}{end}").get("papermill", {}) for end in (".ipynb", ".failed.ipynb")]
    return max(str(about.get("start_time") or "") for about in found if isinstance(about, dict))


def _metadata(path: Path) -> dict[str, Any]:
    """Return what a saved notebook says of itself; nothing where there is none, or no such thing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _where(out: Path) -> str:
    """Return where a report is instead, or how to make one."""
    found = sorted(path.parent for path in out.glob(f"*/{PAGE}"))[:3]
    if found:
        return f"there is one in {', '.join(map(shown, found))}: OUT={shown(found[0])}."
    return "make one with `make report`, or name its folder, OUT=…, or one with runs, FROM=…."


def _share(out: Path, front: str, target: Path) -> int:
    of_one = front == PAGE
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UserError(f"{shown(target)} is no folder: remove it.")
    without_names = scrubber(root=ROOT, out=out.resolve(), own_words=_own_words())

    def scrub(text: str) -> str:
        return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", without_names(text))

    soups, values, why = _report(out, front)
    for machine in _machines(out) if f"{FLEET}.html" in soups else ():
        pages, _, _ = _report(out / machine, PAGE)
        folder = scrub(machine)  # it may have this machine's name: so has what is named after it
        soups |= {f"{folder}/{name}": soup for name, soup in pages.items() if PAGE in pages}
    if front not in soups:
        raise UserError(f"{shown(out / front)} is no page of a report: `make render` writes it anew.")
    try:
        written = [_write_pages(target, soups, scrub)]
        written += _write_values(target, out, values, scrub)
    except OSError as problem:
        raise UserError(f"cannot write to {shown(target)}: {problem.strerror or problem}") from None
    for path in written:
        print(shown(path), flush=True)
    if values is None:
        print(f"no {MARKDOWN}, {VALUES} and {BADGE}: {why}", flush=True)
    return OK if values or not of_one else FAILED


def _report(out: Path, front: str) -> tuple[dict[str, BeautifulSoup], ReportValues | None, str]:
    """Return file name -> page, the values of the report, or None and why there are none."""
    if front != PAGE:
        soups = _pages(out, front, None)
        return soups, None, f"{front} is of several reports, and these are of one each."
    values, why = _values(out)
    soups = _pages(out, front, values)
    if values is None and front in soups and (newer := _unfinished(out)):
        why = f"the newest report in {shown(out)}, session {newer}, did not end: `make render` draws what there is."
        _tell_older(soups[front], newer)
    return soups, values, why


def _values(out: Path) -> tuple[ReportValues | None, str]:
    """Return the values of the report, or None and why there are none."""
    try:
        return read_values(out / VALUES), ""
    except FileNotFoundError:
        why = "its front page failed, or an earlier version wrote it"
        return None, f"the report has no {VALUES} ({why}): `make render` writes it."
    except UserError as problem:
        return None, str(problem)


def _unfinished(out: Path) -> str | None:
    """Return the newest session of a folder where it did not come to its front page: that is of an older one."""
    newest = next((asked.session for asked in reversed(read_sessions(out))), None)
    try:
        drawn = _metadata(out / f"{SUMMARY}.ipynb")[METADATA]["session"]
    except (KeyError, TypeError):
        return None
    return newest if newest != drawn else None


def _tell_older(soup: BeautifulSoup, newer: str) -> None:
    """Put a banner on top of a front page that is older than what was measured last; one that has a banner keeps it."""
    if soup.main.select_one(".banner"):
        return
    banner = (
        '<section class="banner" aria-label="This report is not complete"><p><strong>This report is not complete.'
        f"</strong> A newer one, session {escape(newer)}, was begun and did not end: this front page is of an older "
        "session, and pages of both may be here. <code>make render</code> draws what there is.</p></section>"
    )
    soup.main.insert(0, BeautifulSoup(banner, "html.parser"))


def _own_words() -> list[str]:
    """Return the texts that every page has: a name that is a word in one of them is no secret."""
    folders = {ROOT / "notebooks": "*.ipynb", TEMPLATES: "**/*"}
    files = [path for folder, pattern in folders.items() for path in folder.glob(pattern) if path.is_file()]
    return [path.read_text(encoding="utf-8") for path in files]


def _pages(out: Path, front: str, values: ReportValues | None) -> dict[str, BeautifulSoup]:
    """Return file name -> page, the front page first, then in the order of its notebooks, last what is of several."""
    ran = [f"{notebook.name}.html" for notebook in values.notebooks] if values else []
    last = [f"{name}.html" for name in LAST]
    others = sorted(path.name for path in out.glob("*.html") if path.name not in last)
    if front in last and PAGE in others:  # which are of another report
        others = []
    names = dict.fromkeys([front, *(name for name in ran if name in others), *others, *last])
    read = {name: read_page(out / name) for name in names if (out / name).is_file()}
    return {name: soup for name, soup in read.items() if soup}


def _machines(out: Path) -> list[str]:
    """Return the machines that the page of a fleet compares, whose reports are in folders beside it."""
    try:
        names = _metadata(out / f"{FLEET}.ipynb")["papermill"]["parameters"]["runs"]
        folders = {path.name for path in out.iterdir() if path.is_dir() and not path.is_symlink()}
        return [name for name in names if name in folders]
    except (OSError, KeyError, TypeError):
        return []


def _write_pages(target: Path, soups: Mapping[str, BeautifulSoup], scrub: Callable[[str], str]) -> Path:
    """Write all pages as one, or a ZIP of them where that would be too large; return which."""
    whole = {file: copy.copy(soup) for file, soup in soups.items()}
    html = scrub(one_page(pages_of(whole)))
    size = len(html.encode())
    if size <= MOST_BYTES:
        write_atomically(target / PAGES, html)
        (target / ZIP).unlink(missing_ok=True)
        return target / PAGES
    print(
        f"all pages as one file would have {size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f}: they are in {ZIP}",
        flush=True,
    )
    _write_zip(target / ZIP, {file: scrub(text) for file, text in each_page(pages_of(soups)).items()})
    (target / PAGES).unlink(missing_ok=True)
    return target / ZIP


def _write_zip(path: Path, pages: Mapping[str, str]) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in pages.items():
            entry = zipfile.ZipInfo(f"report/{file}", ZIP_DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(data.getvalue())
    draft.replace(path)


def _write_values(
    target: Path, out: Path, values: ReportValues | None, scrub: Callable[[str], str]
) -> list[Path]:
    """Write Markdown, JSON and badge; remove older ones where there are no values."""
    paths = [target / name for name in (MARKDOWN, VALUES, BADGE)]
    if values is None:
        for path in paths:
            path.unlink(missing_ok=True)
        return []
    complete = values.complete and not (out / f"{SUMMARY}.failed.ipynb").exists()
    plain = msgspec.to_builtins(values) | {"complete": complete}
    values = msgspec.convert(scrub_all(plain, scrub), ReportValues)
    text = msgspec.json.format(msgspec.json.encode(values), indent=1).decode()
    texts = [markdown_of(values, complete=complete), f"{text}\n", badge(values, complete=complete)]
    for path, content in zip(paths, texts, strict=True):
        write_atomically(path, content)
    return paths
