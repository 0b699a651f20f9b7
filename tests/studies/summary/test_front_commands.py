"""The commands that the front page suggests."""

import json

from front_data import NOTHING, SESSION, write_report
from study_data import make_run
from trainspeed.core.ledger import SESSIONS_FILE
from trainspeed.studies.summary.collect import read_report
from trainspeed.studies.summary.text import not_measured


def test_what_a_report_without_a_limit_was_asked_for_is_in_the_commands_of_its_front_page(tmp_path):
    across = make_run(node="a10g-1", session=SESSION, block=1, strategy="ddp", devices=2, nodes=2)
    write_report(
        tmp_path, [make_run(node="a10g-1", session=SESSION), across], studies=["layout"], verdicts=[]
    )
    line = {"session": SESSION, "notebooks": ["layout"], "chosen_preset": "smoke"}
    (tmp_path / SESSIONS_FILE).write_text(json.dumps(line) + "\n")

    told = not_measured(read_report(tmp_path, tmp_path), NOTHING)

    assert told[-1].endswith(
        '`make fleet FLEET=fleet.yaml PRESET=smoke NOTEBOOKS="amp conv2d multi_gpu switches"`.'
    )
