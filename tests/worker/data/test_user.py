"""Images of the user's own: read in a process of their own, and checked."""

import os
import tracemalloc

import numpy as np
import pytest

from trainspeed.worker.data import user as own_data
from trainspeed.worker.failures import Invalid, Unsupported

GOOD = """
import numpy as np

def data(image_size):
    x = np.zeros((6, image_size, image_size, 3), np.uint8)
    x[0] = 255
    return x, np.arange(6) % 3, x[:2], np.array([[0], [2]])
"""


class NoArray:
    """As a tensor of which NumPy cannot make an array."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("use detach()")


def load(model, image_size=8):
    return own_data.load_user_data(model, image_size, framework="torch")


def made(**changed):
    """Return what `data` might return: six images in three classes to train with, two to test."""
    arrays = {
        "train_x": np.zeros((6, 4, 4, 3), np.uint8),
        "train_y": np.arange(6) % 3,
        "test_x": np.zeros((2, 4, 4, 3), np.uint8),
        "test_y": np.array([0, 2]),
    }
    return tuple((arrays | changed).values())


def test_images_become_floats_up_to_1_and_classes_are_counted(own):
    (train_x, train_y, test_x, test_y), classes = load(own(GOOD), 5)

    assert (train_x.shape, train_x.dtype, test_x.shape) == ((6, 5, 5, 3), np.float32, (2, 5, 5, 3))
    assert (train_x[0] == 1).all() and (train_x[1:] == 0).all()
    assert train_y.dtype == np.int32 and list(train_y) == [0, 1, 2, 0, 1, 2] and list(test_y) == [0, 2]
    assert classes == 3


def test_whatever_it_does_to_its_process_the_worker_stays_as_it_was(own, monkeypatch):
    monkeypatch.delenv("TOUCHED", raising=False)
    model = own("import os\nos.environ['TOUCHED'] = '1'\nassert not os.read(0, 1)\n" + GOOD)

    load(model)

    assert "TOUCHED" not in os.environ


def test_large_images_are_held_once_by_the_worker(own):
    model = own(
        "import numpy as np\ndef data(image_size):\n"
        "    x = np.zeros((2000, 32, 32, 3), np.float32)[::-1]\n"
        "    x[1, 2] = 0.5\n"
        "    return x, np.arange(2000) % 3, x[:2], np.array([0, 2])\n"
    )
    tracemalloc.start()
    try:
        (train_x, *_), _ = load(model)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (train_x[1, 2] == 0.5).all() and train_x.sum() == 0.5 * 32 * 3
    assert peak_bytes < 1.5 * train_x.nbytes


def test_grey_images_need_no_axis_for_it():
    train_x, _, test_x, _ = own_data.checked(
        made(train_x=np.zeros((6, 4, 4)), test_x=np.ones((2, 4, 4))), "my.py:data"
    )

    assert train_x.shape == (6, 4, 4, 1) and train_x.dtype == np.float32 and (test_x == 1).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"train_x": np.zeros((6, 3, 4, 4))},
            r"train_x has the shape \(6, 3, 4, 4\): it must be \(count, height",
        ),
        ({"train_x": np.zeros(6)}, "train_x has the shape"),
        ({"train_x": 3}, "train_x must be an array, not int"),
        ({"test_x": iter([])}, "test_x must be an array, not list_iterator"),
        ({"train_y": None}, "train_y must be an array, not None"),
        ({"test_x": np.zeros((0, 4, 4, 3)), "test_y": np.zeros(0, int)}, "test_x is empty"),
        ({"train_x": np.zeros((6, 4, 0, 3))}, "train_x is empty"),
        ({"train_y": np.arange(5)}, r"train_y has the shape \(5,\), with 6 images"),
        ({"train_x": np.zeros((6, 4, 4, 3), int)}, "train_x has the type int64: it must be uint8, or float"),
        ({"test_x": np.full((2, 4, 4, 3), 200.0)}, "test_x goes from 200 to 200: floats must be from 0 to 1"),
        ({"train_x": np.full((6, 4, 4, 3), np.nan)}, "train_x holds nan: floats must be"),
        (
            {"test_x": [np.zeros((4, 4, 3), np.uint8), np.zeros((5, 4, 3), np.uint8)]},
            r"NumPy makes no array of test_x \(ValueError: setting an array element.*: return one of uint8",
        ),
        ({"train_y": NoArray()}, r"NumPy makes no array of train_y \(RuntimeError: use detach\(\)\): return"),
        ({"train_y": np.zeros(6)}, "train_y has the type float64: labels must be whole numbers"),
        ({"test_y": np.array(["a", "b"])}, "test_y has the type <U1"),
        ({"train_y": np.arange(6) + 1}, "train_y has 6 different labels from 1 to 6: number two classes"),
        ({"train_y": np.array([0, 0, 2, 2, 0, 2])}, "train_y has 2 different labels from 0 to 2"),
        ({"train_y": np.zeros(6, int)}, "train_y has 1 different labels"),
        ({"test_y": np.array([0, 3])}, "test_y goes from 0 to 3, train_y from 0 to 2"),
        ({"test_y": np.array([-1, 0])}, "test_y goes from -1 to 0"),
    ],
)
def test_data_of_a_wrong_form_are_one_line(changed, message):
    with pytest.raises(Invalid, match=f"my.py:data: {message}") as problem:
        own_data.checked(made(**changed), "my.py:data")

    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(("returned", "what"), [(None, "None"), ((1, 2), "2 values"), ("four", "str")])
def test_anything_but_four_arrays_is_one_line(returned, what):
    with pytest.raises(Invalid, match=rf"my.py:data must return \(train_x.*\), not {what}"):
        own_data.checked(returned, "my.py:data")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("raise OSError('no such disk')", Invalid, "my.py:data raised OSError in line 3: no such disk"),
        ("import no_such_package", Unsupported, "my.py:data: No module named 'no_such_package': install it"),
        ("return 3", Invalid, "my.py:data must return"),
        (
            "return [[1], [1, [2]]], [0], 0, 0",
            Invalid,
            "my.py:data: NumPy makes no array of train_x (ValueError: setting",
        ),
        ("os.kill(os.getpid(), 9)", Invalid, "my.py:data was killed by SIGKILL, without a result"),
        ("os._exit(4)", Invalid, "my.py:data ended with code 4, without a result"),
    ],
)
def test_whatever_goes_wrong_there_comes_back_as_one_line(own, body, error, message):
    with pytest.raises(error) as problem:
        load(own(f"import os\ndef data(image_size):\n    {body}"))

    assert str(problem.value).startswith(message)
