"""What `make plan PRESET=standard` says on machines with GPUs that only their driver's library shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest

import fake_nvml
from trainspeed.conduct.forecast import StudyPlan, read_plan
from trainspeed.conduct.timetable import FEWEST, STEADY, Timetable
from trainspeed.core.errors import PlanOnly
from trainspeed.core.levers.registry import LEVERS
from trainspeed.report import parameters
from trainspeed.report.budget import OVERHEAD_S
from trainspeed.report.plan_text import plan_lines, times_s, weighed
from trainspeed.report.request import ReportRequest, new_session
from trainspeed.report.run import NOTEBOOKS

H100_BYTES = 85_520_809_984
HOUR_S = 3600.0


@dataclass(frozen=True)
class Planned:
    """What the notebooks of a report plan, and their own plans."""

    session: ReportRequest
    plans: dict[str, StudyPlan]
    own: dict[str, object]

    @property
    def ends(self) -> dict[str, Timetable]:
        """The timetable of each notebook at its end."""
        given_s = times_s(self.session, self.plans, self.session.budget_s)
        return {name: plan.forecast(given_s[name]) for name, plan in self.plans.items()}

    @property
    def spent_s(self) -> float:
        return sum(end.forecast_s + OVERHEAD_S for end in self.ends.values())

    def core_blocks(self, name: str) -> list[int]:
        return [self.ends[name].had(group) for group in self.plans[name].groups if group.core]


def planned(gpus: int, out: Path) -> Planned:
    """Run every notebook up to its plan, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        memory = {"total": H100_BYTES, "reserved": 0, "used": 0, "free": H100_BYTES}
        fakes = [
            fake_nvml.FakeGpu(
                name="NVIDIA H100 80GB HBM3",
                uuid=f"GPU-{number:04d}",
                nvmlDeviceGetMemoryInfo_v2=memory,
                nvmlDeviceGetPciInfo_v3={"busId": b"00000000:%02X:00.0" % (number + 1)},
            )
            for number in range(gpus)
        ]
        fake_nvml.install(patch, fake_nvml.FakeNvml(*fakes))
        patch.setattr("trainspeed.sensors.machine.logical_cores", lambda: 16 * gpus)
        patch.setattr("trainspeed.sensors.machine.core_quota", lambda: None)
        patch.setattr("trainspeed.worker.data.sets.DOWNLOADS", out / "none")
        for variable in ("TRAINSPEED_DEVICE", "CUDA_VISIBLE_DEVICES"):
            patch.delenv(variable, raising=False)
        session = new_session(folder=NOTEBOOKS, preset="standard", has_gpu=True)
        plans, own = {}, {}
        for name in session.notebooks:
            patch.setenv("TRAINSPEED_PLAN", str(out / f"{name}.json"))
            patch.setenv("TRAINSPEED_OUT", str(out))
            variables = _variables_at_plan(name, session.parameters[name])
            assert "plan" in variables, f"{name}.ipynb: what is to be measured is in the variable `plan`"
            own[name] = variables["plan"]
            plans[name] = read_plan(out / f"{name}.json")
    return Planned(weighed(session, plans), plans, own)


