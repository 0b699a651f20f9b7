"""What a fleet is asked for: its file, and the order that every machine gets."""

import pytest

from trainspeed.core.errors import UserError
from trainspeed.report.fleet_file import read_fleet
from trainspeed.report.fleet_order import PARAMS, order_of


def test_a_file_has_machines_how_many_nodes_and_prices(file):
    machines = read_fleet(file("machines: {a10g: {nodes: 2, usd_per_hour: 1.21}, h100: }")).machines
    assert [*machines] == ["a10g", "h100"]
    assert (machines["a10g"].nodes, machines["a10g"].usd_per_hour) == (2, 1.21)
    assert (machines["h100"].nodes, machines["h100"].usd_per_hour) == (1, None)


def test_a_name_is_text_even_where_yaml_has_another_word_for_it(file):
    assert [*read_fleet(file("machines: {4090: , no: {nodes: 2}, 1e3: }")).machines] == ["4090", "no", "1e3"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("machines: [a10g", r"line 1, column 16: expected ',' or '\]'"),
        ("machines:\n\ta10g: {nodes: 2}", r"line 2, column 1: it is indented with a tab: use spaces"),
        ("machines:\n  a10g:\n  a10g:", r"line 3, column 3: 'a10g' is in it twice"),
        ("machines: {[a]: }", r"line 1, column 12: a name must be a word"),
        ("machines: {a: {nodes: 010}}", r"line 1, column 23: YAML reads 010 as 8"),
        ("a10g: {nodes: 2}", r"unknown field of \S+ 'a10g'. Known: machines"),
        ("machine: {a10g: }", r"did you mean 'machines'\?"),
        ("", r"has no machines: name one, such as `machines: {a10g"),
        ("machines:", r"has no machines"),
        ("machines: {}", r"has no machines"),
        ("- a10g", r"must begin with the word machines"),
        (
            "machines: [a10g, h100]",
            r"machines \(=\['a10g', 'h100'\]\) must have a name and a colon for each machine",
        ),
        ("machines: {a10g: 2}", r": a10g \(=2\) must have its fields in braces"),
        ("machines: {a10g: {node: 2}}", r"unknown field of a10g in \S+ 'node': did you mean 'nodes'\?"),
        ("machines: {a10g: {nodes: 0}}", r": nodes of a10g \(=0\) must be a whole number from 1 to 10000"),
        ("machines: {h100: , a10g: {nodes: two}}", r": nodes of a10g \(='two'\)"),
        ("machines: {a10g: {nodes: true}}", r": nodes of a10g \(=True\)"),
        (
            "machines: {a10g: {usd_per_hour: 0}}",
            r": usd_per_hour of a10g \(=0\) .* leave it out where you pay nothing",
        ),
        ("machines: {a10g: {usd_per_hour: -1}}", r": usd_per_hour of a10g \(=-1\)"),
        ("machines: {a10g: {usd_per_hour: .inf}}", r": usd_per_hour of a10g \(=inf\)"),
        ("machines: {a10g: {usd_per_hour: .nan}}", r": usd_per_hour of a10g \(=nan\)"),
        ("machines: {a10g: {usd_per_hour: $1.21}}", r"\(='\$1.21'\) must be a number above 0"),
        ("machines: {'../a10g': {}}", r"the machine '../a10g' must have a name of at most 40 letters"),
        ("machines: {'a b': {}}", r"the machine 'a b' must have a name of at most 40 letters"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_one_line(file, text, told):
    with pytest.raises(UserError, match=told) as problem:
        read_fleet(file(text))
    assert "\n" not in str(problem.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*fleet.yaml \(No such file or directory\)"):
        read_fleet(tmp_path / "fleet.yaml")


# What is asked for


def test_what_the_user_chose_goes_to_the_nodes_with_the_files_that_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINSPEED_MODEL_FOLDER", str(tmp_path))
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/mine.py").write_text("import torch\ndef build(): ...\n")
    (tmp_path / "other.py").write_text("import torch\ndef build(): ...\n")
    params = tmp_path / "my.yaml"
    params.write_text("layout: {models: ['other.py:build']}\n")

    order = order_of(
        "report",
        preset="smoke",
        notebooks=("layout",),
        params=params,
        model="nets/mine.py:build",
        budget="5m",
    )

    words = ["--preset", "smoke", "--params", PARAMS, "--model", "nets/mine.py:build"]
    assert order.notebooks == ("layout",)
    assert [*order.arguments] == [*words, "--budget=5m"]
    files = {name: (tmp_path / name).read_text() for name in ("nets/mine.py", "other.py")}
    assert order.sources == files | {PARAMS: params.read_text()}
    assert order_of("plan", preset="smoke", params="layout: {blocks: 9}").sources == {
        PARAMS: "layout: {blocks: 9}"
    }


@pytest.mark.parametrize("wrong", [{"preset": "smok"}, {"notebooks": ("layuot",)}, {"budget": "soon"}])
def test_what_cannot_be_done_is_told_before_a_node_is_reached(wrong):
    with pytest.raises(UserError):
        order_of("report", **wrong)
