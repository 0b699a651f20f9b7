"""What the default precision was, told from runs of made-up GPUs."""

from study_data import make_run
from trainspeed.judge.arithmetic import default_sentences

CONVOLUTIONS, BOTH = ("convolutions",), ("convolutions", "matrix products")


def test_each_framework_says_where_it_allows_tf32():
    runs = [make_run(framework=name, tf32=BOTH) for name in ("tensorflow", "jax")]
    runs += [make_run(framework="torch", tf32=CONVOLUTIONS, block=block) for block in range(2)]

    assert default_sentences(runs) == [
        "Default precision: TensorFlow and JAX trained in 32 bits, with TF32 allowed.",
        "Default precision: PyTorch trained in 32 bits, with TF32 allowed in convolutions.",
    ]


def test_where_there_is_no_tf32_the_default_precision_is_strict():
    assert default_sentences([make_run(tf32=())]) == [
        "Default precision: PyTorch trained in 32 bits, with no TF32, as in strict fp32."
    ]


def test_runs_in_other_precisions_and_ceilings_tell_nothing_of_it():
    runs = [make_run(precision="fp32", tf32=()), make_run(precision="bf16", tf32=CONVOLUTIONS), make_run()]
    assert default_sentences([*runs, make_run(part="copy", tf32=())]) == []
