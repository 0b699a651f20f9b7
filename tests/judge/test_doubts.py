from dataclasses import replace

import pytest

from study_data import control_runs, layout_pair, make_run
from trainspeed.core import ledger_schema1, notes
from trainspeed.core.notes import CoresBusy, GpuBusy, OtherNote
from trainspeed.core.run import Status
from trainspeed.judge.comparison import controls
from trainspeed.judge.doubts import note_sentence, study_doubts
from trainspeed.judge.run_notes import (
    EpochsDrifted,
    EpochsShort,
    EpochStalled,
    GpuIdle,
    GpusDiffer,
    PerhapsFromCache,
    StepsSkipped,
    TurnsLeftOut,
    run_notes,
)

BUSY = CoresBusy(cores=2.5)


def control_of(*ratios):
    return controls(control_runs(ratios))


def test_a_clean_run_has_no_doubt():
    assert run_notes(make_run(1.0)) == []


def test_what_a_run_noted_itself_is_a_doubt():
    assert run_notes(make_run(notes=(BUSY,))) == [BUSY]


@pytest.mark.parametrize(
    ("epoch_s", "doubted"),
    [
        ((9.0, 1.0, 1.0, 1.09), False),
        ((9.0, 1.0, 1.0, 1.11), True),
        ((9.0, 1.11, 1.0, 1.0), True),
        ((9.0, 1.0, 4.0, 1.0), False),
        ((9.0, 1.0, 1.0, 1.0, 1.4), False),
        ((9.0, 1.0, 1.05, 1.15, 1.2), True),
        ((9.0, 1.0), False),
        ((), False),
    ],
)
def test_epochs_whose_later_half_is_a_tenth_off_have_drifted(epoch_s, doubted):
    """The first epoch is left out: it is longer by design. One odd epoch among several is no drift."""
    assert bool(run_notes(make_run(epoch_s=epoch_s))) is doubted


def test_drift_and_short_epochs_are_two_kinds_of_doubt():
    assert run_notes(make_run(epoch_s=(9.0, 1.0, 1.2, 1.4))) == [EpochsDrifted()]
    assert run_notes(make_run(0.04)) == [EpochsShort()]


def test_an_epoch_that_stood_still_is_told_with_how_long_and_one_beside_a_neighbour_is_not():
    assert run_notes(make_run(epoch_s=(9.0, 1.0, 2.0, 1.0, 1.0))) == []
    assert run_notes(make_run(epoch_s=(9.0, 1.0, 35.0, 1.0, 1.0))) == [EpochStalled(times=35.0)]


@pytest.mark.parametrize(
    ("changed", "doubted"),
    [
        ({"framework": "jax"}, True),
        ({"framework": "torch", "compile": True}, True),
        ({"framework": "tensorflow", "compile": True}, False),
        ({"framework": "torch"}, False),
        ({"framework": "jax", "part": "input"}, False),
        ({"framework": "jax", "compiled_anew": True}, False),
    ],
)
def test_an_older_runs_programs_may_come_from_a_cache_where_its_compiler_had_one(changed, doubted):
    """Then its first epoch may be a warm one, and all blocks may run what one of them chose."""
    run = make_run(**{"compiled_anew": None} | changed)

    assert run_notes(run) == [PerhapsFromCache()] * doubted
    assert note_sentence(PerhapsFromCache()).endswith("Measure again.")


def test_gpus_of_several_kinds_in_one_trial_are_a_doubt_and_unused_ones_are_none():
    gpus = [{"name": name} for name in ("NVIDIA A40", "NVIDIA A40", "NVIDIA L4")]
    machine = {"device": "gpu", "gpus": gpus, "other_gpus": [{"name": "NVIDIA T4"}]}

    def doubts(devices):
        run = make_run(1.0, devices=devices, strategy="ddp", batch_size=6 * devices)
        return run_notes(replace(run, machine=machine))

    assert doubts(2) == []
    assert doubts(3) == [GpusDiffer(names=("NVIDIA A40", "NVIDIA L4"))]
    sentence = note_sentence(GpusDiffer(names=("NVIDIA A40", "NVIDIA L4")))
    assert sentence.startswith("Ran on GPUs of several kinds, NVIDIA A40 and NVIDIA L4, which wait")


@pytest.mark.parametrize(
    ("load_percent", "part", "doubts"),
    [
        (75.0, "both", [GpuIdle(share=0.25)]),
        (90.0, "both", []),
        (100.0, "both", []),
        (None, "both", []),
        (5.0, "input", []),  # that is the input alone
    ],
)
def test_a_gpu_that_waits_for_the_host_is_a_doubt(load_percent, part, doubts):
    run = make_run(gpu_load_percent=load_percent, part=part)
    assert run_notes(run) == doubts


