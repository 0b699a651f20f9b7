"""What only the conv2d notebook has, in the report that all tests of notebooks share."""

from __future__ import annotations

import html
import re

import pytest

from notebook_mistakes import mistake_in
from page_text import read_page
from smoke_report import runs_of, verdicts_of
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.numbers import convolution_sentence
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.run import Role, Status
from trainspeed.sensors.machine import logical_cores
from trainspeed.studies.conv2d.answers import NO_GPU

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]

SMOKE = ("tensorflow", "torch", "jax", "scipy_signal", "opencv")  # the preset's libraries
INSTALLED = [name for name in SMOKE if find_interpreter(name if name in SMOKE[:3] else "scipy")]
SPREAD = [name for name in SMOKE[:2] if name in INSTALLED]
WITH_TENSORFLOW = pytest.mark.skipif("tensorflow" not in INSTALLED, reason="tensorflow is not installed")


@pytest.fixture(scope="module")
def runs(smoke_report):
    """Of convolutions; the ceilings of the roofline are trainings."""
    found = [run for run in runs_of(smoke_report, "conv2d") if isinstance(run.trial, Conv2dTrial)]
    return [run for run in found if run.trial.library in INSTALLED]


@pytest.fixture(scope="module")
def page(smoke_report):
    return read_page(smoke_report / "conv2d.html")


@pytest.fixture(scope="module")
def text(page):
    seen = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", seen)))


