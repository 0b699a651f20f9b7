"""`docs/ledger.md` has every field of a line, and its rules give the verdicts of recorded runs."""

import json
import re
from dataclasses import fields
from statistics import median

import pytest

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.probe import Probe
from trainspeed.core.result import Failure, GpuMemory, LinkSum, Turn
from trainspeed.core.run import LINE, SCHEMA, Status
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import compare

PAGE = (ROOT / "docs/ledger.md").read_text(encoding="utf-8")
RECORDED = ROOT / "data/measured/nvidia-h100"
NAMED = {*re.findall(r"`(\w+)`", PAGE)}


@pytest.mark.parametrize(
    "names",
    [
        LINE,
        [field.name for kind in (Trial, Conv2dTrial, Probe) for field in fields(kind)],
        [name for kind in (Failure, GpuMemory, LinkSum, Turn) for name in kind.__struct_fields__],
        map(str, Status),
    ],
    ids=["line", "trial", "parts", "status"],
)
def test_the_page_has_every_field_of_a_line(names):
    assert {*names} <= NAMED


def test_it_is_of_the_schema_of_now():
    assert f"| `schema` | {SCHEMA};" in PAGE


def setting(trial):
    return {name: value for name, value in trial.items() if name not in ("seed", "fold")}


def by_round(line):
    """Return round -> (what the run's turn is worth, whether it was disturbed), as step 1 and 2 say."""
    scale = line["trial"]["images_per_epoch"] / line["images_per_epoch"]
    return {
        turn["round"]: (
            scale * median(turn["epoch_s"][turn.get("lead_in", 0) :]),
            (turn.get("others_cores") or 0.0) > 0.2,
        )
        for turn in line["turns"]
    }


def test_its_rules_alone_give_a_recorded_verdict():
    """Nine blocks, so that the interval ends with the second smallest and the second largest ratio."""
    runs, _ = Ledger(RECORDED).read()
    verdicts = compare(
        [run for run in runs if run.study == "layout"],
        "layout",
        "channels_first",
        "channels_last",
        question="?",
    )
    (verdict,) = (one.as_dict() for one in verdicts if one.blocks == 9)
    lines = [json.loads(line) for line in (RECORDED / "runs.jsonl").read_text().splitlines()]
    sides = [
        {
            line["block"]: by_round(line)
            for line in lines
            if line["study"] == "layout" and not line["label"] and setting(line["trial"]) == setting(side)
        }
        for side in (verdict["baseline"], verdict["candidate"])
    ]

    ratios = []
    for block in sides[0].keys() & sides[1].keys():
        one, other = (side[block] for side in sides)
        quiet = [number for number in one if not (one[number][1] or other[number][1])]
        counted = quiet if len(quiet) >= max(2, len(one) // 3) else one
        ratios.append(median(one[number][0] / other[number][0] for number in counted))
    ratios.sort()

    found = [median(ratios), ratios[1], ratios[-2]]
    assert found == pytest.approx([verdict["speedup"], verdict["low"], verdict["high"]], abs=1e-12)
    assert (found[1] > 1.02, verdict["outcome"]) == (True, "faster")
