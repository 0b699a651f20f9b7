"""The statements as data, and the rule of each kind, on planted judgements."""

import pytest

from scaling_data import make_verdict
from trainspeed.articles.claims import BANDS, OUTCOME_KINDS, TALLIES, Evidence, Result, claims, decide
from trainspeed.core.trial import FRAMEWORKS, LAYOUTS, MODEL_NAMES, PRECISIONS, ZOO
from trainspeed.judge.verdict import judge, judge_difference

STUDIES = ("layout", "multi_gpu", "amp", "conv2d")
ALL = [claim for study in STUDIES for claim in claims(study)]
CLAIMS = {(claim.study, claim.id): claim for claim in ALL}
AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result


def speedups(*ratios, blocks=6):
    """Return a judgement for each planted ratio; a tuple has a value for each block."""
    return [judge(r, [1.0] * len(r)) for r in (r if isinstance(r, tuple) else (r,) * blocks for r in ratios)]


def result(name, judgements, devices=2):
    verdict = make_verdict(values=(1, devices))
    evidence = [Evidence(name="", judgement=judgement, verdict=verdict) for judgement in judgements]
    return decide(CLAIMS[name], evidence).result


# As data.


def test_each_statement_is_there_once_with_its_place():
    assert [len(claims(study)) for study in STUDIES] == [6, 9, 11, 9]
    assert len(CLAIMS) == len(ALL)
    assert all((claim.source, claim.place, claim.claim, claim.kind) for claim in ALL)
    assert {c.year for c in ALL if c.source in ("000", "001")} == {2019}
    assert {c.year for c in ALL if c.source in ("002", "004")} == {None}


@pytest.mark.parametrize("claim", [c for c in ALL if c.study != "conv2d"], ids=lambda c: f"{c.study} {c.id}")
def test_a_statement_is_about_something_that_can_be_measured(claim):
    known = {
        "layout": LAYOUTS,
        "framework": FRAMEWORKS,
        "precision": PRECISIONS,
        "devices": ("1", "2", "8"),
        "pipeline": ("threads", "processes", "arrays"),
    }[claim.factor]
    assert {claim.baseline, claim.candidate} <= set(known) and claim.baseline != claim.candidate
    assert claim.kind in (*OUTCOME_KINDS, *BANDS, *TALLIES, "larger_batch")
    assert claim.model in ("", *MODEL_NAMES, *ZOO)
    assert claim.framework in ("", *FRAMEWORKS) and claim.layout in ("", *LAYOUTS)
    assert claim.devices in (1, 2, 8) and claim.size


@pytest.mark.parametrize("claim", claims("conv2d"), ids=lambda claim: claim.id)
def test_a_finding_and_a_guess_about_a_convolution_has_an_experiment(claim):
    assert all((claim.gpu, claim.size, claim.experiment)) and claim.source == "004"
    guess = claim.size.startswith("not tested there")
    assert claim.place.startswith(("8.", "9.") if guess else ("7.", "8.", "10."))


def test_the_findings_on_a_convolution_come_first_and_then_the_six_guesses():
    assert [claim.size.startswith("not tested") for claim in claims("conv2d")] == [False] * 3 + [True] * 6


def test_statements_about_models_that_were_not_measured_are_left_out():
    assert [c.id for c in claims("amp", ["vgg16"])] == ["time_vgg16", "sixteenth", "accuracy"]
    shares = [c for c in claims("amp") if c.id.startswith("time_")]
    assert [c.model for c in shares] == list(ZOO) and {(c.low, c.high) for c in shares} == {(0.45, 0.6)}
    assert CLAIMS["amp", "sixteenth"].low == 1 / 16


# The rules.


