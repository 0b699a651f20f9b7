from pathlib import Path

import pytest

from tiny_notebooks import code, write
from trainspeed.core.errors import UserError
from trainspeed.core.files import DRAWING
from trainspeed.report.parameters import (
    check_notebooks,
    file_or_text,
    notebook_names,
    read_notebook,
    read_parameters,
    resolve_parameters,
)
from trainspeed.report.run import NOTEBOOKS


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "layout")
    write(tmp_path, "amp")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets/quick.yaml").write_text("layout: {blocks: 8}\n")
    return tmp_path


def notebook_with(folder, parameters, tag="parameters"):
    """Replace layout's cells by one with this tag."""
    import nbformat

    cell = code(parameters, tag)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "layout.ipynb")


def from_yaml(folder, yaml):
    file = folder / "mine.yaml"
    file.write_text(yaml)
    return resolve_parameters(["layout"], folder, params=file)["layout"]


def test_reads_name_type_default_and_help(folder):
    """A second "=" in the comment does not hide the parameter, as it does in papermill's own reader."""
    found = read_notebook(folder / "layout.ipynb")

    assert list(found) == ["blocks", "batch_sizes"]
    assert (found["blocks"].kind, found["blocks"].default) == ("int", 6)
    assert found["blocks"].help == "repeats; 6 = enough"
    assert (found["batch_sizes"].kind, found["batch_sizes"].items) == ("list", "int")


def test_of_a_notebook_without_parameters_the_tag_is_named(folder):
    notebook_with(folder, "blocks: int = 6", tag="parameter")

    with pytest.raises(
        UserError, match=r"layout: unknown parameter 'blocks': .* no cell with the tag 'parameters'"
    ):
        from_yaml(folder, "layout: {blocks: 8}")