def table(page, name):
    """Return the cells of a table, row by row."""
    (body,) = re.findall(rf'<table[^>]*id="T_{name}_[0-9a-f]+".*?<tbody>(.*?)</tbody>', page, flags=re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    return [[" ".join(html.unescape(cell.replace("<wbr/>", "")).split()) for cell in row] for row in cells]


def test_every_library_that_is_installed_convolved_and_was_right(runs):
    """A result that is not the reference's would be `invalid`."""
    assert {run.status for run in runs} == {Status.OK}
    assert {run.trial.library for run in runs if run.trial.images == 12} == set(INSTALLED)
    assert all(run.median_s > 0 and run.stages_s["kernel"] > 0 for run in runs)


def test_every_run_says_where_it_ran(runs):
    """As many devices as it had, each by its own name where the library tells them apart."""
    where = {(run.trial.library, run.trial.devices): run.placement for run in runs}

    expected = {
        ("tensorflow", 1): "CPU:0",
        ("tensorflow", 2): "CPU:0, CPU:1",
        ("torch", 1): "cpu",
        ("torch", 2): "cpu, cpu",
        ("jax", 1): "cpu:0",
        ("scipy_signal", 1): "cpu",
        ("opencv", 1): "cpu",
    }
    assert where == {key: name for key, name in expected.items() if key[0] in INSTALLED}


def test_every_size_of_the_sweeps_was_measured_on_both_sides(runs):
    for field, sizes in {"images": {1, 4, 12}, "channels": {1, 3}, "filter_size": {3, 4}}.items():
        for library in (*SPREAD, "scipy_signal", "opencv"):
            assert {getattr(run.trial, field) for run in runs if run.trial.library == library} >= sizes


def test_what_was_measured_between_is_labelled_and_is_a_pair(runs):
    """Sizes halfway between those of the parameters, on a logarithmic axis."""
    labels = {run.label for run in runs}
    between = [run.trial for run in runs if run.label == Role.BISECTED]

    assert labels <= {"", Role.CONTROL, Role.CONTROL_AGAIN, Role.BISECTED}
    assert {(t.images in (2, 7), t.channels == 2) for t in between} <= {(True, False), (False, True)}
    assert {t.filter_size for t in between} <= {3}, "there is no size between 3 and 4"
    for size in {(t.images, t.channels) for t in between}:
        libraries = {t.library for t in between if (t.images, t.channels) == size}
        assert libraries & set(SPREAD)
        assert libraries & {"scipy_signal", "opencv"}


def test_the_page_tells_the_articles_times_and_that_one_block_decides_nothing(text):
    assert convolution_sentence() in text
    assert re.search(r"is faster for \d+ images of .* is undecided: measure 6 blocks or more\.", text)
    assert "1 of the 6 blocks that an interval needs" in text
    # Which limit, and on which side of it, the machine decides.
    assert re.search(r"what (memory|arithmetic) (allows|was measured to allow)", text)


def statements(page):
    """Return what the article states -> (what this machine says, why), and -> (why,) of what was not measured.

    What this machine says of all alike is in the caption.
    """
    stated = {f"{claim.claim} ({claim.size})" for claim in claims("conv2d")}
    rows = [*table(page, "claims"), *table(page, "unmeasured_claims")]
    places = [next(place for place, cell in enumerate(row) if cell in stated) for row in rows]
    return {row[place]: row[place + 1 :] for row, place in zip(rows, places, strict=True)}


def test_every_claim_of_the_article_has_an_answer_and_a_reason(page):
    said = statements(page)

    stated = [f"{claim.claim} ({claim.size})" for claim in claims("conv2d")]
    assert sorted(said) == sorted(stated) and len(stated) == 9
    answers = {answer for answer, *why in said.values() if why}
    assert answers <= {*Result} - {Result.UNMEASURED}
    assert all(row[-1].endswith(".") for row in said.values())


@WITH_TENSORFLOW
def test_the_answers_are_about_the_articles_own_pair_and_say_what_a_device_was(page):
    said = statements(page)
    by_claim = {claim.id: said[f"{claim.claim} ({claim.size})"] for claim in claims("conv2d")}
    why = by_claim["unoptimised"][-1]

    assert why.startswith("Here ") and "TensorFlow (graph)" in why
    assert why.endswith(NO_GPU)
    for about_gpus in ("cpu_wins", "few_gpus_slow", "memory_swap"):
        assert by_claim[about_gpus] == ["This is about GPUs, and none was used here."]
    assert len(by_claim["transfer_back"]) == 1, "there is no bus"


def test_every_pair_has_a_crossover_or_the_reason_why_not(page):
    rows = table(page, "crossovers")

    assert len(rows) == 3 * len(SPREAD) * 2
    assert {row[0] for row in rows} == {"images", "channels", "px of filter"}
    assert {len(row) for row in rows} == {5}, (
        "one block has no interval: its column is said once, above the table"
    )
    assert all(
        re.match(r"from about|up to about|at (every|no) size tried|here and there", row[3]) for row in rows
    )
    assert {row[4] for row in rows} == {"1 to 12", "1 to 3", "3 to 4"}


def test_libraries_devices_and_where_the_data_stay_are_compared(smoke_report):
    factors = {verdict.factor for verdict in verdicts_of(smoke_report, "conv2d")}
    assert factors <= {"library", "devices", "residency", "control"}
    assert factors >= ({"library", "devices", "residency"} if SPREAD else set())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("devices: [2], images: 7", "images (=7) must be divisible by devices (=2): try 6 or 8."),
        ("devices: [840], images: 840", "devices (=840) is more than there are"),
        ("devices: ['2']", "devices (='2') must be a whole number of at least 1"),
        ("max_devices: -1", "max_devices (=-1)"),
        ("libraries: [tensorflwo]", "did you mean 'tensorflow'?"),
        ("survey_libraries: [jaxx]", "did you mean 'jax'?"),
        ("libraries: [torch xla]", "unknown mode of torch 'xla'. Known: eager."),
        ("libraries: [tensorflow xla eager]", "two modes, xla and eager"),
        ("libraries: []", "libraries is an empty list: name at least one."),
        ("filter_sizes: [3, 0]", "filter_size (=0) must be a whole number from 1 to 255"),
        ("channels: [5000]", "channels (=5000) must be a whole number from 1 to 4096"),
        (
            "device_libraries: [opencv], devices: [2]",
            "library 'opencv' runs on one CPU core, not on 2 devices",
        ),
        ("bisections: -1", "bisections (=-1) must be a whole number of at least 0"),
        ("longest_call_s: 0", "longest_call_s (=0) must be positive seconds"),
        ("calls: 1", "calls (=1) must be a whole number from 3 to 10000"),
        ("survey_blocks: -1", "survey_blocks (=-1)"),
        ("image: 7", "did you mean 'images'?"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(parameters, words, tmp_path, monkeypatch):
    assert words in mistake_in("conv2d", parameters, tmp_path, monkeypatch)


def test_a_framework_on_the_device_is_refused_as_a_baseline(tmp_path, monkeypatch):
    assert "torch cpu" in mistake_in("conv2d", "cpu_libraries: [torch]", tmp_path, monkeypatch)


def test_a_control_that_is_not_compared_is_refused(tmp_path, monkeypatch):
    assert "controls" in mistake_in("conv2d", "controls: [jax]", tmp_path, monkeypatch)


@pytest.mark.parametrize("parameters", ["blocks: 2", "survey_libraries: [], channels: [], controls: []"])
def test_what_can_be_is_no_mistake(parameters, tmp_path, monkeypatch):
    """The check of bad input can fail."""
    assert mistake_in("conv2d", parameters, tmp_path, monkeypatch).startswith("no mistake")
