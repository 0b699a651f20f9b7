"""Which of this machine's precisions is the articles' plain one, by runs that say what their 32 bits were."""

from dataclasses import replace

import pytest

from amp_data import accuracies, speedups
from scaling_data import make_verdict
from study_data import make_pair
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import check_claim, precisions_of_32_bits
from trainspeed.articles.ratios import precision_shares
from trainspeed.judge.comparison import compare

SCALING, AMP = ({c.id: c for c in claims(study)} for study in ("multi_gpu", "amp"))
AGREES, _, _, UNMEASURED = Result


def of_default(tf32, device="gpu", **more):
    """Return runs that make fp16 2 times as fast as the default precision."""
    setting = {"framework": "tensorflow", "model": "vgg16", "image_size": 32, "tf32": tf32, **more}
    runs = make_pair("precision", ("default", "fp16"), [2.0] * 6, **setting)
    return [replace(run, machine={**run.machine, "device": device}) for run in runs]


@pytest.mark.parametrize(
    ("tf32", "expected"), [((), AGREES), (("convolutions",), UNMEASURED), (None, UNMEASURED)]
)
def test_the_default_precision_is_fp32_only_where_runs_say_that_they_used_no_tf32(tf32, expected):
    runs = of_default(tf32)
    verdicts = compare(runs, "precision", "default", "fp16", question="")

    assert check_claim(AMP["time_vgg16"], verdicts, runs).result == expected
    assert len(precision_shares(verdicts, precisions_of_32_bits(runs))) == (expected == AGREES)


def test_what_is_about_matrix_units_of_gpus_is_not_measured_on_a_cpu():
    """That 16 bits keep the accuracy is about numbers, which a CPU has as well."""
    on_cpu = of_default((), device="cpu")
    found = check_claim(AMP["sixteenth"], speedups([2.0] * 6), on_cpu)
    assert (found.result, found.note) == (UNMEASURED, "This is about GPUs, and none was used here.")
    assert check_claim(AMP["sixteenth"], speedups([2.0] * 6), of_default(())).result == AGREES
    assert check_claim(AMP["accuracy"], accuracies([0.1] * 6), on_cpu).result == AGREES


def test_a_share_of_strict_fp32_is_that_also_where_the_default_precision_is_tf32():
    found = check_claim(AMP["time_vgg16"], speedups([2.0] * 6), of_default(("convolutions",)))
    assert found.result == AGREES


def test_devices_are_compared_in_the_default_precision_and_in_fp32_where_that_was_measured_as_often():
    """The articles left their framework's switches alone."""
    plain = make_verdict(1.5, framework="torch")
    strict = make_verdict(1.5, framework="torch", precision="fp32")

    assert check_claim(SCALING["torch_cnn10"], [plain]).result == AGREES
    assert check_claim(SCALING["torch_cnn10"], [plain, strict]).evidence[0].verdict == strict
