"""What a check is made of: a line for each framework's newest run, by its status and by an interval."""

from dataclasses import replace

import pytest

from trainspeed.core.probe import PROBES, Probe
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_list import all_checks, checks_sentence, faults, open_sentences, reasons, summary
from trainspeed.judge.checks import Check, CheckOutcome, Finding, of_probe, within


def run(framework="torch", **more):
    probe = Probe(framework=framework, name="epoch")
    return Run(session="s", study="check", trial=probe, block=0, **more)


def lines(*runs, find=lambda values: Finding(measured="1 s", outcome=CheckOutcome.OK)):
    return of_probe(RunSet(runs), "epoch", name="A clock", expected="1 s", find=find)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ((1.0, 1.001, 0.999, 1.0, 1.002, 0.998), CheckOutcome.OK),
        ((1.1, 1.101, 1.099, 1.1, 1.102, 1.098), CheckOutcome.NOT_OK),
        ((0.9, 0.901, 0.899, 0.9, 0.902, 0.898), CheckOutcome.NOT_OK),
        ((1.0, 1.1, 0.9, 1.0, 1.2, 0.8), CheckOutcome.UNDECIDED),
        ((1.1,) * 5, CheckOutcome.UNDECIDED),  # too few for an interval
    ],
)
def test_an_interval_decides_and_noise_leaves_it_open(values, outcome):
    assert within(values, 0.99, 1.01)[0] is outcome


@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_is_read_by_a_line(probe):
    """One that nobody reads would be measured, and never shown."""
    trial = Probe(framework="torch", name=probe)
    crashed = Run(
        session="s", study="check", trial=trial, block=0, status=Status.CRASHED, reason="for a test"
    )
    assert all_checks(RunSet((crashed,))), f"name what reads {probe!r} in judge/check_list.py:LINES"


def test_there_is_a_line_for_each_framework_in_their_usual_order():
    found = lines(run("jax"), run("torch"), run("tensorflow"), run("jax"))
    assert [line.framework for line in found] == ["tensorflow", "torch", "jax"]


def test_what_cannot_be_measured_here_is_no_fault_and_what_failed_is_one():
    missing, failed = lines(
        run("torch", status=Status.UNSUPPORTED, reason="it is not installed here"),
        run("jax", status=Status.TIMEOUT, reason="not finished after 120 s"),
    )
    assert (missing.outcome, missing.reason) == (CheckOutcome.NOT_APPLICABLE, "it is not installed here")
    assert (failed.outcome, failed.reason) == (CheckOutcome.NOT_OK, "timeout: not finished after 120 s")


@pytest.mark.parametrize(
    "values",
    [{}, {"epoch_s": None}, {"epoch_s": "soon"}, {"epoch_s": (), "outside_s": ()}, {"epoch_s": (0.0,) * 8}],
)
def test_a_ledger_of_another_version_or_damaged_costs_its_lines_and_nothing_else(values):
    usual = {"outside_s": (0.0,) * 8, "leftover_s": (0.0,) * 8, "bare_s": (0.0,) * 8, "ours_s": (0.0,) * 8}
    found = all_checks(RunSet((run(probe={**usual, **values}),)))
    assert {line.outcome for line in found} == {CheckOutcome.NOT_APPLICABLE}
    assert summary(found) == "3 checks of the instrument: 3 not applicable" and faults(found) == []


def test_a_fault_is_one_sentence():
    def wrong(values):
        return Finding(measured="2 s", outcome=CheckOutcome.NOT_OK, reason="it goes slow")

    found = lines(run("jax"), run(status=Status.UNSUPPORTED, reason="no timer"), find=wrong)
    assert faults(found) == ["A clock (JAX): it goes slow."]
    assert reasons(found) == [
        "Not ok: A clock (JAX): it goes slow.",
        "A clock (PyTorch): not applicable: no timer.",
    ]
    assert summary(()) == ""


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (("ok", "undecided"), "Undecided: B. Nothing wrong was found by the others."),
        (("ok", "ok"), "Nothing wrong was found."),
        (("not ok", "undecided"), "Something is wrong: A. Undecided: B."),
        (("not applicable",), "Not known: no check was decided."),
        (("undecided",), "Not known: no check was decided. Undecided: A."),
    ],
)
def test_the_first_sentence_answers_whether_the_instrument_is_right(outcomes, said):
    checks = [
        Check(name=name, measured="", expected="", outcome=CheckOutcome(outcome))
        for name, outcome in zip("AB", outcomes, strict=False)
    ]
    assert checks_sentence(checks) == said


def test_what_is_undecided_is_told_with_its_interval():
    wide = Check(
        name="A", measured="1 (0.9 to 1.1)", expected="1, within 2 %", outcome=CheckOutcome.UNDECIDED
    )
    told = "Undecided: A: {}: too noisy to tell whether that is right (1, within 2 %)."
    assert checks_sentence([wide]).endswith(told.format("1 (0.9 to 1.1)"))
    both = [replace(wide, framework=name) for name in ("tensorflow", "torch")]
    assert checks_sentence(both).endswith(told.format("TensorFlow 1 (0.9 to 1.1), PyTorch 1 (0.9 to 1.1)"))


def test_what_is_too_noisy_to_tell_is_a_doubt():
    ok, open_ = (
        Check(name=name, measured="", expected="", outcome=outcome)
        for name, outcome in (("A", CheckOutcome.OK), ("B", CheckOutcome.UNDECIDED))
    )
    (said,) = open_sentences([ok, open_])

    assert said.startswith("Too noisy here to tell: B. ") and open_sentences([ok]) == []
    assert said.endswith("run `make check` while nothing else runs.")
    assert reasons([ok, open_]) == ["B: undecided."], "the answer names it, with a reason or without"


def test_what_scatters_by_itself_is_not_sent_to_a_quieter_machine():
    several = [
        Check(name=name, measured="", expected="", outcome=CheckOutcome.UNDECIDED, scatters=scatters)
        for name, scatters in (("A", True), ("B", False))
    ]
    quiet, more = open_sentences(several)
    assert "tell: B. " in quiet and "while nothing else runs" in quiet
    assert "tell: A. " in more and more.endswith(
        ": more `rounds` decide, and `make check` has more of them than a report."
    )
