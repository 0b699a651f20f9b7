"""What runs took of their memory, and which did not fit."""

from study_data import make_run
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.judge.memory import memory_use


def test_a_run_that_was_not_begun_for_lack_of_memory_did_not_run_out_of_it():
    begun = make_run(status=Status.OOM, failure=Failure(stage="train"))
    use = memory_use([begun, make_run(status=Status.OOM, failure=Failure()), make_run()])

    assert use.out_of_memory == (begun,)
    assert use.untold == (make_run(),)
