"""After how many epochs what a headline names has paid for a longer first one. Pure functions on a report's runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import NAMES, counted, digits, model_of
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Role
from trainspeed.judge.break_even import compared_costs
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.headline import Gain

FEW = 3  # epochs that hardly any training ends before


def break_even_sentences(report: ReportSummary, gains: Sequence[Gain]) -> list[Marked]:
    """Return after how many epochs all that a search kept has paid for compiling, where that is more than a few."""
    said = []
    for verdict in (gain.verdict for gain in gains if gain.verdict.factor == RECIPE):
        start = verdict.baseline
        fresh = report.runs.of_study(verdict.study).role(Role.RECIPE)
        plain, best = compared_costs(fresh.of_trial(start), fresh.of_trial(verdict.candidate))
        epochs = best.break_even(plain) if plain and best else None
        if epochs is not None and epochs > FEW:
            said.append(
                f"{counted(math.ceil(epochs), 'epoch')} of {start.images_per_epoch:,} images with "
                f"{NAMES[start.framework]}, {escape(model_of(start.model))}, as the first one takes "
                f"{digits(best.first_epoch_s)} s, and {digits(plain.first_epoch_s)} s plain"
            )
    return [Marked(f"**Pays after**: {'; '.join(said)}.")] if said else []
