"""What is decided about convolutions, in words and in JSON."""

from __future__ import annotations

import json

import pytest

from conv2d_data import (
    ARTICLE_LIBRARIES,
    ARTICLE_SIZE,
    BLOCKS,
    CPU_MACHINE,
    GPU_MACHINE,
    make_runs,
    make_trial,
    shared,
)
from trainspeed.studies.conv2d.findings import (
    cpu_verdicts,
    device_verdicts,
    library_verdicts,
    residency_verdicts,
)
from trainspeed.studies.conv2d.trials import core_trials

CORE = core_trials(ARTICLE_LIBRARIES, ["tensorflow", "torch"], [1, 2, 4], **ARTICLE_SIZE)


def every_verdict(machine=CPU_MACHINE):
    runs = make_runs(CORE, shared, machine=machine)
    verdicts = [*library_verdicts(runs, CORE), *cpu_verdicts(runs, CORE), *device_verdicts(runs)]
    return [*verdicts, *residency_verdicts(runs, CORE)]


@pytest.mark.parametrize("blocks", [1, BLOCKS])
def test_a_verdict_is_strict_json(blocks):
    runs = make_runs(CORE, shared, blocks=blocks)
    for verdict in [*cpu_verdicts(runs, CORE), *device_verdicts(runs), *residency_verdicts(runs, CORE)]:
        line = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))

        assert line["speedup"] == verdict.speedup
        assert line["baseline"]["library"] == verdict.baseline.library
        assert "seed" not in line["candidate"]


def test_every_question_is_one_of_its_own():
    assert len({(v.question, v.factor) for v in every_verdict()}) == 4


def test_a_sentence_tells_libraries_modes_size_versions_and_blocks():
    (verdict,) = library_verdicts(make_runs(CORE, shared), CORE)

    assert verdict.sentence == (
        "PyTorch vs TensorFlow (graph): 4.00x (95 % interval 4.00 to 4.00): faster. Test CPU (1 core), "
        "tensorflow 2.21.0, keras 3.12.0, torch 2.15.0, 840 images of 100×100, 1 channel, 1 filter, 3×3, 6 blocks."
    )


def test_a_sentence_about_devices_tells_both_numbers_and_the_cores():
    verdict = next(v for v in device_verdicts(make_runs(CORE, shared)) if v.candidate.devices == 4)

    assert verdict.sentence.startswith("4 devices vs 1, TensorFlow (graph): 2.67x")
    assert "Test CPU (4 cores)" in verdict.sentence


def test_a_sentence_about_staying_says_what_is_held_against_what():
    verdict = residency_verdicts(make_runs(CORE, shared), CORE)[0]

    start = "data that stay on the device vs a round trip, TensorFlow (graph): 2.00x"
    assert verdict.sentence.startswith(start)
    assert verdict.label == "data that stay on the device vs a round trip, TensorFlow (graph)"


@pytest.mark.parametrize("verdict", every_verdict(), ids=lambda v: v.label)
def test_a_sentence_has_the_versions_of_what_ran_and_no_others(verdict):
    expected = {
        "tensorflow": "tensorflow 2.21.0",
        "torch": "torch 2.15.0",
        "scipy_signal": "scipy 1.17.1",
        "opencv": "opencv 4.13.0",
    }
    ran = {verdict.baseline.library, verdict.candidate.library}
    frameworks = {verdict.baseline.framework, verdict.candidate.framework}

    assert all(expected[library] in verdict.sentence for library in ran)
    for library in {"tensorflow", "torch"} - frameworks:
        assert expected[library] not in verdict.sentence
    assert ("scipy" in verdict.sentence) == ("scipy" in frameworks)


def test_labels_tell_verdicts_of_one_size_apart_and_sentences_of_several():
    """Of two sizes, two modes and two numbers of devices."""
    core = [
        make_trial(spec, devices=n, images=images)
        for spec in ("tensorflow", "tensorflow eager", "opencv")
        for n in (1, 2)
        for images in (12, 840)
        if spec != "opencv" or n == 1
    ]
    runs = make_runs(core, 1.0, blocks=1)
    verdicts = []
    for images in (12, 840):
        here = [trial for trial in core if trial.images == images]
        some = [*library_verdicts(runs, here), *cpu_verdicts(runs, here), *residency_verdicts(runs, here)]
        some += device_verdicts([run for run in runs if run.trial.images == images])
        assert len({v.label for v in some}) == len(some) == 1 + 2 + 2 + 2
        verdicts += some

    assert len({v.sentence for v in verdicts}) == len(verdicts)


def test_on_a_gpu_the_sentence_names_it():
    (verdict,) = library_verdicts(make_runs(CORE, shared, machine=GPU_MACHINE), CORE)

    assert "Test GPU" in verdict.sentence


def test_on_a_gpu_a_sentence_about_the_cpu_names_the_cpu():
    runs = make_runs(CORE, shared, machine=GPU_MACHINE)

    assert all("Test CPU" in v.sentence for v in cpu_verdicts(runs, CORE))
