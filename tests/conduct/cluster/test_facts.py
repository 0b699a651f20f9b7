"""What has to be the same on all nodes of a fleet."""

from __future__ import annotations

import json

import pytest

from tiny_notebooks import code, write
from trainspeed.conduct.cluster.facts import code_hash


@pytest.fixture
def root(tmp_path):
    """A project with a module, a notebook and a preset."""
    (tmp_path / "lib/trainspeed").mkdir(parents=True)
    (tmp_path / "lib/trainspeed/measure.py").write_text("SECONDS = 1\n")
    write(tmp_path / "notebooks", "layout", code("blocks"))
    (tmp_path / "notebooks/presets").mkdir()
    (tmp_path / "notebooks/presets/quick.yaml").write_text("layout: {blocks: 6}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("lib/trainspeed/measure.py", "1", "2"),
        ("notebooks/layout.ipynb", "= 6", "= 9"),
        ("notebooks/layout.ipynb", '"parameters"', '"appendix"'),
        ("notebooks/presets/quick.yaml", "6", "9"),
    ],
)
def test_a_change_in_what_is_measured_is_another_code(root, file, old, new):
    before, text = code_hash(root), (root / file).read_text()
    (root / file).write_text(text.replace(old, new))

    assert old in text and code_hash(root) != before


def test_what_a_notebook_has_put_out_and_its_checkpoints_are_no_other_code(root):
    before = code_hash(root)
    saved = json.loads((root / "notebooks/layout.ipynb").read_text())
    printed = {"output_type": "stream", "name": "stdout", "text": "6"}
    saved["cells"][-1] |= {"outputs": [printed], "execution_count": 3}
    saved["cells"][-1]["source"] = "".join(saved["cells"][-1]["source"])
    saved["metadata"]["language_info"] = {"name": "python", "version": "3.12"}
    (root / "notebooks/layout.ipynb").write_text(json.dumps(saved))
    write(root / "notebooks/.ipynb_checkpoints", "layout-checkpoint", code("older"))

    assert code_hash(root) == before


def test_a_notebook_that_cannot_be_read_is_one_more_difference(root):
    before = code_hash(root)
    (root / "notebooks/layout.ipynb").write_text("no notebook")
    assert code_hash(root) != before
