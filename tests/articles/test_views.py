"""The articles' statements and numbers as tables, by their cells; the reasons in words."""

import pytest

from amp_data import accuracies, shares, speedups
from scaling_data import make_verdict
from trainspeed.articles import ratios, views
from trainspeed.articles.charts import FAIRNESS_NOTE
from trainspeed.articles.claims import ClaimAnswer, Evidence, Result, claims, decide
from trainspeed.articles.evidence import check_claim
from trainspeed.articles.text import reason
from trainspeed.judge.verdict import judge

STUDIES = ("layout", "multi_gpu", "amp", "conv2d")
CLAIMS = {(study, claim.id): claim for study in STUDIES for claim in claims(study)}


def times(*ratios, blocks=6):
    return [Evidence(name="a vs b", judgement=judge([r] * blocks, [1.0] * blocks)) for r in ratios]


# In words.


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            decide(CLAIMS["layout", "layout_cnn10"], times(1.25)),
            "Here a vs b: 1.25x (95 % interval 1.25 to 1.25): faster.",
        ),
        (
            decide(CLAIMS["amp", "time_vgg16"], times(2.0)),
            "Here a vs b: 50.0 % of FP32's time (95 % interval 50.0 to 50.0 %); claimed: 45 to 60 %.",
        ),
        (
            decide(CLAIMS["amp", "sixteenth"], times(2.0, blocks=1)),
            "Here a vs b: 50.0 % of FP32's time, no interval: measure 6 blocks or more; claimed: more than 6.25 %.",
        ),
        (
            decide(CLAIMS["conv2d", "few_gpus_slow"], times(4.0)),
            "Here a vs b: 4.00x (95 % interval 4.00 to 4.00); claimed: more than 2x.",
        ),
        (
            decide(CLAIMS["conv2d", "unoptimised"], times(2.0, 0.5, 1.0, 0.5)),
            "Here, of 4 comparisons (1 faster, 2 slower, 1 same), a vs b: 2.00x (95 % interval 2.00 to 2.00): faster; "
            "a vs b: 0.50x (95 % interval 0.50 to 0.50): slower; "
            "a vs b: 1.00x (95 % interval 1.00 to 1.00): the same within the margin. "
            "Of 4 comparisons, one alone decides only by its 98.8 % interval, which takes 8 blocks or more.",
        ),
        (
            check_claim(CLAIMS["amp", "accuracy"], accuracies([-2.0] * 6)),
            "Here fp16 vs fp32, PyTorch, vgg16, channels_first, batch 32: -2.0 points in test accuracy "
            "(95 % interval -2.0 to -2.0): worse.",
        ),
        (
            ClaimAnswer(claim=CLAIMS["layout", "memory"], result=Result.UNDECIDED, note="Of two sizes."),
            "Of two sizes.",
        ),
    ],
)
def test_a_reason_has_what_was_compared_its_size_and_what_was_claimed(answer, expected):
    assert reason(answer) == expected


def test_a_little_gain_is_told_in_terms_of_what_ran():
    verdict = make_verdict(1.1, values=(1, 8), framework="tensorflow", model="cnn_keras", pipeline="threads")
    answer = decide(
        CLAIMS["multi_gpu", "generator"], [Evidence(name="", judgement=verdict.judgement, verdict=verdict)]
    )
    assert reason(answer).endswith("; claimed: less than 4.5x.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (("layout", "layout_wrn"), "channels_first with channels_last, TensorFlow, wrn28_10."),
        (("multi_gpu", "torch_cnn10"), "more devices with one, PyTorch, cnn10, channels_first, arrays."),
        (
            ("multi_gpu", "framework_cnn10"),
            "PyTorch with TensorFlow, cnn10, channels_first, arrays, several devices.",
        ),
        (("amp", "accuracy"), "fp16 with fp32."),
    ],
)
def test_what_was_not_compared_is_named(name, expected):
    answer = check_claim(CLAIMS[name], [])
    assert answer.result == Result.UNMEASURED
    assert reason(answer) == f"Not compared here as in the article: {expected}"


def test_one_worse_of_very_many_may_be_chance():
    many = [v for size in range(1, 30) for v in accuracies([0.0] * 6, batch_size=size)]
    answer = check_claim(CLAIMS["amp", "accuracy"], [*many, *accuracies([-1.0] * 6, batch_size=64)])
    assert answer.result == Result.UNDECIDED
    assert reason(answer).startswith("Here, of 30 comparisons (1 worse, 29 same), fp16 vs fp32")
    assert reason(answer).endswith(
        "Of 30 comparisons, one alone decides only by its 99.8 % interval, which takes 11 blocks or more."
    )


