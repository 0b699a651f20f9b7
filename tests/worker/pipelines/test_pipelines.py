"""Every input pipeline of every framework gives the same images: shapes, steps, order and distribution."""

from __future__ import annotations

import numpy as np
import psutil
import pytest
from scipy import stats

from probes.pipeline_probe import ARMS, BATCH, COLUMN, COUNT, EPOCHS, HEIGHT, ROW, UNWRITTEN, WIDTH, images
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, PIPELINES, PLAIN_PIPELINES
from trainspeed.worker.data.augmentation import FLIP_PROBABILITY, SHIFT_SHARE, draw_augmentation, moved

STEPS = COUNT // BATCH
TAKEN = EPOCHS * STEPS * BATCH
HOST = ("generator", "threads", "processes")  # augmented by NumPy: equal, number for number
ALL = [
    (framework, *arm)
    for framework in FRAMEWORKS
    for arm in ARMS
    if arm[0] != "tf_data" or framework == "tensorflow"
]
AUGMENTED = [arm for arm in ALL if arm[1] not in PLAIN_PIPELINES]
IN_KERAS = [arm for arm in ALL if arm[0] != "torch"]
END_S = 30

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outputs(shared_worker, tmp_path_factory):
    """What the pipelines of every installed framework gave, each in its own environment."""
    folder = tmp_path_factory.mktemp("probe")
    files = shared_worker.probed("probes.pipeline_probe", folder, ".npz")
    return {framework: dict(np.load(file)) for framework, file in files.items()}


def of(outputs, framework: str, *names) -> np.ndarray:
    if framework not in outputs:
        pytest.skip(f"{framework} is not installed here")
    return outputs[framework]["/".join(map(str, names))]


