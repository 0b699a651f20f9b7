"""The titles of charts: what was found, from verdicts with an interval, and else the question."""

import pytest

from study_data import MACHINE, control_runs, layout_pair, make_run
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import compare, controls
from trainspeed.show.messages import (
    accuracy_look,
    of_accuracies,
    of_comparisons,
    of_memory,
    of_throughput,
    over_sizes,
)

QUESTION = "Is channels_last faster?"
VERSUS = "channels_last vs channels_first"
# A comparison of six blocks that is nearly 1 in half of them, and 1.2 in the others, decides nothing.
FASTER, SLOWER, SAME, OPEN = [1.3] * 6, [0.8] * 6, [1.0] * 6, [0.9, 1.2] * 3
FIVE = [1.3] * 5  # blocks, which give no interval


def judged(*pairs):
    runs = RunSet(tuple(run for pair in pairs for run in pair))
    return compare(runs, "layout", "channels_first", "channels_last", question=QUESTION)


def at(sizes, **more):
    """Return the verdicts of a setting, from batch size -> ratios."""
    return judged(*(layout_pair(ratios, batch_size=size, **more) for size, ratios in sizes.items()))


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({8: FASTER, 16: FASTER}, "faster from batch 8 to 16"),
        ({8: OPEN, 16: FIVE, 32: FASTER, 64: FASTER}, "faster from batch 32 on"),
        ({8: SAME, 32: FASTER, 64: FASTER}, "faster at batch 32, 64, the same at batch 8"),
        ({8: SLOWER, 16: SLOWER, 32: FASTER}, "faster at batch 32, slower at batch 8, 16"),
        ({8: OPEN, 16: OPEN, 32: FASTER}, "faster at batch 32, undecided at batch 8, 16"),
        ({16: FASTER, 32: [1.3], 64: FASTER}, "faster at batch 16, 64, without an interval at batch 32"),
        ({16: FASTER, 32: FASTER, 64: FIVE}, "faster at batch 16, 32, without an interval at batch 64"),
        ({8: FASTER, 16: OPEN, 32: FASTER}, "faster at batch 8, 32, undecided at batch 16"),
        ({8: FASTER, 16: SAME}, "faster at batch 8, the same at batch 16"),
        ({16: FASTER}, "faster at batch 16"),
        ({8: FIVE, 16: FASTER}, "faster at batch 16, without an interval at batch 8"),
    ],
)
def test_a_range_of_sizes_is_said_where_nothing_decided_is_left_out_of_it(sizes, found):
    assert over_sizes(at(sizes)) == f"{VERSUS}: {found}"


def test_settings_that_differ_are_named_by_what_tells_them_apart():
    gains, losses = {8: OPEN, 16: FASTER, 32: FASTER}, {8: SLOWER, 16: SLOWER}
    torch, keras = at(gains), at(losses, framework="tensorflow")

    assert over_sizes([*torch, *keras]) == (
        f"{VERSUS}: faster from batch 16 on (PyTorch); slower from batch 8 to 16 (TensorFlow)"
    )
    assert over_sizes([*torch, *at(gains, framework="tensorflow")]) == f"{VERSUS}: faster from batch 16 on"
    assert over_sizes([*torch, *at({8: FIVE}, framework="tensorflow")]) == (
        f"{VERSUS}: faster from batch 16 on (PyTorch); 1 without an interval"
    )


def test_more_findings_than_a_title_holds_are_counted():
    models = {"cnn10": FASTER, "wrn28_1": SLOWER, "wrn28_2": SAME, "wrn28_4": OPEN}
    verdicts = judged(*(layout_pair(ratios, model=model) for model, ratios in models.items()))

    assert over_sizes(verdicts) == f"{VERSUS}: 1 faster, 1 slower, 1 the same, 1 undecided"


@pytest.mark.parametrize("say", [of_comparisons, over_sizes])
def test_where_nothing_is_decided_the_title_is_the_question(say):
    """Medians that differ are no message."""
    assert say(at({16: OPEN})) == say(at({16: [1.5] * 5})) == QUESTION
    assert say([]) == "" and say([], otherwise="How fast?") == "How fast?"


def test_comparisons_are_counted_by_outcome_and_one_alone_is_no_number():
    assert of_comparisons(at({16: FASTER})) == f"{VERSUS}: faster"
    assert of_comparisons(at({8: FASTER, 16: FASTER})) == f"{VERSUS}: faster in both comparisons"
    assert of_comparisons(at({8: OPEN, 16: FASTER, 32: FIVE, 64: FIVE})) == (
        f"{VERSUS}: 1 faster, 1 undecided, 2 without an interval"
    )


def test_each_thing_that_is_compared_has_its_own_count():
    other_way = compare(
        RunSet(tuple(layout_pair(FASTER))), "layout", "channels_last", "channels_first", question=QUESTION
    )

    assert of_comparisons([*at({8: FASTER}), *other_way]) == (
        f"{VERSUS}: faster; channels_first vs channels_last: slower"
    )
    assert of_comparisons([*at({8: FASTER, 16: FIVE, 32: FIVE}), *other_way]) == (
        f"{VERSUS}: faster; channels_first vs channels_last: slower; 2 without an interval"
    )