def test_a_file_wins_over_the_preset_and_the_preset_over_the_default(folder):
    file = folder / "mine.yaml"
    file.write_text("layout: {batch_sizes: [128]}\n")

    both = resolve_parameters(["layout", "amp"], folder, preset="quick", params=file)

    assert both["layout"] == {"blocks": 8, "batch_sizes": [128]}
    assert both["amp"] == {"blocks": 6, "batch_sizes": [32, 64]}  # the preset says nothing of it


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        (
            "layout: {batch_size: [1]}",
            r"unknown parameter 'batch_size': did you mean 'batch_sizes'\? Known: blocks",
        ),
        ("layout: {blocks: six}", r"layout: blocks must be int, got 'six' \(str\)"),
        ("layout: {blocks: true}", r"blocks must be int, got True \(bool\)"),
        ("layout: {blocks: null}", r"blocks must be int, got None"),
        ("layout: {blocks: 6.5}", r"blocks must be int, got 6.5 \(float\)"),
        ("layout: {blocks: '8'}", r"got '8' \(str\): write 8 without quotes"),
        ("layout: {blocks: 1e2}", r"got '1e2' \(str\): YAML reads 1e2 as text; write 100"),
        ("layout: {blocks: 08}", r"got '08' \(str\): YAML reads 08 as text; write 8$"),
        ("layout: {blocks: 1e400}", r"got '1e400' \(str\): write a finite number$"),
        ("layout: {batch_sizes: 32}", r"batch_sizes must be list, got 32 \(int\): write \[32\]"),
        ("layout: {batch_sizes: null}", r"batch_sizes must be list, got None \(NoneType\): write \[\]$"),
        ("layout: {batch_sizes: {a: 1}}", r"batch_sizes must be list, got {'a': 1} \(dict\)$"),
        ("layout: {batch_sizes: [32, '64']}", r"batch_sizes\[1\] must be int, got '64' \(str\)"),
        ("layot: {blocks: 1}", r"unknown notebook 'layot': did you mean 'layout'\?"),
        ("layout: 3", r"layout must map parameters to values, got 3"),
        ("- layout", r"must map notebook names to parameters"),
        ("layout:\n  blocks: [1\n", r"mine.yaml line 3, column 1: "),
        ("layout: {blocks: 1}\nlayout: *x", r"line 2, column 9"),
        ("layout: {blocks: 010}", r"line 1, column 18: YAML reads 010 as 8: write 8 where you mean that$"),
        ("budget: 1:30", r"line 1, column 9: YAML reads 1:30 as 90"),
        ("layout: {blocks: 2001-99-99}", r"line 1, column 18: '2001-99-99' cannot be read as timestamp"),
        ("layout: {blocks: !!timestamp x}", r"line 1, column 18: 'x' cannot be read as timestamp"),
        ("layout: {blocks: !!bool x}", r"line 1, column 18: 'x' cannot be read as bool"),
        (f"layout: {{blocks: {'9' * 5000}}}", r"line 1, column 18: '9{12}\.\.\.9+' cannot be read as int"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_to_do(folder, yaml, message):
    with pytest.raises(UserError, match=message) as raised:
        from_yaml(folder, yaml)

    assert "\n" not in str(raised.value)
    assert "mine.yaml" in str(raised.value)


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan"])
def test_a_number_is_finite(value):
    """A budget without an end was a traceback of 29 lines."""
    with pytest.raises(UserError, match=f"budget_s must be a finite number, got {value.replace('.', '')}"):
        resolve_parameters(["switches"], NOTEBOOKS, params=f"switches: {{budget_s: {value}}}")


def test_a_mistake_about_a_notebook_that_is_not_asked_for_is_found_too(folder):
    with pytest.raises(UserError, match="amp: unknown parameter 'block'"):
        from_yaml(folder, "amp: {block: 1}")


def test_an_int_is_fine_where_a_float_is_asked_and_text_that_looks_like_one_is_not(folder):
    notebook_with(folder, "margin: float = 0.02")

    assert from_yaml(folder, "layout: {margin: 1}") == {"margin": 1}
    with pytest.raises(UserError, match=r"got '1e-3' \(str\): YAML reads 1e-3 as text; write 0.001"):
        from_yaml(folder, "layout: {margin: 1e-3}")
    assert from_yaml(folder, "layout: {margin: 1.0e-3}") == {"margin": 0.001}


def test_none_is_a_value_only_where_the_default_or_the_type_says_so(folder):
    notebook_with(folder, "a: float = None\nb: int | None = 3\nc: str = 'x'")

    assert from_yaml(folder, "layout: {a: null, b: null}") == {"a": None, "b": None, "c": "x"}
    with pytest.raises(UserError, match="c must be str, got None"):
        from_yaml(folder, "layout: {c: null}")
    with pytest.raises(UserError, match=r"c must be str, got False .*YAML reads on, off, yes and no"):
        from_yaml(folder, "layout: {c: no}")


def test_a_list_without_item_type_holds_what_its_default_holds(folder):
    notebook_with(folder, "compile: list = [False, True]\nmixed: list = []")

    assert from_yaml(folder, "layout: {compile: [true], mixed: [1, x]}")["mixed"] == [1, "x"]
    with pytest.raises(UserError, match=r"compile\[0\] must be bool, got 1"):
        from_yaml(folder, "layout: {compile: [1]}")


def test_a_default_that_is_computed_is_named(folder):
    notebook_with(folder, "blocks: int = 2 * 3")

    with pytest.raises(UserError, match="layout: parameter blocks must be a plain literal"):
        read_notebook(folder / "layout.ipynb")


def test_parameters_need_no_file(folder, monkeypatch):
    """A command to paste has them in it, and writes over nothing; a file of such a name is still a file."""
    monkeypatch.chdir(folder)
    given = "layout: {blocks: 9}"
    assert resolve_parameters(["layout"], folder, params=file_or_text(given))["layout"]["blocks"] == 9
    with pytest.raises(UserError, match=r"^PARAMS: unknown notebook 'layot': did you mean 'layout'"):
        read_parameters(file_or_text("layot: {blocks: 9}"), folder)
    with pytest.raises(UserError, match=r"^PARAMS line 1, column "):
        read_parameters(file_or_text("layout: {blocks: 9"), folder)
    assert file_or_text("mine.yaml") == Path("mine.yaml")
    (folder / given).write_text("layout: {blocks: 8}")
    assert file_or_text(given) == Path(given)


def test_missing_and_unreadable_files_are_one_line(folder):
    for path, message in (
        (folder / "none.yaml", "no file .*none.yaml"),
        (folder, "cannot read"),
    ):
        with pytest.raises(UserError, match=message):
            read_parameters(path, folder)
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"cannot read .*binary\.yaml: not text"):
        read_parameters(folder / "binary.yaml", folder)


def test_an_empty_file_changes_nothing(folder):
    assert from_yaml(folder, "") == from_yaml(folder, "layout:\n") == {"blocks": 6, "batch_sizes": [32, 64]}


def test_unknown_names_come_with_a_suggestion(folder):
    with pytest.raises(
        UserError, match=r"unknown notebook 'layouts': did you mean 'layout'\? Known: amp, layout"
    ):
        check_notebooks(["layouts"], folder)
    with pytest.raises(UserError, match=r"unknown preset 'quik': did you mean 'quick'\? Known: auto, quick"):
        resolve_parameters(["layout"], folder, preset="quik")


def test_a_notebook_may_be_named_as_the_file_it_is(folder):
    assert check_notebooks(["notebooks/layout.ipynb", "layout"], folder) == ("layout",)


def test_a_damaged_notebook_is_one_line(folder):
    (folder / "layout.ipynb").write_text("{")

    with pytest.raises(UserError, match="is not a notebook"):
        read_notebook(folder / "layout.ipynb")


@pytest.mark.parametrize("preset", ["smoke", "quick", "standard", "article"])
def test_no_preset_asks_for_seven_or_eight_blocks(preset):
    """Their intervals are wider than that of six, and end at the extremes as well; nine leave one out of line."""
    names = [name for name in notebook_names(NOTEBOOKS) if name not in DRAWING]
    asked = resolve_parameters(names, NOTEBOOKS, preset=preset)
    blocks = {
        f"{name}, {key}": value
        for name, values in asked.items()
        for key, value in values.items()
        if key.endswith("blocks")
    }

    assert len(blocks) > 10
    assert {where: value for where, value in blocks.items() if value in (7, 8)} == {}
