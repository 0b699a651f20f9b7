"""Running a function of the user's own file: whatever happens there is one line."""

import random
import sys

import numpy as np
import pytest

from trainspeed.core.paths import ROOT
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid, Unsupported


def call(model, *arguments, **options):
    return user_code.call(model, *arguments, framework="torch", **options)


def test_returns_what_the_function_returns(own):
    model = own("def build(*given):\n    return given\ndef data(size):\n    return -size")

    assert call(model, (3, 8, 8), 10, "channels_last") == ((3, 8, 8), 10, "channels_last")
    assert call(model, 8, function="data") == -8


def test_a_file_is_imported_once_and_may_import_its_neighbours(own):
    own("VALUE = 7", "nets/neighbour_of_tests.py")
    model = own(
        "from neighbour_of_tests import VALUE\ncalls = []\ndef build():\n    calls.append(VALUE)\n    return calls",
        "nets/my.py",
    )

    assert call(model) == [7]
    assert call(model) == [7, 7]
    assert not sys.path[0].endswith("nets"), "a file named as a package must not replace it"


def test_a_file_may_import_from_the_folder_that_its_path_begins_in(own):
    own("VALUE = 7", "parts_of_tests/blocks.py")
    model = own("from parts_of_tests.blocks import VALUE\ndef build():\n    return VALUE", "nets/deep/my.py")

    assert call(model) == 7


def test_random_numbers_are_those_of_the_seed(own):
    model = own("import random, numpy\ndef build():\n    return random.random(), float(numpy.random.rand())")
    state = random.getstate(), np.random.get_state()

    first, again, other = (call(model, seed=seed) for seed in (1, 1, 2))

    random.setstate(state[0])
    np.random.set_state(state[1])
    assert first == again and first[0] != other[0] and first[1] != other[1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def build():\n    raise ValueError('too\\nlong')", "my.py:build raised ValueError in line 2: too"),
        ("x = 1 / 0\ndef build(): ...", "my.py:build raised ZeroDivisionError in line 1: division by zero"),
        (
            "def build(shape, *, width=8, **more): ...",
            "my.py:build is called as build(input_shape, classes, layout), and is build(shape, *, width, **more)",
        ),
        ("def build():\n    int()()", "my.py:build raised TypeError in line 2: 'int' object is not callable"),
        ("def build():\n    raise SystemExit('no GPU')", "my.py:build raised SystemExit in line 2: no GPU"),
        ("def build():\n    raise SystemExit(3)", "my.py:build ended Python in line 2 with code 3"),
        (
            "import sys\nsys.exit()\ndef build(): ...",
            'my.py:build ended Python in line 2 with code 0 as the file was imported: put that below `if __name__ == "',
        ),
        ("def build():\n    raise KeyError", "my.py:build raised KeyError in line 2: no message"),
        ("build = 3", "my.py:build is no function"),
        ("def build():\n    int('x')", "my.py:build raised ValueError in line 2: invalid literal for int"),
    ],
)
def test_what_is_raised_is_one_line_with_the_place(own, source, message):
    with pytest.raises(Invalid) as problem:
        call(own(source))

    assert str(problem.value).startswith(message) and "\n" not in str(problem.value)


def test_a_file_that_parses_arguments_sees_none_of_the_workers(own, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["worker", "--backend", "torch"])
    parsed = "parser.parse_args().width"
    model = own(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--width', default=8)\n"
        f"width = {parsed}\ndef build():\n    return width, {parsed}, parser.prog"
    )

    assert call(model) == (8, 8, "my.py")
    assert sys.argv == ["worker", "--backend", "torch"]


def test_the_cause_is_kept_so_that_memory_that_ran_out_is_known_as_such(own):
    with pytest.raises(Invalid) as problem:
        call(own("def build():\n    raise MemoryError('no 9 bytes')"))

    assert isinstance(problem.value.__cause__, MemoryError)


@pytest.mark.parametrize(
    "source", ["import no_such_package\ndef build(): ...", "def build():\n    import no_such_package"]
)
def test_a_package_that_is_missing_says_where_to_install_it(own, source):
    with pytest.raises(
        Unsupported,
        match=r"my\.py:build: No module named 'no_such_package': install it into the environment of torch",
    ):
        call(own(source))


def test_no_folder_of_this_machine_is_told(own, tmp_path):
    model = own(f"def build():\n    raise OSError('{tmp_path}/secret and {ROOT}/lib')")

    with pytest.raises(Invalid) as problem:
        call(model)

    assert str(problem.value) == "my.py:build raised OSError in line 2: ./secret and ./lib"


def test_a_file_that_failed_to_import_is_tried_again_and_not_half_there(own):
    model = own("def build():\n    return 1\nraise ValueError('later')")
    for _ in range(2):
        with pytest.raises(Invalid, match="ValueError in line 3: later"):
            call(model)
