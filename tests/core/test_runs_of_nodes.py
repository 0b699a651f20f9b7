"""Runs of several equal nodes of a fleet: how long they took, on which machines, and one ledger for all threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from study_data import make_run
from trainspeed.conduct.resumed import check_same_machine, of_machines_alike
from trainspeed.core.errors import UserError
from trainspeed.core.files import append_text
from trainspeed.core.runs import elapsed_s, machines_of
from trainspeed.judge.systems import system_doubts

GPU = {"name": "NVIDIA A10G", "memory_bytes": 24 * 10**9, "power_limit_w": 300.0}


def run_at(node, second, *, took_s=10.0, block=0, **more):
    started_at = f"2026-11-22T20:{second // 60:02d}:{second % 60:02d}.000+00:00"
    return make_run(block=block, node=node, started_at=started_at, stages_s={"train": took_s}, **more)


def machine_of(uuid, **changed):
    return {"device": "gpu", "cpu": "x", "driver": "580.65", "gpus": [{**GPU, "uuid": uuid, **changed}]}


def test_what_nodes_did_side_by_side_counts_once():
    runs = [run_at("a-1", 0), run_at("a-2", 2, block=1), run_at("a-1", 30, block=2)]

    assert elapsed_s(runs) == 12.0 + 10.0


def test_where_clocks_do_not_agree_it_is_at_most_what_all_took():
    assert elapsed_s([run_at("a-1", 0), run_at("a-2", 1000, block=1)]) == 20.0


def test_runs_that_took_turns_take_what_they_take_together():
    arms = [run_at("a-1", 0, group=0, batch_size=size) for size in (8, 16)]

    assert elapsed_s([*arms, run_at("a-2", 5, block=1)]) == 20.0


def test_what_was_built_side_by_side_counts_once():
    """Both were built in the same 4 s, and trained their first epoch of 3 s."""
    stages_s = {"start": 0.0, "build": 4.0, "train": 8.0, "wait": 5.0}
    arms = [
        make_run(batch_size=size, built_beside=1, stages_s=stages_s, group=0, epoch_s=(3.0, 1.0))
        for size in (8, 16)
    ]

    assert elapsed_s(arms) == 4.0 + 3.0 + 2 * (8.0 - 3.0)
    assert arms[0].busy_s == 3.5 + 5.0


def test_without_a_fleet_it_is_the_sum():
    assert elapsed_s([run_at(None, 0), run_at(None, 0, block=1)]) == 20.0


def test_a_session_goes_on_with_other_gpus_of_the_same_kind_on_another_node_only():
    begun = [run_at("a-1", 0, machine=machine_of("u1"))]
    check_same_machine(begun, machine_of("u2"), "a-2")

    for machine, node in (
        (machine_of("u2"), "a-1"),
        (machine_of("u2"), None),
        (machine_of("u2", power_limit_w=200.0), "a-2"),
        (machine_of("u2", name="NVIDIA H100"), "a-2"),
        ({**machine_of("u2"), "driver": "550.54"}, "a-2"),
    ):
        with pytest.raises(UserError, match="this session was begun on another system"):
            check_same_machine(begun, machine, node)


def test_what_earlier_runs_took_tells_of_machines_that_are_alike_only():
    here = machine_of("u1")
    alike = [run_at("a-2", 0, machine=machine_of("u2")), run_at(None, 0, machine=here), make_run(machine={})]
    others = [{"name": "NVIDIA H100"}, {"power_limit_w": 200.0}]
    others = [run_at(None, 0, machine=machine_of("u1", **changed)) for changed in others]
    others.append(run_at(None, 0, machine=here | {"cpu": "y"}))

    assert of_machines_alike([*alike, *others], here) == alike


def test_equal_nodes_are_one_system_and_others_are_not():
    one, twin = (run_at(node, 0, machine=machine_of(uuid)) for node, uuid in (("a-1", "u1"), ("a-2", "u2")))
    other = run_at("a-3", 0, machine=machine_of("u3") | {"cpu": "y"})

    assert system_doubts([one, twin]) == []
    assert "CPU (x, then y)" in system_doubts([one, twin, other])[0]
    assert [node for node, _ in machines_of([one, one, twin])] == ["a-1", "a-2"]


def test_threads_that_append_at_once_write_whole_lines(tmp_path):
    """Longer than what is written to a file in one go."""
    path = tmp_path / "runs.jsonl"
    texts = [str(number % 10) * 20_000 for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: append_text(path, text), texts))

    assert sorted(path.read_text().splitlines()) == sorted(texts)