# Tables.


@pytest.mark.parametrize("study", STUDIES)
def test_one_table_shows_the_statements_of_every_article(study):
    answers = [decide(claim, [], f"It was not, {n}.") for n, claim in enumerate(claims(study))]
    styler = views.claims_table(answers)
    table = styler.data
    assert {"found there", "why"} <= set(table) <= {"article", "found there", "why"}
    assert table["found there"].tolist() == [f"{a.claim.claim} ({a.claim.size})" for a in answers]
    assert "this machine: not measured here" in styler.caption
    assert table["why"].tolist() == [f"It was not, {n}." for n in range(len(answers))]


def test_a_statement_without_a_year_shows_none():
    table = views.claims_table([decide(CLAIMS["multi_gpu", "generator"], [])]).data
    assert table["article"].tolist() == ["002, 8 GPUs of a p2.8xlarge"]
    assert views.claims_table([]).data.empty


def test_each_experiment_is_named():
    table = views.experiments_table(claims("conv2d")).data
    assert len(table) == 9 and table["tested here by"].str.contains("transfer alone").sum() == 1


def test_the_tables_say_that_only_ratios_compare():
    devices = views.second_device_table(ratios.second_device([make_verdict(1.25)]))
    fed = views.pipelines_table(ratios.input_pipelines([]))
    assert FAIRNESS_NOTE in devices.caption and FAIRNESS_NOTE in fed.caption
    ours = devices.data[devices.data["where"] == "this machine, ddp"].to_dict("records")
    assert [(row["speed-up"], row["95 % interval"], row["runs"]) for row in ours] == [
        ("1.25x", "1.25 to 1.25", 6)
    ]
    assert (
        devices.data["speed-up"].tolist()[1] == "1.17x" and devices.data["95 % interval"].tolist()[1] == "—"
    )
    last = fed.data.iloc[-1]
    assert (last["as far as rounding tells"], last["points"], last["accuracy"]) == (
        "0.30 to 0.37",
        "-0.39",
        "0.7966",
    )


def test_shares_have_a_dash_where_there_are_too_few_blocks():
    table = views.shares_table(shares()).data
    assert table["share of FP32's time"].tolist() == ["50.0 %", "80.0 %", "100.0 %", "25.0 %"]
    assert table["95 % interval"].tolist() == ["40.0 to 62.5 %", "—", "100.0 to 100.0 %", "—"]
    assert "timed" not in table and views.shares_table(shares()[:0]).data.empty
    both = [*speedups([2.0] * 6), *speedups([2.0], part="fit")]
    timed = views.shares_table(ratios.precision_shares(both)).data["timed"]
    assert sorted(timed) == ["training alone", "with validation"]


def test_the_table_of_matrix_units_names_the_articles_slips():
    table = views.matrix_units_table()
    assert "“Tuning” for Turing, “BP16” for BF16" in table.caption
    bf16 = table.data.set_index("generation")["bf16"].to_dict()
    assert bf16 == {"Volta": "—", "Turing": "—", "Ampere": "yes"}
    assert table.data["fp16"].tolist() == ["yes"] * 3


def test_accuracies_are_shown_with_the_decimals_that_are_printed():
    table = views.accuracies_table().data
    assert table["FP32"].tolist()[1::4] == ["65.40 %", "69.1 %"]
    assert table["points"].tolist()[3:6] == ["-0.01", "+2.14", "+0.6"]


def test_prices_are_shown_with_what_a_dollar_buys():
    table = views.prices_table()
    assert table.data["mixed TFLOPS per USD/h"].tolist() == ["21.3", "65.4"]
    assert table.data["mixed / FP32"].tolist() == ["16.0x", "8.0x"]
    assert "Tokyo, 2022-02-28 (article 003)" in table.caption


def test_the_table_of_convolutions_has_a_row_per_number_of_devices_and_both_ratios():
    table = views.convolutions_table()
    assert table.data["devices"].tolist() == list(range(1, 9))
    last = table.data.iloc[-1].to_dict()
    assert (last["V100, ms"], last["V100 / its 1 device"], last["CPU / K80"]) == ("722", "0.048", "0.343")
    assert "scipy on a CPU (222 ± 4 ms, warm)" in table.caption
