"""Finding and reading a user's model without running a line of it."""

import hashlib
from pathlib import Path

import pytest

from study_data import make_run
from trainspeed.core import user_model
from trainspeed.core.errors import UserError
from trainspeed.core.result import Failure
from trainspeed.core.run import Status

KERAS = ("tensorflow", "jax")


# Where it is.


@pytest.mark.parametrize(
    ("text", "name", "folder"),
    [
        ("nets/my.py:build", "nets/my.py:build", "."),
        ("./nets/../nets/my.py:build", "nets/my.py:build", "."),
        ("{here}/nets/my.py:build", "nets/my.py:build", "."),
        ("../outside/other.py:make_net", "other.py:make_net", "../outside"),
    ],
)
def test_a_name_is_seen_from_where_the_user_is_and_never_holds_a_folder_outside(tmp_path, text, name, folder):
    here = tmp_path / "work"
    for file in ("work/nets/my.py", "outside/other.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")

    located = user_model.locate_model(text.format(here=here), here)

    assert (located[0], located[1].resolve()) == (name, (here / folder).resolve())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my.py", "'my.py'.* names no function of a Python file: MODEL is path/file.py:function"),
        ("my.txt:build", "names no function of a Python file"),
        ("my.py:2build", "names no function of a Python file"),
        ("nets/gone.py:build", "no file nets/gone.py: MODEL is path/file.py:function"),
    ],
)
def test_a_wrong_model_on_the_command_line_is_one_line(tmp_path, text, message):
    (tmp_path / "my.py").write_text("")

    with pytest.raises(UserError, match=message) as problem:
        user_model.locate_model(text, tmp_path)

    assert "\n" not in str(problem.value)


def test_a_file_is_looked_for_in_the_folder_that_is_told_and_nowhere_else(tmp_path, monkeypatch):
    for folder in ("named", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "here/my.py").write_text("")
    monkeypatch.chdir(tmp_path / "here")

    assert user_model.find_model("my.py:build", {}) == tmp_path / "here/my.py"
    with pytest.raises(UserError, match=r"no file my\.py"):
        user_model.find_model("my.py:build", {user_model.FOLDER_VARIABLE: str(tmp_path / "named")})


def test_without_a_folder_told_a_notebook_finds_the_examples_from_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert user_model.find_model("examples/shapes.py:build", {}).is_file()


# What it says.


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def other(): ...\ndef data(): ...", "my.py has no function 'build'. Known: other, data."),
        ("def biuld(): ...", "my.py has no function 'build': did you mean 'biuld'"),
        ("x = 3", "my.py has no function 'build': it has none at its top level"),
        ("build = 3", "my.py: 'build' is a variable there: it must be a plain `def build"),
        ("build = lambda *given: 3", "'build' is a lambda there: it must be"),
        ("class build: ...", "'build' is a class there: it must be"),
        ("async def build(): ...", "'build' is an `async def` there: it must be"),
        ("from nets import make as build", "'build' is imported there: it must be"),
        (
            "if True:\n    def build(): ...",
            "'build' is a `def` within `if`, `try` or `with` there: it must be",
        ),
        ("def other():\n    def build(): ...", "my.py has no function 'build'. Known: other."),
        ("def build(:\n    pass", "my.py line 1 is not Python"),
        ("x = '\0'", "my.py.* (is not Python|cannot read)|cannot read my.py"),
    ],
)
def test_a_file_without_such_a_function_is_one_line(own, source, message):
    with pytest.raises(UserError, match=message) as problem:
        user_model.check_user_model(own(source))

    assert "\n" not in str(problem.value)


def test_a_file_is_read_and_not_run(own):
    model = own("raise SystemExit\ndef build(input_shape, classes, layout): ...")

    user_model.check_user_model(model)
    assert not user_model.has_data(model)
    assert user_model.frameworks_of(model) == ("tensorflow", "torch", "jax")


