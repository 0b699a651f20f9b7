"""What the front page says is missing, and what it doubts."""

import math
from dataclasses import replace

import pytest

from front_data import NOTHING, of_runs, report_of, runs_of, shows, verdicts_of, write_notebook, write_report
from study_data import MACHINE, control_runs, make_run, make_trial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.files import SUMMARY
from trainspeed.core.notes import CoresBusy
from trainspeed.core.result import Failure
from trainspeed.core.run import Role, Status
from trainspeed.judge.doubts import note_sentence
from trainspeed.search.findings import Stage
from trainspeed.search.unmeasured import UnmeasuredStage, as_values
from trainspeed.studies.summary.collect import ReportSummary, read_report
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.doubts import all_doubts, doubt_text, headline_doubts_first
from trainspeed.studies.summary.headline import Gain, HeadlineOutcome
from trainspeed.studies.summary.notebooks import ReportNotebook, notebooks_in
from trainspeed.studies.summary.text import not_measured, without_result

IN_TRAIN = Failure(stage="train", error="OutOfMemoryError")
WHOLE = tuple(
    ReportNotebook(name=name, title="", status="ok")
    for name in ("layout", "amp", "multi_gpu", "conv2d", "switches")
)


def test_equal_reasons_are_told_once_however_many_runs_and_numbers():
    runs = [
        make_run(
            block=b, batch_size=8 * 2**b, status=Status.OOM, reason=f"{b}.5 GB asked for", failure=IN_TRAIN
        )
        for b in range(3)
    ]
    runs.append(make_run(status=Status.TIMEOUT, reason="longer than 300 s"))
    runs.append(make_run(study="amp", status=Status.OOM, reason="0.5 GB asked for."))

    assert not_measured(report_of(runs=tuple(runs), notebooks=WHOLE), NOTHING) == [
        "layout: 3 trials (PyTorch): oom: 0.5 GB asked for.",
        "layout: PyTorch, cnn10, channels_first, batch 32, 16 px, default precision, not compiled: timeout: "
        "longer than 300 s.",
        "amp: PyTorch, cnn10, channels_first, batch 32, 16 px, default precision, not compiled: oom: "
        "0.5 GB asked for.",
    ]


def test_crashes_of_one_class_that_say_different_things_are_told_apart_and_name_their_model():
    """Three models of a user's, broken in three ways, were five trials with the first one's reason."""
    crash = Failure(stage="train", error="RuntimeError")
    said = {"a.py:build": "line 7: view size is not compatible", "b.py:build": "line 9: an inplace operation"}
    runs = [
        make_run(model=model, layout=layout, status=Status.CRASHED, reason=reason, failure=crash)
        for model, reason in said.items()
        for layout in ("channels_first", "channels_last")
    ]

    assert not_measured(report_of(runs=tuple(runs), notebooks=WHOLE), NOTHING) == [
        f"layout: 2 trials (PyTorch, {model}): crashed: {reason}." for model, reason in said.items()
    ]


def test_what_the_page_itself_did_not_get_is_told_too():
    failed = make_run(study="summary", status=Status.CRASHED, reason="Aborted")
    (told,) = not_measured(report_of(notebooks=WHOLE), of_runs(failed))
    assert told.startswith("this page's confirmations: ")
    assert "crashed: Aborted" in told
    assert not_measured(report_of(notebooks=WHOLE), of_runs(make_run())) == []


def test_notebooks_that_failed_or_are_not_there_are_told():
    notebooks = (
        ReportNotebook(name="layout", title="", status="failed", error="KeyError: <b>"),
        ReportNotebook(name="amp", title="", status="interrupted"),
    )
    assert not_measured(report_of(notebooks=notebooks), NOTHING) == [
        "layout: failed: KeyError: <b>.",
        "amp: interrupted.",
        'Not in this report: conv2d, multi_gpu, switches: `make report NOTEBOOKS="conv2d multi_gpu switches"`.',
    ]


def test_stages_of_a_search_that_were_not_measured_are_told_from_its_notebook(tmp_path):
    left = UnmeasuredStage(where="PyTorch, <b>", stage=Stage.SCREEN, had=0, planned=16)
    (_, cell) = shows("Tried", [])
    cell["outputs"][0]["metadata"] = {"trainspeed": {"unmeasured": as_values([left])}}
    write_notebook(tmp_path, "switches", [[cell]])

    told = not_measured(report_of(notebooks=notebooks_in(tmp_path)), NOTHING)

    assert told[0] == (
        "switches: Open, or answered in part, for PyTorch, <b>: which switches need each other: `make report "
        "NOTEBOOKS=switches BUDGET=…`."
    )
    cell["outputs"][0]["metadata"]["trainspeed"]["unmeasured"][0]["stage"] = "another"
    write_notebook(tmp_path, "switches", [[cell]])
    assert notebooks_in(tmp_path) == ()  # as with all else that no report of this version wrote