def _variables_at_plan(name: str, values: dict) -> dict:
    names: dict = {}
    with plt.rc_context(), pytest.raises(PlanOnly):
        for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
                if parameters.TAG in cell.metadata.get("tags", []):
                    names |= values
    return names


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return planned(1, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    return planned(8, tmp_path_factory.mktemp("eight"))


@pytest.mark.parametrize("machine", ["one", "eight"])
def test_standard_takes_about_an_hour(machine, request):
    told = request.getfixturevalue(machine)

    assert told.session.budget_s == HOUR_S
    assert 0.9 * HOUR_S < told.spent_s <= HOUR_S
    assert plan_lines(told.session, told.plans)[-1].startswith(
        "All of it: 1 h 00 min or less. 2 h 00 min would add: "
    )


def test_one_gpu_decides_the_core_of_every_notebook_in_nine_blocks_and_shows_everything_else(one):
    not_compared = ("check", "multi_gpu", "switches", "summary")  # the last two compare what they find
    compared = [name for name in one.plans if name not in not_compared]

    assert {name: min(one.core_blocks(name)) for name in compared} == dict.fromkeys(compared, STEADY), (
        f"standard has time for {STEADY} blocks of every core: see its file in notebooks/presets/"
    )
    assert one.core_blocks("multi_gpu") == [FEWEST, FEWEST], "the pipelines of two frameworks"
    assert all(end.had(group) for end in one.ends.values() for group in end.groups)


# What of PyTorch's on a GPU is not there, and with one GPU alone: all else is tried, or is measured as a slow way.
NEEDS_AN_INPUT = {
    "pipeline",
    "loader_persistent",
    "loader_order",
    "loader_context",
}  # in memory there is none
STAYS_THERE = {"transfer"}  # where the images stay on the GPU
OF_SEVERAL = {"devices", "strategy", "ddp_options", "ddp_buckets", "ddp_batched_copy", "ddp_compression"}


@pytest.mark.parametrize(("machine", "lacking"), [("one", OF_SEVERAL), ("eight", set())])
def test_all_levers_of_a_gpu_are_planned_but_those_that_have_nothing_to_do(machine, lacking, request):
    (search,) = request.getfixturevalue(machine).own["switches"].searches
    there = search.candidates
    planned = {lever for switch in there.switches + there.slow_ways for lever in switch.levers}

    assert (search.start.framework, search.start.pipeline) == ("torch", "arrays")
    of_gpus = {
        lever.name for lever in LEVERS.values() if "torch" in lever.frameworks and "gpu" in lever.devices
    }
    assert planned == of_gpus - {"batch_size"} - NEEDS_AN_INPUT - STAYS_THERE - lacking
    reasons = {one.lever: one.reason for one in there.not_here}
    assert of_gpus - planned <= {*reasons, "batch_size", "strategy"} and all(reasons.values())


def test_one_gpu_foresees_a_screen_and_fresh_blocks(one):
    foreseen = [group for group in one.plans["switches"].groups if group.foreseen]
    assert (
        sum(group.most for group in foreseen) > 8 + FEWEST and max(group.most for group in foreseen) >= FEWEST
    )


def test_eight_gpus_decide_the_core_of_every_notebook_and_what_they_have_no_time_for_is_named(eight):
    lines = plan_lines(eight.session, eight.plans)

    compared = [name for name in eight.plans if name != "switches"]  # which compares what it finds
    fewest = {name: min(eight.core_blocks(name)) for name in compared}
    assert min(fewest.values()) == FEWEST, (
        f"standard has time to decide every core, and hardly more: {fewest}"
    )
    left_out = [
        arm
        for end in eight.ends.values()
        for group in end.groups
        if not end.had(group) and not group.foreseen
        for arm in group.arms
    ]
    assert left_out and [line for line in lines if "no time for" in line][:-1] == [
        f"  no time for {arm}" for arm in left_out
    ]


def test_every_arm_on_several_gpus_trains_twenty_steps_an_epoch_or_more(eight):
    own = eight.own["multi_gpu"]
    trials = [trial for part in own.sets for trial in part if trial.devices > 1 and trial.phase.trains]

    assert {trial.devices for trial in trials} == {2, 4, 8}
    assert min(trial.steps_per_epoch for trial in trials) >= 20
    assert {trial.images_per_epoch for trial in own.scaled} == {20 * 256 * 8}, (
        "an epoch is compared with an epoch"
    )


@pytest.mark.parametrize("machine", ["one", "eight"])
def test_a_line_over_batch_sizes_has_five_of_them_or_more(machine, request):
    planned_of = request.getfixturevalue(machine)
    own = planned_of.own
    layout, scaled = own["layout"].sizes, own["multi_gpu"].survey
    lines: dict[tuple, set[int]] = {}
    for study, part in (("layout", layout), ("multi_gpu", scaled)):
        for trial in [*part.trials, *part.anchors]:
            lines.setdefault((study, trial.framework, trial.devices), set()).add(trial.batch_size)

    alone = {line: len(sizes) for line, sizes in lines.items() if line[-1] == 1}
    assert {line[0] for line in alone} == {"layout", "multi_gpu"}
    assert set(alone.values()) == {6}
    named = {name: {g.name for g in plan.groups if g.lines} for name, plan in planned_of.plans.items()}
    assert {name: sets for name, sets in named.items() if sets} == {
        "layout": {"sizes"},
        "multi_gpu": {"survey"},
    }


def test_the_lines_of_quick_have_five_batch_sizes_and_those_of_standard_more():
    sizes = {}
    for preset in ("quick", "standard"):
        asked = parameters.resolve_parameters(("layout", "multi_gpu"), NOTEBOOKS, preset=preset, params=None)
        sizes[preset] = [len({*own["batch_sizes"], *own["survey_batch_sizes"]}) for own in asked.values()]

    assert min(sizes["quick"]) >= 5
    assert min(sizes["standard"]) > max(sizes["quick"])
