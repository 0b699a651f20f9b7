"""Every claim about several GPUs, answered from made-up runs."""

import pytest

from scaling_data import FED, make_runs
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import check_claim
from trainspeed.studies.multi_gpu.claims import claim_verdicts

CLAIMS = {claim.id: claim for claim in claims("multi_gpu")}
ONE_AND_TWO = ({"devices": 1}, {"devices": 2})
FRAMEWORKS = ({"framework": "tensorflow"}, {"framework": "torch"})
THREADS = {"pipeline": "threads"}
# The two arms of each claim, and what is the same in both.
ARMS = {
    "tensorflow_cnn10": (*ONE_AND_TWO, {"framework": "tensorflow"}),
    "tensorflow_wrn": (*ONE_AND_TWO, {"framework": "tensorflow", "model": "wrn28_10"}),
    "torch_cnn10": (*ONE_AND_TWO, {}),
    "torch_wrn": (*ONE_AND_TWO, {"model": "wrn28_10"}),
    "framework_cnn10": (*FRAMEWORKS, {}),
    "framework_wrn": (*FRAMEWORKS, {"model": "wrn28_10"}),
    "generator": (*ONE_AND_TWO, FED | THREADS),
    "no_generator": (THREADS, {"pipeline": "arrays"}, FED),
    "processes": (THREADS, {"pipeline": "processes"}, FED),
}
AS_CLAIMED = {"faster": 2.0, "slower": 0.5, "little_gain": 1.1}  # baseline time / candidate time
OTHERWISE = {"faster": 0.5, "slower": 2.0, "little_gain": 2.0}


def arms(claim, ratio, *, blocks=6, **changed):
    """Return runs of both arms of a claim: baseline time / candidate time is the ratio."""
    baseline, candidate, same = ARMS[claim.id]
    runs = make_runs(ratio, blocks=blocks, **same | baseline | changed)
    return runs + make_runs(1.0, blocks=blocks, **same | candidate | changed)


def answer(claim, ratio, **changed):
    return check_claim(claim, claim_verdicts(arms(claim, ratio, **changed)))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_claim_is_answered_where_both_its_arms_ran_often_enough(claim):
    assert answer(claim, AS_CLAIMED[claim.kind]).result == Result.AGREES
    assert answer(claim, OTHERWISE[claim.kind]).result == Result.DISAGREES


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_with_too_few_blocks_says_so(claim):
    found = answer(claim, AS_CLAIMED[claim.kind], blocks=2)
    assert found.result == Result.UNDECIDED
    assert found.evidence[0].judgement.low is None


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_parts_of_a_step_and_other_precisions_answer_no_claim(claim):
    assert claim_verdicts(arms(claim, 2.0, part="compute")) == []
    assert answer(claim, AS_CLAIMED[claim.kind], precision="bf16").result == Result.UNMEASURED


def test_without_runs_nothing_can_be_told():
    assert {check_claim(claim, claim_verdicts([])).result for claim in CLAIMS.values()} == {Result.UNMEASURED}


def test_on_one_device_neither_pipelines_nor_frameworks_are_compared():
    runs = [run for arm in FRAMEWORKS for run in make_runs(1.0, devices=1, **arm)]
    runs += [run for name in ("threads", "arrays") for run in make_runs(1.0, devices=1, pipeline=name, **FED)]
    assert claim_verdicts(runs) == []


def test_frameworks_are_compared_on_plain_arrays_only():
    runs = [run for arm in FRAMEWORKS for run in make_runs(1.0, **arm, **THREADS)]
    assert claim_verdicts(runs) == []


def test_each_number_of_threads_is_a_baseline_and_the_articles_answers():
    runs = [run for count in (1, 4) for run in make_runs(count, workers=count, **THREADS, **FED)]
    runs += [run for count in (1, 16) for run in make_runs(1.0, workers=count, pipeline="processes", **FED)]
    verdicts = [v for v in claim_verdicts(runs) if v.factor == "pipeline"]
    workers = {(v.baseline.workers, v.candidate.workers) for v in verdicts}
    assert workers == {(1, 1), (1, 16), (4, 1), (4, 16)}
    chosen = check_claim(CLAIMS["processes"], verdicts).evidence[0].verdict
    assert (chosen.baseline.workers, chosen.candidate.workers) == (4, 16)


def test_both_of_torchs_strategies_are_compared_with_tensorflows_and_ddp_answers():
    runs = make_runs(3.0, framework="tensorflow") + make_runs(2.0, strategy="data_parallel") + make_runs(1.0)
    verdicts = [v for v in claim_verdicts(runs) if v.factor == "framework"]
    assert {v.candidate.strategy for v in verdicts} == {"ddp", "data_parallel"}
    assert all((v.baseline.framework, v.baseline.strategy) == ("tensorflow", "mirrored") for v in verdicts)
    chosen = check_claim(CLAIMS["framework_cnn10"], verdicts).evidence[0].verdict
    assert (chosen.candidate.strategy, chosen.speedup) == ("ddp", 3.0)