def test_data_are_a_function_at_the_top(own):
    assert user_model.has_data(own("def build(): ...\ndef data(image_size): ..."))
    assert not user_model.has_data(own("data = 3\ndef build():\n    def data(): ..."))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import keras\ndef build(): ...", KERAS),
        ("from keras import layers\ndef build(): ...", KERAS),
        ("import tensorflow as tf\nfrom tensorflow import keras\ndef build(): ...", ("tensorflow",)),
        ("import jax, keras\ndef build(): ...", ("jax",)),
        ("from torch import nn\ndef build(): ...", ("torch",)),
        ("import timm\ndef build(): ...", ("torch",)),
        ("import torchvision.models\ndef build(): ...", ("torch",)),
        ("import numpy\ndef build(): ...", ("tensorflow", "torch", "jax")),
        ("from .torch import x\ndef build(): ...", ("tensorflow", "torch", "jax")),
        ("try:\n    import torch\nexcept ImportError:\n    import numpy\ndef build(): ...", ("torch",)),
        ("def other():\n    import keras\ndef build():\n    import torch", ("torch",)),
        ("def other():\n    import torch\ndef build():\n    if 1:\n        from keras import layers", KERAS),
    ],
)
def test_the_frameworks_are_those_that_the_file_or_the_function_imports(own, source, expected):
    assert user_model.frameworks_of(own(source)) == expected


# Which runs of it are kept.


def test_the_version_of_a_file_is_the_beginning_of_its_hash(own):
    model = own("def build(): ...", "nets/my.py")
    digest = hashlib.sha256(b"def build(): ...").hexdigest()

    assert user_model.version_of(model) == {"my.py": digest[:12]}
    assert user_model.version_of("cnn10") == user_model.version_of("gone.py:build") == {}


def run_of(model, **changed):
    versions = {"torch": "2.15.0", **user_model.version_of(model)}
    return make_run(**{"model": model, "versions": versions, **changed})


def test_a_session_that_is_resumed_keeps_runs_of_the_same_file_only(own):
    model = own("def build(): ...")
    before = run_of(model)

    assert user_model.still_holds(before)
    own("def build(): return 3")
    assert not user_model.still_holds(before)
    assert user_model.still_holds(make_run())


@pytest.mark.parametrize(
    ("status", "kept"), [(Status.INVALID, False), (Status.UNSUPPORTED, False), (Status.OOM, True)]
)
def test_what_the_user_may_have_mended_is_measured_anew(own, status, kept):
    """A package that was installed since does not change the file."""
    model = own("def build(): ...")

    assert user_model.still_holds(run_of(model, status=status)) is kept
    assert user_model.still_holds(run_of(model, status=status, versions={})), "the framework was not there"


THEIRS = Failure(stage="build", in_user_file=True)


def test_what_was_wrong_is_told_once_with_how_often(own):
    model = own("def build(): ...")
    bad = [
        run_of(
            model, status=Status.INVALID, reason="my.py:build raised ValueError: no", block=b, failure=THEIRS
        )
        for b in (0, 1)
    ]
    others = [
        run_of(model),
        run_of(model, status=Status.UNSUPPORTED, reason="TF32 is a mode of NVIDIA GPUs"),
        make_run(status=Status.INVALID, reason="my.py is a name that cnn10 does not have"),
    ]

    assert user_model.fault_sentences([*bad, *others]) == [
        "my.py:build raised ValueError: no. This happened in 2 of its 4 runs."
    ]


def test_examples_are_what_their_own_words_say():
    """Each command in their docstrings names a function that is there."""
    folder = Path(__file__).parents[2] / "examples"
    named = [
        line.split("MODEL=")[1].strip()
        for file in folder.glob("*.py")
        for line in file.read_text().splitlines()
        if "MODEL=" in line
    ]

    assert len(named) == 3
    for model in named:
        user_model.check_user_model(model)
    assert {model: user_model.frameworks_of(model) for model in named} == {
        "examples/small_cnn.py:build_keras": KERAS,
        "examples/small_cnn.py:build_torch": ("torch",),
        "examples/shapes.py:build": ("torch",),
    }
