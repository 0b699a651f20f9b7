"""What a search could have tried and did not, on the front page."""

from front_data import NOTHING, report_of
from study_data import MACHINE, make_run, make_trial
from trainspeed.core.run import Role, Status
from trainspeed.search.untried import untried, untried_in_short, untried_sentences
from trainspeed.studies.summary.text import not_measured, without_result

COMMAND = "To try all of them (an empty list means all): "
COMMAND += "`make report NOTEBOOKS=switches PARAMS='switches: {levers: []}'`."
PLAIN = make_trial(layout="channels_first")
ON_CPU = MACHINE | {"device": "cpu", "cores": {"physical": 2, "logical": 2}}


def runs_of(*trials):
    return [make_run(study="switches", trial=t, label=Role.FEASIBLE, machine=ON_CPU) for t in trials]


def test_levers_of_the_framework_and_the_device_that_had_no_run_are_counted_and_named_with_the_command():
    """A user of PyTorch asks first for torch.compile."""
    report = report_of(runs=runs_of(PLAIN, PLAIN.pulled("optimizer", "fused")))
    (one,) = report.untried

    assert one.start == PLAIN.spec and "torch.compile" in one.names
    assert "optimizer" not in one.levers and "cudnn_benchmark" not in one.levers, "tried; of a GPU"
    told = [said for said in not_measured(report, NOTHING) if "had no run" in said]
    assert told[0].startswith(
        f"switches: switches that could be tried here had no run. PyTorch, cnn10 ({len(one.levers)}): "
    )
    assert told[0].endswith(COMMAND)
    assert "had no run" not in " ".join(without_result(report, NOTHING)), "nobody asked for them"
    assert untried_in_short(report.untried).endswith(f" and {len(one.levers) - 1} more switches")


def test_searches_of_one_study_are_told_with_one_command():
    keras = make_trial(framework="tensorflow")
    both = runs_of(PLAIN, PLAIN.pulled("optimizer", "fused"), keras)
    (said, *_) = untried_sentences(untried(both))

    assert ". PyTorch, cnn10 (" in said and ". TensorFlow, cnn10 (" in said
    assert said.count("make report") == 1 and said.endswith(COMMAND)


def test_larger_batches_of_another_study_are_named_with_its_page():
    layout = [make_run(study="layout", batch_size=size) for size in (16, 64, 128)]
    other = make_run(study="amp", model="cnn_keras", batch_size=64)
    failed = make_run(study="multi_gpu", batch_size=64, status=Status.OOM)
    searched = runs_of(PLAIN, PLAIN.pulled("optimizer", "fused"))

    *_, said = untried_sentences(untried([*searched, *layout, other, failed]))
    assert said.startswith("Larger batches were not tried beside the switches: ")
    assert said.endswith(" Without switches: PyTorch, cnn10 up to batch 128 in [layout](layout.html).")
    *_, alone = untried_sentences(untried(searched))
    assert alone.endswith("(`make report PRESET=standard`).")


def test_what_the_processor_has_no_arithmetic_for_could_not_be_tried():
    """Of a CPU of 2017 a page named four switches that round to bf16, which it said elsewhere the CPU has not."""
    machine = ON_CPU | {"cpu_flags": ["avx2"]}
    for framework, gone in (
        ("torch", {"pure_bf16", "math_mode"}),
        ("tensorflow", {"pure_bf16", "onednn_math"}),
    ):
        start = make_trial(framework=framework)
        runs = [
            make_run(study="switches", trial=start, label=Role.FEASIBLE, machine=m) for m in (ON_CPU, machine)
        ]
        (anywhere,), (here,) = untried(runs[:1]), untried(runs[1:])
        assert {*anywhere.levers} - {*here.levers} == gone | {"precision"}


def test_without_a_search_nothing_was_left_untried():
    assert report_of(runs=[make_run()]).untried == [] and untried_in_short([]) == ""