def test_a_control_is_no_finding():
    control = controls(RunSet(tuple(control_runs(FASTER))))

    assert control and of_comparisons(control, otherwise="?") == "?"


@pytest.mark.parametrize(
    ("device", "more", "said"),
    [
        ("cpu", {}, "The largest of these runs took 30 % of this machine's memory"),
        ("gpu", {}, "The largest of these runs took 30 % of a GPU's memory"),
        (
            "cpu",
            {"status": Status.UNSUPPORTED, "peak_memory_bytes": None},
            "The largest of these runs took 30 % of this machine's memory",
        ),
        ("cpu", {"status": Status.OOM}, QUESTION),
        ("cpu", {"peak_memory_bytes": None}, QUESTION),
        ("gpu", {"status": Status.CRASHED, "peak_memory_bytes": None}, QUESTION),
        ("gpu", {"status": Status.TIMEOUT, "peak_memory_bytes": None}, QUESTION),
    ],
)
def test_memory_is_said_where_every_run_fitted_and_told_what_it_took(device, more, said):
    """30.1 % is rounded as on the front page."""
    machine = {
        **MACHINE,
        "device": device,
        "memory_bytes": 1000,
        "gpus": [{"name": "H200", "memory_bytes": 1000}],
    }
    told = {"machine": machine, "peak_memory_bytes": 301}
    assert of_memory([make_run(**told), make_run(**{**told, **more})], otherwise=QUESTION) == said
    assert of_memory([], otherwise=QUESTION) == QUESTION


def test_the_largest_throughput_is_said_with_what_reached_it():
    runs = [make_run(s, batch_size=size, images_per_epoch=1024) for size, s in ((8, 2.0), (64, 1.0))]
    title = of_throughput(runs)
    assert title.startswith("Up to 1,024 images per second: PyTorch") and title.endswith("batch 64")
    assert of_throughput([]).endswith("?")


KEPT, OPEN_POINTS, LOST = [0.1, -0.1] * 3, [2.0, -2.0] * 3, [-3.0, -3.1] * 3  # points of accuracy


def learned(**points):
    """Return the verdicts on accuracy of models: model -> points that channels_last gains in each block."""
    runs = [
        make_run(model=model, layout=layout, block=block, test_accuracy=0.8 + own / 100)
        for model, gained in points.items()
        for block, gain in enumerate(gained)
        for layout, own in (("channels_first", 0.0), ("channels_last", gain))
    ]
    return compare(
        RunSet(tuple(runs)), "layout", "channels_first", "channels_last", question="", quantity="accuracy"
    )


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"cnn10": KEPT}, "the same within 0.5 points"),
        ({"cnn10": KEPT, "wrn28_2": KEPT}, "the same within 0.5 points in both comparisons"),
        ({"cnn10": KEPT, "wrn28_2": OPEN_POINTS}, "1 the same within 0.5 points, 1 undecided"),
        ({"cnn10": LOST, "wrn28_2": KEPT[:5]}, "worse"),
    ],
)
def test_what_is_known_of_accuracies_is_said_in_the_words_of_tables(points, said):
    assert of_accuracies(learned(**points), otherwise="?") == f"{VERSUS}, accuracy: {said}"


def test_where_no_accuracy_is_known_it_is_the_question():
    assert of_accuracies(learned(cnn10=OPEN_POINTS, wrn28_2=KEPT[:5]), otherwise="?") == "?"
    assert of_accuracies([], otherwise="?") == "?"


def test_accuracies_without_an_interval_are_a_first_look_and_no_question():
    """A chart over a gap of many points asked whether all arms learn alike."""
    said = of_accuracies(learned(cnn10=LOST[:1], wrn28_2=KEPT[:1]), otherwise="?")
    assert said.startswith(f"{VERSUS}, accuracy: ")
    assert said.endswith(" points, a first look (one block, no interval)")


def test_what_a_first_look_at_accuracies_showed_is_told_thing_by_thing():
    layouts = learned(cnn10=[-1.5], wrn28_2=[0.5])
    precisions = compare(
        [make_run(precision=name, test_accuracy=at) for name, at in (("fp32", 0.7), ("bf16", 0.8))],
        "precision", "fp32", "bf16", question="", quantity="accuracy",
    )  # fmt: skip
    end = "Single runs differ by chance, so that this decides nothing; `accuracy_blocks: 6` would give an interval."

    assert accuracy_look(layouts, otherwise="?") == (
        rf"In one block, accuracy differs: channels\_last vs channels\_first by -1.5 to +0.5 points in 2 pairs. {end}"
    )
    both = accuracy_look([*layouts, *precisions], otherwise="?")
    assert both.endswith(f" in 2 pairs; bf16 vs fp32 by +10.0 points. {end}")
    assert accuracy_look(learned(cnn10=[0.5] * 3), otherwise="?").startswith("In at most 3 blocks, ")
    assert accuracy_look([], otherwise="?") == "?"
    title = of_accuracies([*layouts, *precisions], otherwise="?")
    assert title == "Accuracy, pair by pair: -1.5 to +10.0 points, a first look (one block, no interval)"
