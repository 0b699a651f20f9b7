from study_data import make_trial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.show.coverage import coverage_sentences


def test_a_study_that_had_time_for_nothing_is_told():
    group = GroupCoverage(part="core", core=True, trials=(make_trial().as_dict(),), blocks=0, most=6)

    sentences = coverage_sentences(
        Coverage(session="s", study="layout", budget_s=60.0, spent_s=5.0, groups=(group,))
    )

    assert sentences[0] == "Time: 5 s of 1 min 00 s that it was given."
    assert sentences[1].startswith("No time for 1 of 1 comparison and single runs, 1 of them of the core")