def test_equal_doubts_are_counted_numbers_aside_and_the_largest_is_shown():
    busy = [CoresBusy(cores=cores) for cores in (9.5, 12.1, 0.3)]
    runs = [make_run(block=block, notes=(note,)) for block, note in enumerate(busy)]
    runs += [make_run(block=3), make_run(block=0, framework="jax", notes=(busy[2],))]
    found = study_doubts(runs, control_of(*[1.0] * 6))
    assert found == [f"{note_sentence(busy[1])} In 4 of 5 runs (JAX, PyTorch)."]


def test_a_doubt_names_what_its_runs_alone_have_in_common():
    runs = [make_run(precision=name, notes=(BUSY,) * (name == "bf16")) for name in ("fp32", "bf16", "bf16")]
    assert study_doubts(runs, control_of(*[1.0] * 6)) == [
        f"{note_sentence(BUSY)} In 2 of 3 runs (PyTorch, bf16)."
    ]


def test_another_gpu_is_another_doubt():
    busy = [GpuBusy(gpu=gpu, load_percent=percent) for gpu, percent in ((0, 10), (1, 20), (0, 30))]
    runs = [make_run(block=block, notes=(note,)) for block, note in enumerate(busy)]
    first, second = study_doubts(runs, control_of(*[1.0] * 6))
    assert first == f"{note_sentence(busy[2])} In 2 of 3 runs (PyTorch)."
    assert second == f"{note_sentence(busy[1])} In 1 of 3 runs (PyTorch)."


def test_a_gpu_that_slowed_itself_down_is_a_doubt_with_its_share_and_a_remedy():
    shares = [notes.GpuSlowedDown(gpu=0, reason="sw_thermal_slowdown", share=share) for share in (0.25, 0.75)]
    (doubt,) = study_doubts(
        [make_run(block=b, notes=(note,)) for b, note in enumerate(shares)], control_of(*[1.0] * 6)
    )
    assert doubt == (
        "GPU 0 slowed itself down while the run was timed, in up to 75 % of the looks at it: it was too warm. "
        "Cool it better, or let it rest before measuring. In 2 of 2 runs (PyTorch)."
    )


def test_runs_one_after_the_other_are_another_doubt_than_smaller_groups():
    """However many arms there are."""
    apart = [notes.NotAllTogether(arms=arms, together=n) for arms, n in ((5, 3), (5, 2), (3, 1))]
    runs = [make_run(block=block, notes=(note,)) for block, note in enumerate(apart)]
    groups, alone = study_doubts(runs, control_of(*[1.0] * 6))
    assert groups.startswith("Took turns in groups of 3: all 5 runs") and "In 2 of 3 runs (PyTorch)" in groups
    assert alone.startswith("Measured one after the other: the 3 runs that are compared")
    assert alone.endswith("In 1 of 3 runs (PyTorch).")


def test_the_controls_doubts_come_first_then_the_most_frequent():
    runs = [make_run(0.01, block=block, notes=(BUSY,) * (block == 0)) for block in range(3)]
    first, second, third = study_doubts(runs, [])
    assert first.startswith("No A/A control")
    assert second.startswith("Epochs were shorter") and second.endswith("In 3 of 3 runs (PyTorch).")
    assert third == f"{note_sentence(BUSY)} In 1 of 3 runs (PyTorch)."


def test_failed_runs_are_told_elsewhere():
    runs = [make_run(status=Status.CRASHED, notes=(BUSY,)), *layout_pair([1.0])]
    assert study_doubts(runs, control_of(*[1.0] * 6)) == []


def test_runs_that_ended_alike_after_their_measuring_are_one_doubt():
    """Their messages tell of other sizes and processes."""
    ended = [
        notes.EndedAfterMeasuring(stage="evaluate", status="oom", message=f"Tried to allocate {size} GiB")
        for size in (3, 4)
    ]
    runs = [make_run(block=block, notes=(note,)) for block, note in enumerate(ended)]

    (doubt,) = study_doubts(runs, control_of(*[1.0] * 6))
    assert doubt.endswith("In 2 of 2 runs (PyTorch).") and "oom in stage 'evaluate'" in doubt


