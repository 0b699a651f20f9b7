from trainspeed.judge.checks import Check, CheckOutcome
from trainspeed.studies.check.tables import check_table


def test_a_line_begins_with_the_name_which_stays_in_sight_where_the_table_is_wider():
    check = Check(name="Clock", measured="1.0", expected="1", outcome=CheckOutcome.OK, framework="torch")
    row = check_table([check]).data.iloc[0]
    assert row.tolist() == ["Clock (PyTorch)", "ok", "1.0", "1"]
    assert [*check_table([]).data] == ["check", "outcome"]
