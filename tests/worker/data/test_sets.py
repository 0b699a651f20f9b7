import functools
import hashlib
import io
import pickle
import re
import socket
import tarfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from trainspeed.core.errors import UserError
from trainspeed.worker.data import sets
from trainspeed.worker.data.sets import Source, download, load_data_set, resize, resolve_data_set

CIFAR10, MNIST = "cifar-10-python.tar.gz", "mnist.npz"


@pytest.fixture(scope="module")
def digits():
    return load_data_set("digits", 8)


# The digits.


def test_the_digits_are_real_images_in_the_shape_of_every_data_set(digits):
    assert digits.train_x.shape == (1437, 8, 8, 3)
    assert digits.test_x.shape == (360, 8, 8, 3)
    for x, y in ((digits.train_x, digits.train_y), (digits.test_x, digits.test_y)):
        assert (x.dtype, y.dtype, y.shape) == (np.float32, np.int32, x.shape[:1])
        assert (x.min(), x.max()) == (0, 1)
        assert set(y.tolist()) == set(range(10))


def test_no_class_is_rare_in_either_part(digits):
    """Otherwise the accuracy of chance would not be about a tenth."""
    for y in (digits.train_y, digits.test_y):
        assert np.bincount(y).min() > 0.08 * len(y)


def test_no_held_out_image_is_among_the_training_images(digits):
    seen = {image.tobytes() for image in digits.train_x}
    assert not any(image.tobytes() in seen for image in digits.test_x)


def test_the_labels_are_those_of_the_images(digits):
    """Compare each held-out image with the mean of each class: a shuffle of one part alone would show."""
    means = np.stack([digits.train_x[digits.train_y == c].mean(axis=0) for c in range(10)])
    distances = ((digits.test_x[:, None] - means) ** 2).sum(axis=(2, 3, 4))
    assert (distances.argmin(axis=1) == digits.test_y).mean() > 0.8


def test_the_split_is_the_same_in_every_process():
    one, two = load_data_set("digits", 8), load_data_set("digits", 8)
    assert (one.test_x == two.test_x).all()
    assert (one.train_y == two.train_y).all()


@pytest.mark.parametrize("size", [8, 16, 32, 33])
def test_images_come_in_the_size_asked_for(size):
    images = load_data_set("digits", size)
    assert images.train_x.shape[1:] == images.test_x.shape[1:] == (size, size, 3)
    assert images.train_x.dtype == np.float32
    assert images.train_x.min() >= 0
    assert images.train_x.max() <= 1


def test_images_that_are_not_resized_keep_their_size_and_channels(digits):
    own = load_data_set("digits", None)
    assert own.train_x.shape == (1437, 8, 8, 1)
    assert own.test_x.shape == (360, 8, 8, 1)
    assert own.train_x.dtype == np.float32
    assert (resize(own.train_x, 8) == digits.train_x).all()


def test_the_first_images_alone_are_the_same_ones_without_the_test_images(digits):
    first = load_data_set("digits", 8, first=10)
    assert (first.train_x == digits.train_x[:10]).all()
    assert first.train_y.tolist() == digits.train_y[:10].tolist()
    assert first.test_x.shape == (0, 8, 8, 3)
    assert len(load_data_set("digits", 8, first=5000).train_y) == 1437


# CIFAR-10 and MNIST, small, from a server on this machine.


