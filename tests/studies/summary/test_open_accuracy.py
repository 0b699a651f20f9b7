"""What would decide accuracies that are undecided, on the front page: those of a single switch, too."""

from dataclasses import replace

from front_data import report_of, runs_of, verdicts_of
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.accuracy import open_accuracy_sentences


def accuracy(**size):
    made = replace(verdicts_of(runs_of("layout", 1.3))[0], study="amp", quantity="accuracy")
    return replace(made, judgement=replace(made.judgement, bounds=None, outcome=Outcome.UNDECIDED, **size))


def test_the_accuracy_of_a_single_switch_comes_with_the_blocks_that_decide_it():
    (said,) = open_accuracy_sentences(report_of(accuracy(speedup=0.5, low=-0.6, high=6.0)))

    assert said.startswith("amp: the accuracy of PyTorch, cnn10 (+0.5 points, -0.6 to +6.0) is undecided: ")
    assert "`accuracy_blocks: 9` would decide it" in said


def test_what_has_trained_too_unevenly_is_told_so_and_no_number_of_blocks():
    uneven = accuracy(speedup=2.2, low=-0.3, high=23.1, baseline_range=30.0)
    (said,) = open_accuracy_sentences(report_of(uneven))

    assert "is undecided: the baseline's own accuracy differs by up to 30 points from block to block" in said
    assert "blocks: " not in said.removeprefix("amp: ") and "would decide" not in said
    assert open_accuracy_sentences(report_of(accuracy(speedup=0.0, low=-0.1, high=0.1))) == []
