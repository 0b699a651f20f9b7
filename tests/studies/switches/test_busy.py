"""How much of a step the GPU computes with each switch: shares worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search_findings import BF16, COMPILED, LAST, whole
from study_data import make_run, make_trial
from trainspeed.search.switch import Switch, combined
from trainspeed.studies.switches.busy import busy_sentences

STEPS = {"batch_size": 8, "images_per_epoch": 32}  # 4 an epoch
MORE = "Beside these, what saves the host’s time may pay: CUDA graphs or a larger batch."


@pytest.fixture
def found():
    return replace(whole(make_trial(dataset="digits", **STEPS)), feasible=whole().feasible[:3])


def profiled(trial, epoch_s, device_s):
    """Return a run whose kernels of a step take so long."""
    profile = {"matrix_share": 0.5, "kernels": [], "device_s": device_s}
    return replace(make_run(epoch_s, profile=profile), trial=trial)


def test_it_is_told_for_how_much_of_a_step_the_gpu_computes_and_with_what_it_waits(found):
    with_ = {switch: combined(found.start, [switch]) for switch in (LAST, BF16, COMPILED)}
    runs = [
        profiled(found.start, 4.0, 0.96),
        profiled(with_[LAST], 3.0, 0.7),
        profiled(with_[BF16], 4.0, 0.64),
        profiled(with_[COMPILED], 4.0, None),
    ]

    assert busy_sentences([found], runs) == [
        "PyTorch, cnn10: the GPU computes for 96 % of a plain step.",
        "PyTorch, cnn10: it waits for the host with bf16 (computes for 64 % of a step; its own work is 1.50x as "
        f"fast). {MORE}",
    ]
    graphs = Switch(lever="compile_mode", value="reduce-overhead")
    kept = replace(found, kept=(graphs,))
    assert busy_sentences([kept], runs)[1].endswith(" may pay: a larger batch; CUDA graphs were kept.")
    auto = replace(found, start=replace(found.start, dataset="auto"))
    assert busy_sentences([auto], [profiled(found.start, 4.0, 0.5)]) == [
        "PyTorch, cnn10: the GPU computes for 50 % of a plain step and waits for the host in the rest."
    ]


def test_nothing_is_told_on_a_cpu(found):
    assert busy_sentences([found], [profiled(found.start, 4.0, None)]) == busy_sentences([found], []) == []