def cifar_like(path, *, batches=5, size=2, test=3):
    """Write an archive like CIFAR-10's; return its images as (count, 32, 32, 3) bytes, and labels."""
    rng = np.random.default_rng(0)
    parts = {}
    with tarfile.open(path, "w:gz") as archive:
        names = [
            "batches.meta",
            "test_batch",
            *(f"data_batch_{n}" for n in range(batches, 0, -1)),
            "readme.html",
        ]
        for name in names:
            count = test if name == "test_batch" else size
            data = rng.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
            labels = rng.integers(0, 10, count).tolist()
            content = pickle.dumps({b"data": data.reshape(count, -1), b"labels": labels})
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
            parts[name] = data.transpose(0, 2, 3, 1), labels
    return parts


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder, and the address under which it is served."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def cifar(server, monkeypatch):
    """The small CIFAR-10: its parts, and the sources to fetch it from."""
    folder, address = server
    parts = cifar_like(folder / CIFAR10)
    sha256 = hashlib.sha256((folder / CIFAR10).read_bytes()).hexdigest()
    source = Source(file=CIFAR10, url=f"{address}/{CIFAR10}", sha256=sha256)
    monkeypatch.setitem(sets.DATA_SOURCES, "cifar10", source)
    return parts, {"cifar10": source}


def test_cifar_10_is_fetched_checked_and_loaded_with_its_own_split(cifar, tmp_path):
    parts, sources = cifar
    folder = tmp_path / "downloads"
    download(folder, sources, progressbar=False)
    assert (folder / CIFAR10).is_file()
    assert resolve_data_set("auto", folder) == resolve_data_set("cifar10", folder) == "cifar10"

    images = load_data_set("cifar10", 32, folder)

    train = [parts[f"data_batch_{n}"] for n in range(1, 6)]
    assert np.array_equal(np.round(images.train_x * 255), np.concatenate([x for x, _ in train]))
    assert images.train_y.tolist() == [label for _, labels in train for label in labels]
    assert np.array_equal(np.round(images.test_x * 255), parts["test_batch"][0])
    assert images.test_y.tolist() == parts["test_batch"][1]
    assert (images.train_x.dtype, images.train_y.dtype) == (np.float32, np.int32)
    assert images.train_x.max() <= 1


def test_cifar_10_that_is_not_resized_is_the_same(cifar, server):
    own, resized = (load_data_set("cifar10", size, server[0]) for size in (None, 32))
    assert (own.train_x == resized.train_x).all()
    assert own.test_x.dtype == np.float32
    assert own.train_x.flags.c_contiguous


@pytest.fixture
def mnist(server, monkeypatch):
    """The small MNIST: its arrays, and the sources to fetch it from."""
    folder, address = server
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 12), ("test", 3)):
        arrays[f"x_{part}"] = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"y_{part}"] = rng.integers(0, 10, count, dtype=np.uint8)
    np.savez(folder / MNIST, **arrays)
    sha256 = hashlib.sha256((folder / MNIST).read_bytes()).hexdigest()
    source = Source(file=MNIST, url=f"{address}/{MNIST}", sha256=sha256)
    monkeypatch.setitem(sets.DATA_SOURCES, "mnist", source)
    return arrays, {"mnist": source}


def test_mnist_is_fetched_checked_and_loaded_with_its_own_split(mnist, tmp_path):
    arrays, sources = mnist
    folder = tmp_path / "downloads"
    download(folder, sources, progressbar=False)
    assert (folder / MNIST).is_file()
    assert resolve_data_set("auto", folder, auto="mnist") == resolve_data_set("mnist", folder) == "mnist"
    assert resolve_data_set("auto", folder) == "digits", "CIFAR-10 is what is preferred unless told otherwise"

    images = load_data_set("mnist", None, folder)

    for part, x, y in (("train", images.train_x, images.train_y), ("test", images.test_x, images.test_y)):
        assert (x.dtype, y.dtype) == (np.float32, np.int32)
        assert np.array_equal(np.round(x * 255), arrays[f"x_{part}"][..., None])
        assert x.max() <= 1
        assert y.tolist() == arrays[f"y_{part}"].tolist()
    assert load_data_set("mnist", 32, folder).test_x.shape == (3, 32, 32, 3)


def test_what_was_fetched_is_not_fetched_again(cifar, server, tmp_path):
    _, sources = cifar
    download(tmp_path / "downloads", sources, progressbar=False)
    (server[0] / CIFAR10).unlink()
    download(tmp_path / "downloads", sources, progressbar=False)

    assert resolve_data_set("auto", tmp_path / "downloads") == "cifar10"


