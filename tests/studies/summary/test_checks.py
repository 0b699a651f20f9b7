"""The line of the front page that says whether the instrument was found to be right."""

from dataclasses import replace

from front_data import NOTHING, OLDER, SESSION, report_of, runs_of, write_notebook, write_page, write_report
from study_data import MACHINE
from trainspeed.core.ledger import Ledger
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import CheckOutcome
from trainspeed.studies.summary.collect import read_report
from trainspeed.studies.summary.doubts import all_doubts
from trainspeed.studies.summary.text import check_sentences, not_measured
from trainspeed.studies.summary.values import report_values

RUN = Run(
    session=SESSION,
    study="check",
    trial=Probe(framework="torch", name="epoch"),
    block=0,
    probe={
        "epoch_s": (1.0,) * 8,
        "outside_s": (1.0,) * 8,
        "device_s": None,
        "ours_s": (1.0,) * 8,
        "bare_s": (1.0,) * 8,
        "leftover_s": (0.0,) * 8,
        "others_share": None,
        "queued_s": 1.0,
        "unwaited_s": 0.0,
        "device": "cpu",
    },
)
ADDS = replace(RUN, probe={**RUN.probe, "ours_s": (1.1,) * 8})


def test_what_was_checked_is_a_line_that_leads_to_its_page(tmp_path):
    write_report(tmp_path, runs_of("layout"))
    Ledger(tmp_path).append(RUN)
    write_notebook(tmp_path, "check")
    write_page(tmp_path, "check")

    report = read_report(tmp_path, tmp_path)

    (line,) = check_sentences(report)
    assert line == escape(line) == "3 checks of the instrument: 3 ok ([check](check.html))."
    assert not report.runs.of_study("check")  # it is no study whose verdicts are missed
    doubts = all_doubts(report, NOTHING)
    assert [doubt for doubt in doubts if doubt.startswith("layout: No A/A control ran")]
    assert not [doubt for doubt in doubts if doubt.startswith("check")], "without turns it compares nothing"


def test_what_is_undecided_is_named_with_its_interval():
    noisy = replace(RUN, probe={**RUN.probe, "ours_s": (0.95, 1.05) * 4})

    (line,) = check_sentences(report_of(checks=RunSet((noisy,))))
    assert line.startswith(
        "3 checks of the instrument: 2 ok, 1 undecided. Undecided: Trainspeed's loop against a plain"
    )
    assert "(0.952 to 1.053) times as fast: too noisy to tell whether that is right (1, within 2 %)." in line


def test_a_fault_is_named_with_what_follows():
    first, fault, remedy = check_sentences(report_of(checks=RunSet((ADDS,))))

    assert first == "3 checks of the instrument: 2 ok, 1 not ok."
    assert fault == escape(fault) and fault.startswith(
        "**Not ok**: Trainspeed's loop against a plain one (PyTorch): "
    )
    assert "Do not rely" in remedy


def test_where_nothing_else_was_measured_the_machine_is_that_of_the_checks():
    assert report_of(checks=RunSet((replace(RUN, machine=MACHINE),))).machine == MACHINE


def test_checks_of_an_earlier_session_say_so(tmp_path):
    write_report(tmp_path, runs_of("layout"))
    Ledger(tmp_path).append(replace(RUN, session=OLDER))

    assert "in an earlier session" in check_sentences(read_report(tmp_path, tmp_path))[0]


def test_a_check_of_another_machine_is_not_told_of_this_one(tmp_path):
    write_report(tmp_path, runs_of("layout"))
    elsewhere = {**MACHINE, "cpu": "<b>Other</b> CPU"}
    Ledger(tmp_path).append(replace(ADDS, session=OLDER, machine=elsewhere))

    (sentence,) = check_sentences(read_report(tmp_path, tmp_path))

    assert "not checked" in sentence and not isinstance(sentence, Marked)
    assert "(CPU (<b>Other</b> CPU, then Test CPU))" in sentence
    assert not [d for d in all_doubts(read_report(tmp_path, tmp_path), NOTHING) if d.startswith("check")]


def test_what_a_framework_says_is_shown_as_text():
    odd = replace(RUN, status=Status.CRASHED, reason="<meta http-equiv=refresh>", probe={})
    text = " ".join(check_sentences(report_of(checks=RunSet((odd,)))))
    assert "\\<meta" in text and " <meta" not in text


def test_a_report_without_checks_says_how_to_make_them():
    (sentence,) = check_sentences(report_of())
    assert "make check" in sentence
    assert not [line for line in not_measured(report_of(), NOTHING) if "check" in line]


def test_the_values_count_every_outcome_where_there_is_none_of_it_too(tmp_path):
    """Whoever asked how many checks are not ok found no such key as long as all were."""
    write_report(tmp_path, runs_of("layout"))
    Ledger(tmp_path).append(RUN)
    write_notebook(tmp_path, "check")

    counts = report_values(read_report(tmp_path, None), NOTHING).check.outcomes

    assert counts.keys() == {*CheckOutcome}
    assert counts[CheckOutcome.NOT_OK] == 0 < counts[CheckOutcome.OK]
