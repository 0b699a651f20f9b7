"""The line of the front page's first screen on what was not measured."""

from dataclasses import replace

from front_data import STUDIES, fact
from study_data import make_run
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.run import Status
from trainspeed.search.findings import Stage
from trainspeed.search.unmeasured import UnmeasuredStage
from trainspeed.studies.summary.collect import ReportNotebook

SWITCHES = ReportNotebook(name="switches", title="", status="ok")


def test_a_notebook_that_was_not_asked_for_is_no_thing_with_a_reason():
    notebooks = [ReportNotebook(name=name, title="", status="ok") for name in STUDIES]
    failed = make_run(status=Status.OOM, reason="0.5 GB asked for")
    place = "](#what-was-not-measured)."

    assert fact("Not measured", notebooks=(*notebooks, SWITCHES)) == f"[nothing that was asked for{place}"
    assert fact("Not measured", notebooks=notebooks) == f"[1 notebook that was not asked for{place}"
    assert (
        fact("Not measured", failed, notebooks=(*notebooks, SWITCHES)) == f"[1 trial without a result{place}"
    )
    assert fact("Not measured", failed, notebooks=notebooks[:2]) == (
        f"[1 trial without a result; 3 notebooks that were not asked for{place}"
    )


def test_what_has_no_result_is_counted_by_what_it_is_and_not_by_the_lines_that_tell_it():
    arms = (make_run().trial.as_dict(),)
    left = [
        GroupCoverage(part="core", core=True, trials=arms, blocks=0, most=6),
        GroupCoverage(part="core", core=True, trials=({**arms[0], "model": "wrn28_1"},), blocks=0, most=6),
    ]
    had = Coverage(session="s", study="layout", budget_s=9.0, spent_s=9.0, groups=tuple(left))
    stage = UnmeasuredStage(where="PyTorch, cnn10", stage=Stage.SCREEN, had=0, planned=16)
    searched = replace(SWITCHES, unmeasured=(stage,))
    notebooks = [ReportNotebook(name=name, title="", status="ok") for name in STUDIES]
    failed = [make_run(status=Status.OOM, reason="0.5 GB asked for", block=block) for block in range(3)]

    said = fact("Not measured", *failed, notebooks=(*notebooks, searched), coverage={"layout": had})
    assert said.startswith("[1 trial and 2 groups without a result; 1 search cut short](#")
    broken = replace(notebooks[0], status="failed")
    said = fact("Not measured", notebooks=(broken, *notebooks[1:], SWITCHES))
    assert said.startswith("[1 notebook that did not end well](#")