def test_questions_that_a_search_leaves_open_come_with_the_time_that_its_missing_runs_take():
    """Its fresh blocks are no question where they have an interval."""
    lacking = (Stage.RACE, 0), (Stage.ELIMINATE, 0), (Stage.CONFIRM, 18)
    left = [UnmeasuredStage(where="PyTorch, cnn10", stage=s, had=had, planned=had + 30) for s, had in lacking]
    notebook = ReportNotebook(name="switches", title="", status="ok", unmeasured=tuple(left))
    runs = [make_run(study="switches", stages_s={"train": 10.0}) for _ in range(6)]
    whole = replace(verdicts_of(runs_of("layout"))[0], factor="recipe", study="switches")
    minutes = math.ceil((sum(run.busy_s for run in runs) + 90 * runs[0].busy_s) / 60)

    (told,) = without_result(report_of(whole, notebooks=(notebook,), runs=runs), NOTHING)
    assert told == (
        "switches: Open, or answered in part, for PyTorch, cnn10: which value of a switch is best; what each adds to "
        f"the others: `make report NOTEBOOKS=switches BUDGET={minutes}m`."
    )
    (told,) = without_result(report_of(notebooks=(notebook,), runs=runs), NOTHING)
    assert "; what all together bring: " in told


def test_each_study_is_doubted_by_its_own_runs(tmp_path):
    controls = [make_run(label=label, block=b) for b in range(6) for label in ("A", "A again")]
    noted = runs_of("amp", notes=(CoresBusy(cores=2.5),))
    write_report(tmp_path, [*controls, *noted])

    doubts = all_doubts(read_report(tmp_path, tmp_path), NOTHING)

    assert len(doubts) == 2  # the control of layout is clean
    assert doubts[0].startswith("amp: No A/A control ran")
    assert doubts[1] == f"{note_sentence(noted[0].notes[0])} In 12 of 12 runs of amp (PyTorch)."


def test_runs_that_were_measured_again_are_doubted_too():
    """The headline's number is theirs."""
    noted = make_run(study="summary", label=Role.CONFIRMATION, notes=(CoresBusy(cores=2.5),))
    (doubt,) = all_doubts(report_of(), of_runs(noted))
    assert doubt == f"{note_sentence(noted.notes[0])} In 1 of 1 runs of this page's confirmations (PyTorch)."


def test_noise_is_no_doubt_about_what_fresh_blocks_showed(tmp_path):
    wide = control_runs([0.7, 1.0, 1.0, 1.0, 1.0, 1.4])
    (first, *_) = write_report(tmp_path, [*wide, *runs_of("layout", 1.3)])
    report = read_report(tmp_path, tmp_path)
    (doubt,) = all_doubts(report, NOTHING)
    assert (
        doubt.startswith("layout: channels_last vs channels_first") and "measured twice may differ" in doubt
    )
    assert all_doubts(report, NOTHING, [Confirmed(first=first, again=first)]) == []


def test_the_same_doubt_about_runs_of_several_studies_is_one_line_with_the_largest_amounts():
    few, many = CoresBusy(cores=0.5), CoresBusy(cores=2.5)
    runs = (*runs_of("amp", notes=(few,)), *runs_of("layout", notes=(many,)))

    doubts = all_doubts(report_of(runs=runs), NOTHING)

    said = [doubt for doubt in doubts if "12 of 12 runs" in doubt]
    where = "12 of 12 runs of amp (PyTorch); 12 of 12 runs of layout (PyTorch)"
    assert said == [f"{note_sentence(many)} In {where}."]
    assert "up to 2.5 CPU cores" in said[0]


def test_runs_without_a_verdict_are_doubted(tmp_path):
    """A notebook that failed after it had measured."""
    write_report(tmp_path, runs_of("layout"), verdicts=[])
    doubts = all_doubts(read_report(tmp_path, tmp_path), NOTHING)
    assert doubts[-1] == "layout: it has runs, but no verdict in verdicts.json: see why in its notebook."


def test_runs_of_several_machines_and_versions_are_doubted_and_those_of_one_are_not(tmp_path):
    other = {**MACHINE, "cpu": "Other CPU"}
    mixed = (*runs_of("layout"), *runs_of("amp", machine=other, versions={"torch": "2.14.0"}))
    front = report_of(runs=mixed)

    doubts = all_doubts(front, of_runs(make_run(study="summary", machine=other)))

    assert doubts[:2] == [
        "Not everything was measured on one machine: layout on Test CPU, no GPU used; amp, summary on Other CPU, "
        "no GPU used. Compare within each only.",
        "PyTorch ran in several versions: 2.14.0, 2.15.0. Measure all notebooks again.",
    ]
    same = all_doubts(report_of(runs=tuple(runs_of("layout"))), NOTHING)
    assert not [doubt for doubt in same if "machine" in doubt or "versions" in doubt]