@pytest.mark.parametrize(
    ("name", "ratio", "expected"),
    [
        (("layout", "layout_cnn10"), 1.1, AGREES),
        (("layout", "layout_cnn10"), 1.0, DISAGREES),
        (("layout", "layout_cnn10"), 0.9, DISAGREES),
        (("layout", "framework_wrn"), 1.0, AGREES),
        (("layout", "framework_wrn"), 1.1, DISAGREES),
        (("layout", "framework_wrn"), 0.9, DISAGREES),
        (("multi_gpu", "tensorflow_cnn10"), 0.8, AGREES),
        (("multi_gpu", "tensorflow_cnn10"), 1.0, DISAGREES),
    ],
)
def test_a_statement_of_an_outcome_disagrees_with_any_other_that_is_decided(name, ratio, expected):
    assert result(name, speedups(ratio)) == expected
    assert result(name, speedups(ratio, blocks=5)) == UNDECIDED
    assert result(name, speedups((0.5, 2, 0.5, 2, 0.5, 2))) == UNDECIDED
    assert result(name, []) == result(name, speedups(ratio, blocks=0)) == UNMEASURED


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((2.0,) * 6, AGREES),
        ((1.0,) * 6, DISAGREES),
        ((3.0,) * 6, DISAGREES),
        ((1.6, *[2.0] * 4, 2.1), UNDECIDED),
        ((1.2, *[2.0] * 4, 4.0), UNDECIDED),
        ((2.0,) * 5, UNDECIDED),
    ],
)
def test_a_share_lies_in_its_band_with_its_whole_interval(ratios, expected):
    """Of 45 to 60 % of the time: 1.67 to 2.22 times as fast."""
    assert result(("amp", "time_vgg16"), speedups(ratios)) == expected


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([2.0], AGREES),
        ([15.9, 1.1], AGREES),
        ([16.1], DISAGREES),
        ([16.1, 2.0], UNDECIDED),
        ([(16.1,) * 7, 2.0], DISAGREES),
        ([(16.1,) * 7, 2.0, 2.0, 2.0], UNDECIDED),
        ([(10.0, *[15.0] * 4, 17.0), 2.0], UNDECIDED),
        ([(2.0,)], UNDECIDED),
        ([(17.0,), 2.0], UNDECIDED),
        ([(3.0,), 2.0], AGREES),
    ],
)
def test_what_is_stated_of_every_model_holds_for_all_that_have_an_interval(ratios, expected):
    """No time falls to a sixteenth. An estimate alone decides nothing, but raises doubt.

    One of two that does refutes it by its 97.5 % interval, for which 6 blocks are too few.
    """
    assert result(("amp", "sixteenth"), speedups(*ratios)) == expected


@pytest.mark.parametrize(
    ("ratio", "devices", "expected"),
    [
        *((1.1, 2, AGREES), (0.9, 2, AGREES), (1.5, 2, UNDECIDED), (1.9, 2, DISAGREES)),
        *((21 / 18, 8, AGREES), (4.4, 8, AGREES), (4.6, 8, DISAGREES)),
    ],
)
def test_a_gain_is_little_below_half_of_the_ideal_one(ratio, devices, expected):
    assert result(("multi_gpu", "generator"), speedups(ratio), devices) == expected


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([0.1], AGREES),
        ([2.0], AGREES),
        ([-2.0], DISAGREES),
        ([0.1, -2.0], UNDECIDED),
        ([0.1, (-2.0,) * 7], DISAGREES),
        ([(-2.0, 0, 0, 0, 0, 2.0)], UNDECIDED),
        ([0.1, (0.1, 0.1)], UNDECIDED),
        ([0.0] * 29 + [-1.0], UNDECIDED),
    ],
)
def test_accuracy_holds_where_none_is_worse_beyond_chance_and_all_are_decided(points, expected):
    values = [p if isinstance(p, tuple) else (p,) * 6 for p in points]
    judgements = [judge_difference([90.0] * len(v), [90.0 + p for p in v]) for v in values]
    assert result(("amp", "accuracy"), judgements) == expected


NOISY = (0.5, 2.0, 0.5, 2.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("ratios", "some"),
    [
        ([2.0], AGREES),
        ([0.5, 2.0], UNDECIDED),
        ([0.5, (2.0,) * 7], AGREES),
        ([*[1.0] * 7, (2.0,) * 8], UNDECIDED),
        ([*[1.0] * 7, (2.0,) * 9], AGREES),
        ([1.0, 0.5], DISAGREES),
        ([NOISY, 1.0], UNDECIDED),
    ],
)
def test_some_and_none_are_opposites(ratios, some):
    """One of several decides by the interval that leaves all of them together 95 % sure."""
    none = {AGREES: DISAGREES, DISAGREES: AGREES}.get(some, some)
    assert result(("conv2d", "unoptimised"), speedups(*ratios)) == some
    assert result(("conv2d", "no_scaling"), speedups(*ratios)) == none
