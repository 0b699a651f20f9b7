"""A folder whose notebooks, verdicts and coverage somebody made up: what no report wrote is left out."""

import json
import os

import pytest

from front_data import SESSION, runs_of, verdicts_of, write_report
from hostile_ledger import MARKUP, WRONG
from study_data import make_trial
from trainspeed.core.coverage import COVERAGE_FILE, read_coverage
from trainspeed.core.markdown import escape
from trainspeed.judge.comparison import as_json
from trainspeed.report.clean import is_link
from trainspeed.show.coverage import coverage_sentences, left_out_table
from trainspeed.studies.summary import gains, tables, text
from trainspeed.studies.summary.collect import read_report

FIELDS = (
    "title",
    "status",
    "error",
    "seconds",
    "session",
    "preset",
    "rendered",
    "name",
    "page",
    "sections",
    "cells",
)


@pytest.fixture
def out(tmp_path):
    write_report(tmp_path / "out", runs_of("layout"))
    return tmp_path / "out"


def shown(out):
    """What the front page shows of a folder."""
    front = read_report(out, out)
    sentences = [
        *gains.switch_sentences(front),
        *gains.slower_sentences(front),
        *text.headline_sentences(front),
    ]
    names = (
        tables.notebook_table(front).to_html() + tables.all_verdicts_table(front.verdicts, front).to_html()
    )
    return front, [*map(escape, sentences), names]


def test_a_notebook_may_say_anything_of_itself(out):
    for number, (field, value) in enumerate((f, v) for f in FIELDS for v in (*WRONG, *MARKUP[:3])):
        saved = {"cells": [], "metadata": {"trainspeed": {"title": "T", "status": "ok", field: value}}}
        saved |= {"cells": value} if field == "cells" else {}
        (out / f"n{number}.ipynb").write_text(json.dumps(saved))
    (out / "n.ipynb").write_text("[" * 100_000)
    os.mkfifo(out / "pipe.ipynb")

    front, sentences = shown(out)

    assert {"layout", "n0"} <= {notebook.name for notebook in front.notebooks}
    pages = {notebook.page for notebook in front.notebooks} - {None}
    assert "layout.html" in pages and all(is_link(page) and (out / page).is_file() for page in pages)
    assert all("<meta" not in sentence.replace("\\<meta", "") for sentence in sentences)


def test_a_verdict_may_say_anything(out):
    (element, *_) = as_json(verdicts_of(runs_of("layout")))
    elements = [{**element, name: value} for name in element for value in (*WRONG, *MARKUP[:3])]
    elements += [
        {**element, side: {**element[side], name: value}}
        for side in ("baseline", "candidate")
        for name in element[side]
        for value in WRONG
    ]
    (out / "verdicts.json").write_text(json.dumps([element, *elements]))

    front, sentences = shown(out)

    assert front.verdicts[0].as_dict() == json.loads(json.dumps(element))
    assert any("verdicts in verdicts.json are of another version" in doubt for doubt in front.doubts)
    assert all("<meta" not in sentence.replace("\\<meta", "") for sentence in sentences)
    links = [place for verdict in front.verdicts if (place := front.place_of(verdict))]
    assert links and all(map(is_link, links))


def test_a_coverage_may_say_anything(tmp_path):
    group = {"part": "core", "core": True, "trials": [make_trial().as_dict()], "blocks": 0, "most": 6}
    good = {"session": SESSION, "study": "layout", "budget_s": 60.0, "spent_s": 5.0, "groups": [group]}
    lines = [{**good, name: value} for name in good for value in WRONG]
    lines += [
        {**good, "groups": [{**group, name: value}]} for name in group for value in (*WRONG, *MARKUP[:3])
    ]
    for line in (*lines, good):
        (tmp_path / COVERAGE_FILE).write_text(json.dumps(line) + "\n" + "[" * 100_000 + "\n")

        for coverage in read_coverage(tmp_path, {"layout": SESSION}).values():
            assert all(map(str, coverage_sentences(coverage)))
            assert "<meta" not in left_out_table(coverage).to_html()
    assert read_coverage(tmp_path, {"layout": SESSION})