def one_line(caught):
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_with_another_checksum_is_refused_in_one_line_and_not_kept(cifar, server, tmp_path):
    _, sources = cifar
    (server[0] / CIFAR10).write_bytes(b"a login page")
    with pytest.raises(
        UserError, match=r"^cifar10: http://127.* does not have the expected checksum"
    ) as caught:
        download(tmp_path / "downloads", sources, progressbar=False)
    one_line(caught)
    assert list((tmp_path / "downloads").glob("*")) == []
    assert resolve_data_set("auto", tmp_path / "downloads") == "digits"


def test_a_file_that_the_server_does_not_have_is_told_in_one_line(cifar, server, tmp_path):
    _, sources = cifar
    (server[0] / CIFAR10).unlink()
    with pytest.raises(UserError, match=r"^cifar10: cannot fetch http://127.*\(HTTPError\)") as caught:
        download(tmp_path / "downloads", sources, progressbar=False)
    assert "the digits are used" in one_line(caught)


def test_a_server_that_cannot_be_reached_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    sources = {"mnist": Source(file="mnist.npz", url=f"http://127.0.0.1:{port}/mnist.npz", sha256="0" * 64)}
    with pytest.raises(UserError, match=r"^mnist: cannot fetch http://127.*\(ConnectionError\)") as caught:
        download(tmp_path / "downloads", sources, progressbar=False)
    one_line(caught)


# Which data set `auto` is.


def test_without_a_file_auto_is_the_digits(tmp_path):
    assert resolve_data_set("auto", tmp_path) == resolve_data_set("auto", tmp_path, auto="mnist") == "digits"
    assert resolve_data_set("digits", tmp_path) == "digits"


@pytest.mark.parametrize("name", ["cifar10", "mnist"])
def test_a_data_set_that_was_never_fetched_is_told_in_one_line(tmp_path, name):
    message = f"dataset '{name}' is not there: fetch it with `make data`, or use dataset 'digits'"
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        resolve_data_set(name, tmp_path)
    one_line(caught)


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(("name", "file"), [("cifar10", CIFAR10), ("mnist", MNIST)])
def test_a_damaged_file_is_told_before_it_is_read(tmp_path, by_name, name, file):
    """Before it is unpickled, above all."""
    (tmp_path / file).write_bytes(b"half of it")
    message = rf"^{re.escape(file)} .* is damaged \(wrong checksum\): delete it and run `make data`"
    with pytest.raises(UserError, match=message) as caught:
        resolve_data_set(name if by_name else "auto", tmp_path, auto=name)
    one_line(caught)


def test_the_digits_do_not_mind_a_damaged_file(tmp_path):
    (tmp_path / CIFAR10).write_bytes(b"half of it")
    assert resolve_data_set("digits", tmp_path) == "digits"


def test_an_unchanged_file_is_hashed_once_and_a_changed_one_again(cifar, server, tmp_path, monkeypatch):
    """A study asks for every trial; hashing CIFAR-10's 170 MB takes 2 s each time."""
    hashed = []
    real = sets.pooch.file_hash
    monkeypatch.setattr(sets.pooch, "file_hash", lambda path: hashed.append(path) or real(path))
    path = tmp_path / CIFAR10
    path.write_bytes((server[0] / CIFAR10).read_bytes())
    assert [resolve_data_set("auto", tmp_path) for _ in range(5)] == ["cifar10"] * 5
    assert len(hashed) == 1
    path.write_bytes(b"overwritten")
    with pytest.raises(UserError, match="damaged"):
        resolve_data_set("auto", tmp_path)


def test_the_real_sources_are_fetched_over_tls_and_checked_by_sha_256():
    for source in sets.DATA_SOURCES.values():
        assert source.url.startswith("https://")
        assert source.url.endswith(source.file)
        assert re.fullmatch("[0-9a-f]{64}", source.sha256)
