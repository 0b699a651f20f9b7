import matplotlib as mpl
import pytest

from pipeline_data import ALL, FIELDS, MODELS, measured, trials
from trainspeed.core.errors import UserError
from trainspeed.studies.multi_gpu.pipelines import (
    pipeline_trials,
    pipeline_verdicts,
    worker_counts,
)

mpl.use("Agg")


@pytest.mark.parametrize(
    ("asked", "cores", "found"), [([], 2, [1, 2]), ([], 6, [1, 2, 4]), ([], 1, [1]), ([3], 2, [3])]
)
def test_workers_are_swept_up_to_the_cores_where_none_are_named(asked, cores, found):
    assert worker_counts(asked, cores) == found


def test_only_crossed_pipelines_are_measured_on_several_devices():
    found = trials(counts=(1, 2), frameworks=("torch",), pipelines=["arrays", "generator", "in_model"])
    some = ["arrays", "generator", "in_model"]
    few = pipeline_trials(["torch"], MODELS, some, [2], [1, 2], crossed=["generator"], **FIELDS)

    assert {t.pipeline for t in found if t.devices == 2 and t.part == "both"} == {
        "arrays",
        "generator",
        "in_model",
    }
    assert {t.pipeline for t in few if t.devices == 2 and t.part == "both"} == {"generator"}
    assert [t for t in few if t.devices == 1] == [t for t in found if t.devices == 1]
    with pytest.raises(UserError, match="did you mean 'generator'"):
        pipeline_trials(["torch"], MODELS, ["arrays"], [2], [1, 2], crossed=["genrator"], **FIELDS)


def test_every_pipeline_is_measured_whole_and_alone_and_the_computing_once():
    found = [(t.pipeline, t.part) for t in trials(frameworks=("tensorflow",))]

    assert found.count(("arrays", "compute")) == 1
    assert {pipeline for pipeline, part in found if part == "both"} == set(ALL)
    assert {pipeline for pipeline, part in found if part == "input"} == set(ALL) - {"in_model"}
    alone = trials(pipelines=["in_model"], frameworks=("tensorflow",))
    assert ("arrays", "input") in {(t.pipeline, t.part) for t in alone}
    assert len(found) == len(set(found)) == 12


def test_tf_data_is_left_out_where_there_is_no_tensorflow():
    assert "tf_data" not in {t.pipeline for t in trials(frameworks=("torch",))}


def test_workers_are_swept_where_there_are_any():
    swept = [t.workers for t in trials(workers=(1, 4), frameworks=("torch",)) if t.pipeline == "threads"]
    assert sorted(swept) == [1, 1, 4, 4]


def test_everything_augments_but_arrays():
    assert {t.pipeline for t in trials() if not t.augment} == {"arrays"}


@pytest.mark.parametrize(
    ("pipelines", "workers", "words"),
    [
        (["genrator"], (1,), "unknown pipeline 'genrator': did you mean 'generator'"),
        (["threads"], (), "workers is an empty list"),
        (["threads"], (0,), "needs workers of at least 1"),
        (["threads"], (-1,), "workers (=-1) must be a whole number from 0 to 512"),
    ],
)
def test_bad_input_is_one_line(pipelines, workers, words):
    with pytest.raises(UserError) as caught:
        trials(pipelines=pipelines, workers=workers)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"batch_size": 0}, "pipeline_batch_size (=0) must be a whole number of at least 1."),
        (
            {"batch_size": 9},
            "pipeline_batch_size (=9) must be divisible by pipeline_devices (=2): try 8 or 10.",
        ),
        (
            {"batch_size": 128},
            "pipeline_batch_size (=128) is larger than the epoch: pipeline_images_per_epoch (=64). "
            "Lower the one or raise the other.",
        ),
        ({"images_per_epoch": 0}, "pipeline_images_per_epoch (=0) must be a whole number of at least 1."),
        ({"image_size": 4}, "image_size (=4) must be a whole number from 8 to 1024."),
    ],
)
def test_messages_name_the_parameters_of_the_notebook(wrong, words):
    with pytest.raises(UserError) as caught:
        pipeline_trials(["torch"], MODELS, ALL, [1], [1, 2], **{**FIELDS, **wrong})
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("frameworks", "models", "name"),
    [([], MODELS, "pipeline_frameworks"), (["torch"], [], "pipeline_models")],
)
def test_input_of_nothing_is_one_line(frameworks, models, name):
    with pytest.raises(
        UserError, match=rf"^{name} is an empty list: .* measure no input: pipelines: \[\]\.$"
    ):
        pipeline_trials(frameworks, models, ALL, [1], [1], **FIELDS)


def test_an_unknown_framework_is_one_line_on_any_number_of_devices():
    with pytest.raises(UserError, match="unknown framework 'pytorch': did you mean 'torch'"):
        trials(frameworks=["pytorch"], counts=(2,))


def test_several_models_are_measured_one_after_the_other():
    both = pipeline_trials(["torch"], ["cnn_keras", "cnn10"], ["arrays"], [1], [1], **FIELDS)
    assert [t.model for t in both] == ["cnn_keras"] * 3 + ["cnn10"] * 3


def test_no_pipelines_is_nothing_to_measure():
    assert trials(pipelines=[]) == ()


def test_pipelines_are_compared_with_the_generator_on_the_same_devices():
    verdicts = pipeline_verdicts(measured(counts=(1, 2), frameworks=("torch",)))

    assert {v.candidate.pipeline for v in verdicts} == {"threads", "processes", "in_model"}
    assert all(v.baseline.pipeline == "generator" for v in verdicts)
    assert all(v.baseline.devices == v.candidate.devices for v in verdicts)
    assert all(v.factor == "pipeline" for v in verdicts)
    assert {v.label.split(",")[0] for v in verdicts} == {
        "threads (2 workers) vs generator",
        "processes (2 workers) vs generator",
        "in_model vs generator",
    }
    (one,) = [v for v in verdicts if (v.candidate.pipeline, v.candidate.devices) == ("processes", 1)]
    assert one.speedup == pytest.approx(4.0 / 1.5)