def test_a_training_whose_steps_were_mostly_left_out_is_doubted():
    doubtful = make_run(precision="fp16", skipped_steps=8)
    fine = make_run(precision="fp16", skipped_steps=1)
    longer = make_run(precision="fp16", skipped_steps=8, epoch_s=(1.0,) * 8)  # than asked for, in turns

    assert StepsSkipped(skipped=8, steps=16) in run_notes(doubtful)
    assert run_notes(fine) == run_notes(longer) == []


# Notes in words; the words that schema 1 stored are read back as the note.

STORED = {  # by the words that they had then
    "GPU 1 was busy (37 % load) before the run began: another process uses it. Stop it, or leave this GPU out with "
    "CUDA_VISIBLE_DEVICES.": notes.GpuBusy(gpu=1, load_percent=37.0),
    "Another process held 20.5 GB of GPU 0's memory before the run began, so less fits. Stop it, or leave this GPU out "
    "with CUDA_VISIBLE_DEVICES.": notes.GpuMemoryHeld(gpu=0, held_bytes=20.5e9),
    "Other processes kept 2.5 CPU cores busy meanwhile: stop them.": notes.CoresBusy(cores=2.5),
    "The hypervisor took 10 % of the CPU time meanwhile: use a machine of your own.": notes.CpuTimeStolen(
        share=0.1
    ),
    "The training loss ended as nan: the model did not learn.": notes.LossNotFinite(loss="nan"),
    "what ran was not found out: KeyError: no such layer: 'x'": notes.NotInspected(
        error="KeyError", message="no such layer: 'x'"
    ),
    "effective layout and precision not found out: RuntimeError": notes.ConvolutionsNotSeen(
        error="RuntimeError"
    ),
    "bfloat16 and float32 was asked, convolutions ran in float32": notes.PrecisionNotAsked(
        asked=("bfloat16", "float32"), ran=("float32",)
    ),
    "A sentence of long ago.": notes.OtherNote(text="A sentence of long ago."),
}
NEWER = [  # than schema 1
    notes.CpuThrottled(share=0.8, cores=0.3),
    notes.BusyWhileWaiting(cores=0.03),
    notes.GpuBusyWhileWaiting(share=0.03),
    notes.GpuShared(gpu=1, load_percent=37.0),
    notes.GpuTakenMeanwhile(gpu=1),
    *(
        notes.GpuSlowedDown(gpu=1, reason=reason, share=0.25)
        for reason in ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "hw_slowdown")
    ),
    notes.OnHeadNode(),
    notes.SetByFile(setting="torch.get_num_threads()", before="8", after="1"),
    notes.NotAllTogether(arms=4, together=1),
    notes.NotAllTogether(arms=4, together=2),
    notes.EpochNotResident(images_bytes=6.2e9, limit_bytes=4e9),
    notes.NotEvaluated(error="MemoryError", message="no 9 bytes"),
    notes.NotReadAfterwards(what="peak memory", error="RuntimeError", message="no such device"),
    notes.EndedAfterMeasuring(stage="inspect", status="crashed", message="the run was killed by SIGSEGV"),
]
DERIVED = [
    StepsSkipped(skipped=6, steps=8),
    GpuIdle(share=0.25),
    PerhapsFromCache(),
    EpochsDrifted(),
    EpochsShort(),
    EpochStalled(times=7.0),
    TurnsLeftOut(turns=3),
    GpusDiffer(names=("A", "B")),
]


@pytest.mark.parametrize("note", [*STORED.values(), *NEWER, *DERIVED], ids=lambda note: note.kind)
def test_every_note_has_words(note):
    assert len(note_sentence(note)) > 20
    names = ("gpu_slowed_down",)  # of NVML's, which get words
    named = note.kind not in names and [value for value in note.subject if isinstance(value, str)]
    assert all(value in note_sentence(note) for value in named or ())


def test_every_kind_of_the_ledger_is_tested_here():
    assert {note.kind for note in [*STORED.values(), *NEWER]} == {
        kind.__struct_config__.tag for kind in notes.AnyNote.__args__
    }


@pytest.mark.parametrize(("sentence", "note"), STORED.items(), ids=[note.kind for note in STORED.values()])
def test_the_sentences_of_schema_1_are_read_back_as_notes(sentence, note):
    assert ledger_schema1.note(sentence) == note


def test_a_sentence_that_no_kind_has_keeps_its_words():
    assert ledger_schema1.note("GPU 7 sang.") == OtherNote(text="GPU 7 sang.")


def test_a_note_that_nobody_put_into_words_is_a_mistake():
    class Unworded(notes.Note, tag="unworded"):
        """Of a later Trainspeed."""

    with pytest.raises(TypeError, match="no words"):
        note_sentence(Unworded())