def draws(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how far each image was shifted, in pixels, and whether mirrored, by its bright pixel."""
    light = x[..., 0].astype(np.float64)
    np.testing.assert_allclose(light.sum((1, 2)), 1, rtol=1e-3)
    at = light.sum(1) @ np.arange(WIDTH)
    mirrored = at > WIDTH / 2
    return light.sum(2) @ np.arange(HEIGHT) - ROW, np.where(mirrored, WIDTH - 1 - at, at) - COLUMN, mirrored


def test_every_pipeline_has_an_arm():
    assert {arm[0] for arm in ARMS} == {*PIPELINES}, "add it to tests/probes/pipeline_probe.py:ARMS"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_name_without_a_pipeline_is_refused(outputs, framework):
    """Else it would be fed by another one, and shown under that name."""
    assert str(of(outputs, framework, "refusal")).startswith(
        f"no pipeline '{UNWRITTEN}' in worker/pipelines/"
    )


@pytest.mark.parametrize("arm", ALL)
def test_shapes_dtypes_and_steps_are_equal(outputs, arm):
    x, y, steps = (of(outputs, *arm, name) for name in ("x", "y", "steps"))

    assert x.shape == (TAKEN, HEIGHT, WIDTH, 3)
    assert x.dtype == np.float32
    assert y.dtype == (np.int64 if arm[0] == "torch" else np.int32)
    assert list(steps) == [STEPS] * EPOCHS


@pytest.mark.parametrize("arm", [arm for arm in IN_KERAS if arm[3] == "channels_last"])
def test_fit_leaves_its_iterator_open_where_closing_it_may_take_long(outputs, arm):
    assert list(of(outputs, *arm, "open")) == ([True] if arm[0] == "tensorflow" else [])


@pytest.mark.parametrize("arm", ALL)
def test_an_epoch_has_no_image_twice_and_the_next_has_another_order(outputs, arm):
    first, second = of(outputs, *arm, "y").reshape(EPOCHS, -1)

    assert len(set(first)) == len(set(second)) == STEPS * BATCH
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("arm", [arm for arm in IN_KERAS if arm[3] == "channels_last"])
def test_fit_takes_whole_epochs_too(outputs, arm):
    """Keras looks at a first batch to see its shape; what its threads made then is not trained on."""
    epochs = of(outputs, *arm, "fit").reshape(EPOCHS, -1)

    assert [len(set(labels)) for labels in epochs] == [STEPS * BATCH] * EPOCHS


@pytest.mark.parametrize("arm", ALL)
def test_labels_stay_with_their_images(outputs, arm):
    numbers = of(outputs, *arm, "x")[..., 1].mean((1, 2))

    np.testing.assert_array_equal(numbers.round(), of(outputs, *arm, "y"))


@pytest.mark.parametrize("arm", [arm for arm in ALL if arm[1] in PLAIN_PIPELINES])
def test_without_augmentation_the_images_are_as_they_were(outputs, arm):
    x, _ = images()

    np.testing.assert_array_equal(of(outputs, *arm, "x"), x[of(outputs, *arm, "y")])


@pytest.mark.parametrize("arm", [arm for arm in AUGMENTED if arm[1] in HOST])
def test_neither_framework_nor_pipeline_nor_number_of_workers_changes_an_image(outputs, arm):
    reference = next(iter(outputs))
    for name in ("x", "y"):
        expected = of(outputs, reference, "generator", 0, "channels_last", name)
        np.testing.assert_array_equal(of(outputs, *arm, name), expected)


@pytest.mark.parametrize("arm", AUGMENTED)
def test_no_two_images_are_augmented_alike(outputs, arm):
    """Neither in two workers, nor in two epochs."""
    down, right, _ = draws(of(outputs, *arm, "x"))

    assert len(np.unique(np.round([down, right], 4), axis=1).T) == TAKEN


@pytest.mark.parametrize("arm", AUGMENTED)
def test_shifts_are_uniform_and_half_of_the_images_are_mirrored(outputs, arm):
    """Kolmogorov and Smirnov's distance: 0.08 is passed by chance once in 100,000, by a tenth more shift always."""
    down, right, mirrored = draws(of(outputs, *arm, "x"))

    for shift, most in ((down, SHIFT_SHARE * HEIGHT), (right, SHIFT_SHARE * WIDTH)):
        assert stats.kstest(shift, stats.uniform(-most, 2 * most).cdf).statistic < 0.08
        assert 0.97 * most < np.abs(shift).max() < 1.001 * most
    assert abs(mirrored.mean() - FLIP_PROBABILITY) < 0.07
    assert np.abs(np.corrcoef([down, right, mirrored])[np.triu_indices(3, 1)]).max() < 0.15


def by_numpy(x: np.ndarray) -> np.ndarray:
    return moved(x, *draw_augmentation(*x.shape[:3], np.random.default_rng(9)))


@pytest.fixture(scope="module")
def mean_texture() -> np.ndarray:
    """The mean of the texture channel over many augmentations, (height, width)."""
    x, _ = images()
    return by_numpy(np.repeat(x[:1], 8 * TAKEN, axis=0))[..., 2].mean(0)


@pytest.mark.parametrize("arm", AUGMENTED)
def test_the_mean_image_is_the_same_up_to_its_border(outputs, mean_texture, arm):
    """The texture goes on to the border: what is beyond it is filled alike."""
    found = of(outputs, *arm, "x")[..., 2].mean(0)

    assert np.abs(found - mean_texture).max() < 0.05


def test_the_check_of_the_mean_image_can_fail(mean_texture):
    """A black border instead of the nearest pixel is seen."""
    x, _ = images()
    framed = np.pad(x[:1], ((0, 0), (4, 4), (4, 4), (0, 0)))
    shifted = by_numpy(np.repeat(framed, TAKEN, axis=0))
    black = shifted[:, 4:-4, 4:-4, 2].mean(0)

    assert np.abs(black - mean_texture).max() > 0.05


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_worker_processes_load_no_framework(outputs, framework):
    arms = [arm for arm in ARMS if arm[0] == "processes"]

    for arm in arms:
        assert list(of(outputs, framework, *arm, "libraries")) == [0] * arm[1]
    assert of(outputs, framework, "own libraries") > 0, "the check can fail"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_closing_leaves_no_process_behind(outputs, framework):
    assert list(of(outputs, framework, "left")) == []


@pytest.mark.parametrize(
    ("framework", "expected"),
    [("tensorflow", "unsupported: augmentation in the model needs"), ("jax", "compiled: True")],
)
def test_augmentation_in_the_model_never_turns_xla_off_in_secret(outputs, framework, expected):
    assert str(of(outputs, framework, "compiled in_model")).startswith(expected)


def test_torch_workers_end_with_a_process_that_is_killed(shared_worker, tmp_path):
    outcome = shared_worker("torch").probe("probes.killed_loader", tmp_path / "pids")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    there = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(there, timeout=END_S)

    assert (outcome.status, len(pids)) == (Status.CRASHED, 2)
    assert "killed by SIGKILL" in outcome.reason
    assert alive == []
