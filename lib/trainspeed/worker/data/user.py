"""Images of the user's own: call the function `data` of a model's file, and check what it returns.

It runs in a process of its own, so that whatever it touches (a GPU, threads, standard input) leaves the worker
as it was. Knows no framework, and does not know how the images are resized or batched.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np

from trainspeed.core.errors import UserError
from trainspeed.core.user_model import DATA
from trainspeed.sensors.processes import die_with_parent
from trainspeed.worker import user_code
from trainspeed.worker.data.sets import Arrays
from trainspeed.worker.failures import Invalid, Unsupported, first_line

DATA_FORM = "(train_x, train_y, test_x, test_y)"
BRIGHTEST = 255  # of 8 bits


def load_user_data(model: str, image_size: int, *, framework: str) -> tuple[Arrays, int]:
    """Return what the function `data` of a model's file returns, and the number of classes.

    Images: (count, height, width, 1 or 3), float32 in [0, 1]. Labels: (count,), int32 from 0.

    Args:
        image_size: Passed to the function; it may return images of other sizes, which are resized later.
        framework: The framework whose environment this is.
    Raises:
        Unsupported, Invalid: As for `user_code.call`; or what it returns is not of that form.
    """
    name = f"{model.rpartition(':')[0]}:{DATA}"

    def make() -> Arrays:
        return checked(user_code.call(model, image_size, framework=framework, function=DATA), name)

    arrays = _in_a_process_of_its_own(make, name) if hasattr(os, "fork") else make()
    train_x, train_y, test_x, test_y = arrays
    return (_as_float(train_x), train_y, _as_float(test_x), test_y), int(train_y.max()) + 1


def checked(data: Any, name: str) -> Arrays:
    """Return the four arrays of `data`: images uint8 or float32 with a last axis of 1 or 3, labels int32.

    Args:
        name: Name of the function, for the message.
    Raises:
        Invalid: These are not four arrays, or one has a wrong shape or type or values out of range, or is empty.
    """
    if not isinstance(data, tuple | list) or len(data) != 4:
        returned = f"{len(data)} values" if isinstance(data, tuple | list) else user_code.type_name(data)
        raise Invalid(f"{name} must return {DATA_FORM}, not {returned}")
    train_x, train_y = _checked_part("train", data[0], data[1], name)
    test_x, test_y = _checked_part("test", data[2], data[3], name)
    labels = np.unique(train_y)
    if labels[0] != 0 or labels[-1] != len(labels) - 1 or len(labels) < 2:
        raise Invalid(
            f"{name}: train_y has {len(labels)} different labels from {labels[0]} to {labels[-1]}: number two "
            "classes or more from 0, without gaps"
        )
    if test_y.min() < 0 or test_y.max() > labels[-1]:
        raise Invalid(
            f"{name}: test_y goes from {test_y.min()} to {test_y.max()}, train_y from 0 to {labels[-1]}: the model "
            "cannot learn the others"
        )
    return train_x, train_y.astype(np.int32), test_x, test_y.astype(np.int32)


def _checked_part(part: str, x: Any, y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = _as_array(f"{part}_x", x, name), _as_array(f"{part}_y", y, name)
    if not x.size:
        raise Invalid(f"{name}: {part}_x is empty: it needs images")
    if x.ndim not in (3, 4) or (x.ndim == 4 and x.shape[3] not in (1, 3)):
        raise Invalid(
            f"{name}: {part}_x has the shape {x.shape}: it must be (count, height, width, 3), or "
            "(count, height, width) for grey images"
        )
    if y.shape not in ((len(x),), (len(x), 1)):
        raise Invalid(
            f"{name}: {part}_y has the shape {y.shape}, with {len(x)} images: it must be ({len(x)},)"
        )
    if not np.issubdtype(y.dtype, np.integer):
        raise Invalid(f"{name}: {part}_y has the type {y.dtype}: labels must be whole numbers")
    if x.dtype != np.uint8:
        if not np.issubdtype(x.dtype, np.floating):
            raise Invalid(f"{name}: {part}_x has the type {x.dtype}: it must be uint8, or float from 0 to 1")
        low, high = float(x.min()), float(x.max())
        if math.isnan(low):
            raise Invalid(f"{name}: {part}_x holds nan: floats must be from 0 to 1")
        if low < 0 or high > 1:
            raise Invalid(
                f"{name}: {part}_x goes from {low:g} to {high:g}: floats must be from 0 to 1. Normalise in the "
                "model instead."
            )
        x = x.astype(np.float32)
    return x[..., None] if x.ndim == 3 else x, y.reshape(-1)


def _as_array(what: str, values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except Exception as problem:  # whatever a list of arrays or a tensor of another library says
        raise Invalid(
            f"{name}: NumPy makes no array of {what} ({type(problem).__name__}: {first_line(problem)}): return one "
            "of uint8 or float for images of one size, and one of whole numbers for labels"
        ) from problem
    if not array.ndim:  # NumPy makes one thing of what it does not know, such as a loader of batches
        raise Invalid(f"{name}: {what} must be an array, not {user_code.type_name(values)}")
    return array


def _as_float(x: np.ndarray) -> np.ndarray:
    return x / np.float32(BRIGHTEST) if x.dtype == np.uint8 else x


def _in_a_process_of_its_own(make: Callable[[], Arrays], name: str) -> Arrays:
    """Return what `make` returns when a forked child calls it, or raise what it raises there."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send_result, args=(make, sender, os.getpid()))
    child.start()
    sender.close()
    with receiver:
        try:
            result = receiver.recv()
            if not isinstance(result, Exception):
                result = _received(receiver, result)
        except (EOFError, OSError):  # the child ended before it had sent everything
            result = None
    child.join()
    if isinstance(result, Exception):
        raise result
    if result is None:
        code = child.exitcode
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        raise Invalid(f"{name} {end}, without a result")
    return result


def _received(receiver: Connection, forms: Sequence[tuple[tuple[int, ...], np.dtype]]) -> Arrays:
    """Return the arrays of these shapes and types, read to where they stay: a pickle would be a second copy."""
    arrays = tuple(np.empty(shape, dtype) for shape, dtype in forms)
    with open(receiver.fileno(), "rb", closefd=False) as stream:
        for array in arrays:
            if stream.readinto(array.data.cast("B")) < array.nbytes:
                raise EOFError
    return arrays


def _send_result(make: Callable[[], Arrays], sender: Connection, parent: int) -> NoReturn:
    """Send the arrays or what is wrong with them, and end at once, whatever threads were started here."""
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent=parent)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the worker's requests arrive on standard input
        try:
            arrays = make()
        except (Unsupported, Invalid, UserError) as problem:
            sender.send(problem)
        else:
            sender.send([(array.shape, array.dtype) for array in arrays])
            with open(sender.fileno(), "wb", closefd=False) as stream:
                for array in arrays:
                    stream.write(np.ascontiguousarray(array).data.cast("B"))
        code = 0
    finally:
        os._exit(code)
