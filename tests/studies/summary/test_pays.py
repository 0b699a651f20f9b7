"""What the front page says a headline costs before it pays."""

from dataclasses import replace

import pytest

from front_data import report_of, runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.run import Role
from trainspeed.studies.summary.headline import Gain, HeadlineOutcome
from trainspeed.studies.summary.pays import break_even_sentences

KEPT = replace(verdicts_of(runs_of("layout", 2.0))[0], factor="recipe", study="switches")
GAIN = Gain(verdict=KEPT, finding=HeadlineOutcome.TOGETHER)


def fresh(first_s, role=Role.RECIPE):
    sides = ((KEPT.baseline, (1.0, 1.0, 1.0)), (KEPT.candidate, (first_s, 0.5, 0.5)))
    runs = [make_run(study="switches", trial=trial, label=role, epoch_s=epoch_s) for trial, epoch_s in sides]
    return report_of(KEPT, runs=runs)


def test_a_compiler_that_takes_many_epochs_to_pay_is_said_with_its_first_epoch():
    """A headline of 3 times as fast said nothing of the 17 seconds that its first epoch took."""
    (said,) = break_even_sentences(fresh(10.9), [GAIN])

    images = KEPT.baseline.images_per_epoch
    assert said.startswith(
        f"**Pays after**: 20 epochs of {images:,} images with PyTorch, cnn10, as the first"
    )
    assert "takes 10.9 s, and 1.00 s plain" in said


@pytest.mark.parametrize(("first_s", "role"), [(2.4, Role.RECIPE), (0.5, Role.RECIPE), (10.9, Role.FEASIBLE)])
def test_what_pays_at_once_or_was_not_measured_in_fresh_blocks_is_not_said(first_s, role):
    assert break_even_sentences(fresh(first_s, role), [GAIN]) == []
    assert break_even_sentences(fresh(10.9), []) == []
