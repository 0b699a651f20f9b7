"""What the notebook on switches plans: parts of the plain step, a search each, and what is foreseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from search_findings import nothing_yet, whole
from study_data import make_run
from switches_plan import on_one_core, planned
from trainspeed.conduct import machine
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.schedule import schedule
from trainspeed.core.errors import UserError
from trainspeed.core.run import Role
from trainspeed.core.runs import RunSet
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch, combined
from trainspeed.studies.switches import plan as plan_module
from trainspeed.studies.switches.plan import findings, largest_first


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    on_one_core(monkeypatch)


def test_the_parts_of_a_plain_step_take_turns_with_it_and_it_runs_twice():
    plan = planned(images_per_epoch=1024)

    first = [one for one in schedule(plan.rest, 0) if one.block == 0]
    groups = {one.group: [] for one in first}
    for one in first:
        groups[one.group].append((one.label, one.trial.part))
    assert [sorted(arms) for arms in groups.values()] == [
        sorted([("A", "both"), ("A again", "both"), ("", "input"), ("", "compute"), ("", "fit")])
    ] * 2


def test_an_epoch_of_few_images_is_not_validated():
    """Else validation on all held-out images would take most of it."""
    assert {trial.part for part in planned().rest for trial in part} == {"both", "input", "compute"}


def test_a_ladder_of_batches_is_measured_where_an_epoch_has_images_for_them():
    (ladder,) = [
        part
        for part in planned(frameworks=["torch"], batch_blocks=6, images_per_epoch=128).rest
        if part.label
    ]

    assert (ladder.label, [trial.batch_size for trial in ladder]) == (Role.LADDER, [8, 16, 32])
    assert not any(part.label for part in planned(batch_blocks=6, images_per_epoch=16).rest)


def test_a_block_of_the_parts_comes_before_the_searches_where_time_is_short():
    """Else the page does not say where the time goes, and so not where to look. The other blocks wait."""
    short, free = planned(blocks=3, images_per_epoch=1024, batch_blocks=1), planned(budget_s=None)
    first, second, *searched = short.others

    assert [(part.trials, part.controls, part.blocks) for part in (first, second)] == [
        (part.trials, part.controls, 1) for part in short.rest[:2]
    ]
    assert {part.label for part in searched} == {Role.FEASIBLE}
    assert list(short.spare(())) == list(short.rest) and [part.blocks for part in short.rest] == [3, 3, 1, 1]
    looked_at, later = ({one.key for one in schedule(of, 0)} for of in ((first, second), short.rest[:2]))
    assert looked_at == {key for key in later if key[1] == 0}, "so that none of them is measured again"
    assert short.more_is_core, "so that no search has 9 blocks before another one has 6"
    assert set(free.rest) < set(free.others)


def test_each_search_has_its_part_of_the_time_that_starting_and_the_parts_leave():
    plan = planned()
    ran = make_run(label=Role.CONTROL, stages_s={"train": 12.0, "wait": 100.0})
    of_the_search = replace(ran, label=Role.FEASIBLE)

    assert plan.more.share_s([ran, of_the_search]) == (100.0 - 8.0 - 12.0) / 2
    assert plan.more.share_s([replace(ran, stages_s={"train": 1e3})]) == 1.0
    assert planned(budget_s=None).more.share_s([ran]) is None


def test_what_a_search_that_is_over_left_of_its_time_is_for_those_that_go_on(monkeypatch):
    """One whose looks found nothing took a third of its share, and has nothing to ask for."""
    had_s = {}

    def wanted(search, _asked):
        had_s[search.start.framework] = search.budget_s
        return [] if search.start.framework == "torch" else [TrialSet(trials=(search.start,), blocks=1)]

    monkeypatch.setattr(Search, "wanted", wanted)
    more = planned(images_per_epoch=64).more
    torch = next(search.start for search in more.searches if search.start.framework == "torch")
    more([make_run(trial=torch, label=Role.FEASIBLE, stages_s={"train": 16.0})])

    assert had_s == {"torch": 46.0, "tensorflow": 46.0 + 30.0}


def test_each_framework_and_model_has_a_search():
    plan = planned()

    assert list(plan.starts) == ["PyTorch, cnn10", "TensorFlow, cnn10"]
    assert {s.lever for s in plan.searches[0].candidates.switches} == {"layout", "optimizer"}


def test_a_framework_without_the_model_has_no_search_where_another_has_it():
    both = {"models": ["keras/MobileNetV2", "timm/resnet18"], "image_size": 32}
    assert sorted(planned(**both).starts) == ["PyTorch, timm/resnet18", "TensorFlow, keras/MobileNetV2"]
    assert list(planned(**both | {"frameworks": ["jax"], "models": ["timm/resnet18"]}).starts) == [
        "JAX, timm/resnet18"
    ]


def test_the_first_stage_is_known_beforehand_and_the_later_ones_are_foreseen():
    plan = planned()

    assert {part.label for part in plan.others} == {Role.DATA, Role.FEASIBLE}
    assert {part.blocks for part in plan.foreseen} >= {6}


def test_on_a_cpu_of_several_cores_a_plain_script_has_them_all(monkeypatch):
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (2, "CPU core"))
    monkeypatch.setattr(plan_module.os, "cpu_count", lambda: 2)
    plan = planned(levers=["threads"])
    _, tensorflow = plan.searches

    assert tensorflow.start.levers == (("threads", "all"),)
    (switch,) = tensorflow.candidates.switches
    assert switch.words == "one thread" and switch.on(tensorflow.start).cores == 1
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (2, "GPU"))
    assert planned().searches[1].start.levers == ()


def test_a_plain_script_has_as_many_threads_as_the_user_has_set(monkeypatch):
    """It is pinned to no core: with 4 threads of 16 it would be compared with one core."""
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (16, "CPU core"))
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(plan_module, "cores_here", lambda study: 16)
    plan = planned(levers=["threads", "thread_placement"])
    torch, tensorflow = plan.searches

    assert (torch.start.levers, tensorflow.start.levers) == ((("threads", "as_set"),), (("threads", "all"),))
    assert torch.start.cores is None
    assert {one.value for one in torch.candidates.switches} == {"all", "half", "one", "close", "spread"}
    ways = [one.on(torch.start) for one in torch.candidates.switches if one.lever == "thread_placement"]
    assert {dict(trial.levers)["threads"] for trial in ways} == {"as_set"}


def test_a_search_that_is_drawn_again_begins_as_its_runs_on_one_device_did(monkeypatch):
    """One on two devices has lost the threads of the plain setting: each device has a core of its own."""
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (2, "CPU core"))
    plain = planned(frameworks=["torch"], levers=["threads", "devices"]).searches[0].start
    both = combined(plain, [Switch(lever="devices", value="2", fields=(("devices", 2), ("strategy", "ddp")))])
    assert (plain.levers, both.levers) == ((("threads", "all"),), ())
    runs = RunSet(tuple(make_run(study="switches", trial=trial) for trial in (both, plain)))
    monkeypatch.setattr(plan_module, "recorded", lambda *_, **__: runs)
    monkeypatch.setattr(plan_module, "current", lambda: SimpleNamespace(render_from=Path()))

    (search,) = planned(frameworks=["torch"], levers=["threads", "devices"]).searches

    assert search.start.levers == plain.levers
    assert "all" not in {switch.value for switch in search.candidates.switches}


def test_on_gpus_it_depends_on_the_smallest_ones_memory_whether_uploading_is_tried(monkeypatch):
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (2, "GPU"))
    gpus = [{"memory_bytes": 80 * 10**9}, {"memory_bytes": 10**5}]
    tried = []
    for own in (gpus[:1], gpus):
        monkeypatch.setattr(machine, "devices", lambda own=own: ("gpu", (), {"gpus": own}))
        (search,) = planned(frameworks=["torch"], levers=["layout", "transfer"]).searches
        tried.append("transfer" in {one.lever for one in search.candidates.switches})
    assert tried == [False, True]


def test_many_levers_foresee_a_screen():
    assert len(planned(levers=[]).foreseen) > len(planned().foreseen) + 8


def test_what_was_asked_for_and_did_not_run_is_not_asked_for_again():
    """There was no time for it: the search goes on without."""
    plan = planned(frameworks=["torch"])
    _, first = plan.others
    plain = [replace(make_run(study="switches", label=first.label), trial=first.trials[0])]

    assert Role.FEASIBLE not in {part.label for part in plan.more(plain)}


def test_the_search_that_gained_most_comes_first_and_those_without_a_gain_last():
    more = whole()
    total = replace(more.confirmation.total, speedup=more.confirmation.total.speedup - 0.1)
    less = whole(confirmation=replace(more.confirmation, total=total))

    assert largest_first([nothing_yet(), less, more]) == [more, less, nothing_yet()]


def test_without_a_run_nothing_is_found():
    assert findings(planned(), ()) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"levers": ["fusd"]}, r"unknown lever 'fusd'"),
        ({"levers": ["optimiser"]}, r"did you mean 'optimizer'"),
        (
            {"levers": ["optimizer=fsed"]},
            "unknown value of the lever 'optimizer' 'fsed': did you mean 'fused'",
        ),
        (
            {"levers": ["precision=bf17"]},
            "unknown value of the lever 'precision' 'bf17': did you mean 'bf16'",
        ),
        ({"levers": ["compile=onn"]}, "unknown value of the lever 'compile' 'onn': did you mean 'on'"),
        ({"levers": ["pipeline=proceses"]}, "'pipeline' 'proceses': did you mean 'processes'"),
        ({"levers": ["strategy=dpp"]}, "unknown value of the lever 'strategy' 'dpp': did you mean 'ddp'"),
        ({"levers": ["devices=two"]}, "value of the lever 'devices' .*'two'.* must be a whole number"),
        ({"accuracy_margin": 0.0}, r"accuracy_margin \(=0.0\) must be more than 0 points"),
        ({"already_on": -1}, r"already_on \(=-1\) must be a whole number"),
        ({"confirm_blocks": 0}, r"confirm_blocks \(=0\)"),
        ({"frameworks": ["pytorch"]}, "unknown framework 'pytorch'"),
        ({"batch_size": 32}, "is larger than the epoch"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(wrong, words):
    with pytest.raises(UserError, match=words):
        planned(**wrong)