def test_a_driver_that_changed_between_the_notebooks_is_doubted():
    runs = [
        run
        for study, driver in (("layout", "550.54"), ("amp", "580.65"))
        for run in runs_of(study, machine=MACHINE | {"driver": driver})
    ]

    assert all_doubts(report_of(runs=tuple(runs)), NOTHING)[0] == (
        "The NVIDIA driver ran in several versions: 550.54, 580.65. Measure all notebooks again."
    )


def test_a_doubt_is_told_once_and_the_folders_own_come_first(tmp_path):
    measured = replace(NOTHING, doubts=("line 3 is cut off",))
    assert all_doubts(ReportSummary(out=tmp_path, doubts=("line 3 is cut off",)), measured) == [
        "line 3 is cut off"
    ]


@pytest.mark.parametrize(
    ("doubts", "said"),
    [
        ([], "no reason to doubt the headline"),
        ([("layout", "torch")], "1 reason to doubt the headline"),
        ([("layout", "torch"), ("amp", "torch")], "1 of 3 doubts is about the headline"),
        ([("amp", "torch")], "no reason to doubt the headline, 2 for other parts"),
        ([("layout", "tensorflow")], "no reason to doubt the headline, 1 for other parts"),
    ],
)
def test_of_the_doubts_those_about_the_headline_are_counted(doubts, said):
    """By study and framework: that TensorFlow's runs were disturbed is no doubt about PyTorch's."""
    runs = tuple(make_run(study=study, framework=framework) for study, framework in doubts)
    best = replace(verdicts_of(runs_of("layout"))[0], study="layout")

    gain = Gain(verdict=best, finding=HeadlineOutcome.UNCONFIRMED)
    told = doubt_text(report_of(best, runs=runs), NOTHING, (), [gain])
    assert told.startswith(f"[{said}](#doubts)")


def test_where_the_headline_tells_no_gain_none_of_it_is_luck():
    """A front page that had found nothing faster said that it may be partly luck."""
    best = replace(verdicts_of(runs_of("layout"))[0], study="layout")
    gain = Gain(verdict=best, finding=HeadlineOutcome.UNCONFIRMED)
    assert "luck" in doubt_text(report_of(best), NOTHING, (), [gain])
    assert "luck" not in doubt_text(report_of(best), NOTHING)


def test_a_control_of_another_framework_and_a_run_of_another_stage_are_no_doubts_about_what_was_kept():
    """A headline of TensorFlow's fresh blocks was doubted for PyTorch's control, and for a run of a slow way."""
    noted = {"study": "switches", "framework": "tensorflow", "notes": (CoresBusy(cores=2.5),)}
    control = [make_run(study="switches", label=label) for label in ("A", "A again")]
    plain, best = (
        make_trial(framework="tensorflow"),
        make_trial(framework="tensorflow", layout="channels_last"),
    )
    kept = replace(
        verdicts_of(runs_of("layout"))[0], study="switches", factor="recipe", baseline=plain, candidate=best
    )
    gain = Gain(verdict=kept, finding=HeadlineOutcome.TOGETHER)

    def said(role):
        runs = (*control, make_run(label=role, **noted))
        return doubt_text(report_of(kept, runs=runs), NOTHING, (), [gain])

    assert said(Role.SLOW_WAY).startswith("[no reason to doubt the headline, 2 for other parts]")
    assert said(Role.PLAIN_AGAIN).startswith("[1 of 2 doubts is about the headline]")


def test_a_doubt_about_another_model_of_the_study_is_none_about_the_headline():
    best = replace(verdicts_of(runs_of("layout"))[0], study="layout")
    short = (make_run(0.01, study="layout", model="wrn28_1"), make_run(study="layout"))

    told = headline_doubts_first(report_of(best, runs=short), NOTHING, [Confirmed(first=best, again=best)])
    (about,) = [text for text in told if "shorter than" in text]
    assert not about.startswith("About the headline") and about.endswith("(PyTorch, wrn28_1).")


def test_the_doubts_about_the_headline_come_first_and_say_so_beside_others():
    best = replace(verdicts_of(runs_of("layout"))[0], study="layout")
    held = [Confirmed(first=best, again=best)]
    both = tuple(make_run(study=study) for study in ("amp", "layout"))

    told = headline_doubts_first(report_of(best, runs=both), NOTHING, held)
    about = [text.startswith("About the headline: layout: ") for text in told]
    assert about == sorted(about, reverse=True) and {*about} == {True, False} and "amp: " in told[-1]
    alone = headline_doubts_first(report_of(best, runs=both[1:]), NOTHING, held)
    assert alone and not any("headline" in text for text in alone)


def test_what_the_page_itself_had_no_time_for_is_told_by_what_a_reader_calls_it():
    group = GroupCoverage(part="again", core=True, trials=(make_trial().as_dict(),), blocks=0, most=6)
    covered = Coverage(session="s", study=SUMMARY, budget_s=60.0, spent_s=60.0, groups=(group,))

    (told,) = without_result(report_of(notebooks=WHOLE), replace(NOTHING, coverage=covered))

    assert told.startswith("this page's confirmations: No time for ")
