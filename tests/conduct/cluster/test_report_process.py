"""A report for the head: a program stands for it, so that no notebook has to run to see what is passed on."""

import json
import sys
import textwrap

import pytest

from trainspeed.conduct.cluster import report_process
from trainspeed.conduct.cluster.node import Refused
from trainspeed.conduct.cluster.orders import ReportOrder
from trainspeed.conduct.cluster.report_process import run_report

STANDS_FOR_PYTHON = """\
#!{python}
import json, os, sys
from pathlib import Path
words = sys.argv[1:]
out = Path(words[words.index("--out") + 1])
out.mkdir(exist_ok=True)
seen = dict(words=words[4:5] + words[-2:], kept=sorted(os.listdir(out)))
seen |= dict(sources=sorted(p.as_posix() for p in Path().rglob("*.*")))
seen |= dict(node=os.environ["TRAINSPEED_NODE"], twins=os.environ.get("TRAINSPEED_TWINS"))
with (out / "runs.jsonl").open("a") as file:
    file.write(json.dumps(seen) + "\\n" + "half a li")
print("conduct: began\\n\\n../report/conv2d.html\\nübermorgen", end="")
if "--sums" in words:
    sums = dict(seconds=60.0, runs=4, fewest=1, most=2)
    Path(words[words.index("--sums") + 1]).write_text(json.dumps(sums))
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    path = tmp_path / "python"
    path.write_text(textwrap.dedent(STANDS_FOR_PYTHON.format(python=sys.executable)))
    path.chmod(0o755)
    monkeypatch.setattr(report_process.sys, "executable", str(path))
    monkeypatch.setattr(report_process, "find_interpreter", lambda framework: "python")


def test_a_report_gets_its_files_and_is_sent_on_line_by_line(tmp_path):
    order = ReportOrder(
        arguments=("--preset", "smoke"),
        notebooks=("layout", "amp"),
        files={"sessions.jsonl": "{}\n", "runs.jsonl": '{"from": "another node"}\n'},
        sources={"nets/mine.py": "pass", "params.yaml": "{}"},
        twins="how to reach them",
    )
    answers = list(run_report(order, "box-1", tmp_path))

    (lines,) = [answer for answer in answers if answer.file]
    assert lines.file == "runs.jsonl", "what the head has is not sent back"
    seen = json.loads(lines.text)
    assert "half" not in lines.text
    assert seen["words"] == ["report", "--notebooks", "layout amp"]
    assert seen["sources"] == ["nets/mine.py", "params.yaml"]
    assert seen["kept"] == ["runs.jsonl", "sessions.jsonl"]
    assert (seen["node"], seen["twins"]) == ("box-1", "how to reach them")
    said = "\n".join(answer.said for answer in answers if answer.said)
    assert said == "conduct: began\nübermorgen", "neither blank lines nor pages that are nowhere"
    assert answers[-1].code == 3 and answers[-1].plan is None
    assert [path.name for path in tmp_path.iterdir()] == ["python"], "nothing stays behind"


def test_a_plan_comes_as_values(tmp_path):
    answers = list(run_report(ReportOrder(arguments=(), command="plan"), "box-1", tmp_path))
    assert (answers[-1].plan.runs, answers[-1].plan.seconds) == (4, 60.0)


@pytest.mark.parametrize("name", ["../mine.py", "/etc/mine.py", "a/../../mine.py"])
def test_no_file_is_written_outside_the_reports_folder(name, tmp_path):
    for field in ("files", "sources"):
        with pytest.raises(Refused, match="leads out of the folder"):
            list(run_report(ReportOrder(arguments=(), **{field: {name: "text"}}), "box-1", tmp_path))


def test_a_node_without_a_framework_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(report_process, "find_interpreter", lambda framework: None)
    with pytest.raises(Refused, match="no framework is installed there: run `make setup`"):
        list(run_report(ReportOrder(arguments=()), "box-1", tmp_path))
