import pytest

from study_data import layout_pair, make_pair, make_run
from trainspeed.core import layer_table
from trainspeed.core.result import layouts_text
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, LAYOUTS
from trainspeed.studies.layout import findings
from trainspeed.studies.layout.findings import (
    FIRST,
    LAST,
    executed_layout_sentences,
    forgotten_sentence,
    framework_pairs,
    framework_verdicts,
    layers_by_model,
    layout_settings,
    layout_verdicts,
    missing_layout_sentences,
)


def ran(framework, first, last, **more):
    """Return runs of both arms and the layouts that their ten convolutions ran in."""
    first, last = ({name: 10} if isinstance(name, str) else name for name in (first, last))
    return [
        make_run(framework=framework, layout=FIRST, effective_layout=first, **more),
        make_run(framework=framework, layout=LAST, effective_layout=last, **more),
    ]


def one(sentences):
    (sentence,) = sentences
    return sentence


# What cannot be compared.


def test_a_framework_that_cannot_train_in_one_layout_here_says_why():
    lacks = {"status": Status.UNSUPPORTED, "reason": "it needs <oneDNN>"}
    runs = [
        make_run(framework="tensorflow", layout=FIRST, **lacks),
        make_run(framework="tensorflow", layout=LAST),
    ]

    assert one(missing_layout_sentences([*runs, *layout_pair([1.2])])) == (
        r"**TensorFlow** cannot train with channels_first here, so that there is nothing to compare: it needs "
        r"\<oneDNN\>."
    )


def test_a_layout_that_trained_once_can_be_had():
    failed = make_run(layout=FIRST, batch_size=64, status=Status.UNSUPPORTED, reason="too large")

    assert missing_layout_sentences([*layout_pair([1.2]), failed]) == []
    assert missing_layout_sentences([failed]) == []


# What really ran.


def test_a_framework_that_ran_as_asked_has_one_short_sentence():
    assert one(executed_layout_sentences(ran("torch", FIRST, LAST))) == (
        "PyTorch: the convolutions ran in the layout that was asked for, in both arms."
    )


def test_frameworks_that_ran_as_asked_share_the_sentence():
    assert one(executed_layout_sentences([*ran("torch", FIRST, LAST), *ran("tensorflow", FIRST, LAST)])) == (
        "TensorFlow and PyTorch: the convolutions ran in the layout that was asked for, in both arms."
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_framework_that_ran_one_layout_for_both_compares_transposes(layout):
    sentence = one(executed_layout_sentences(ran("tensorflow", layout, layout)))
    assert sentence.startswith(
        f"TensorFlow: both arms ran their convolutions as {layout}, whatever was asked"
    )
    assert "the price of transposing" in sentence


def test_an_arm_that_ran_both_layouts_names_both():
    mixed = {FIRST: 2, LAST: 8}
    assert one(executed_layout_sentences(ran("jax", mixed, LAST))) == (
        f"JAX (compiled): channels_first ran as {layouts_text(mixed)}, channels_last ran as channels_last."
    )


def test_arms_that_each_ran_both_layouts_do_not_compare_transposes():
    """One model ran as asked, another the other way round, so each arm ran both layouts."""
    runs = ran("torch", FIRST, LAST) + ran("torch", LAST, FIRST, model="wrn28_2")
    assert one(executed_layout_sentences(runs)) == (
        "PyTorch: channels_first ran as channels_first or channels_last, "
        "channels_last ran as channels_first or channels_last."
    )


def test_swapped_layouts_are_not_what_was_asked_for():
    assert "channels_first ran as channels_last" in one(executed_layout_sentences(ran("torch", LAST, FIRST)))


def test_the_layout_of_an_arm_that_was_not_looked_at_is_not_found_out():
    assert one(executed_layout_sentences(ran("torch", None, LAST))) == (
        "PyTorch: channels_first ran as not found out, channels_last ran as channels_last."
    )
    assert executed_layout_sentences(ran("torch", None, None)) == []


def test_compiled_and_not_compiled_have_a_sentence_each():
    runs = ran("torch", FIRST, LAST) + ran("torch", LAST, LAST, compile=True)
    first, second = executed_layout_sentences(runs)
    assert first.startswith("PyTorch: the convolutions ran in the layout that was asked for")
    assert second.startswith("PyTorch (compiled): both arms ran")


# The layers.


def table(layout, *, forgot=False, length=2):
    rows = [
        layer_table.row(
            layer=f"conv{n}",
            type="Conv2D",
            output_shape=(8, 8, 64),
            data_format=layout,
            bn_axis=None,
            layout=layout,
        )
        for n in range(length)
    ]
    return (*rows[:-1], {**rows[-1], "layer": "global_average_pooling2d", "forgot": forgot})


def test_a_forgotten_layer_is_named_with_where_it_was():
    runs = [make_run(framework="tensorflow", layers=table(FIRST, forgot=True)), make_run(layers=table(FIRST))]
    assert forgotten_sentence(runs) == (
        "These layers forgot the layout: global_average_pooling2d (TensorFlow, cnn10, channels_first)."
    )


def test_where_no_layer_forgot_it_the_models_looked_at_are_counted():
    runs = [make_run(layout=layout, layers=table(layout)) for layout in LAYOUTS]
    runs += [make_run(block=1), make_run(layers=table(FIRST), batch_size=64)]
    assert forgotten_sentence(runs).startswith("No layer forgot the layout, in 2 models looked at")


def test_without_a_layer_table_nothing_is_claimed():
    assert forgotten_sentence([make_run()]) == "No layer table was recorded."


def test_layer_tables_are_grouped_by_framework_and_model():
    runs = [
        make_run(framework=framework, layout=layout, model=model, layers=table(layout, length=length))
        for framework, length in (("torch", 3), ("tensorflow", 4))
        for layout in LAYOUTS
        for model in ("cnn10", "wrn28_2")
    ]
    tables = layers_by_model([*runs, make_run(block=1)])
    assert set(tables) == {
        f"{name}, {model}" for name in ("PyTorch", "TensorFlow") for model in ("cnn10", "wrn28_2")
    }
    assert {layout: len(rows) for layout, rows in tables["TensorFlow, cnn10"].items()} == dict.fromkeys(
        LAYOUTS, 4
    )
    assert layers_by_model([]) == {}


# The verdicts.


def test_channels_last_is_judged_over_channels_first():
    (verdict,) = layout_verdicts(layout_pair([1.3] * 6))
    assert (verdict.baseline.layout, verdict.candidate.layout) == (FIRST, LAST)
    assert verdict.question == findings.LAYOUT_QUESTION


def test_torch_is_the_baseline_wherever_it_ran():
    runs = [make_run(framework=framework) for framework in FRAMEWORKS]
    assert framework_pairs(runs) == [("torch", "tensorflow"), ("torch", "jax"), ("tensorflow", "jax")]
    failed = [make_run(framework="torch", status=Status.UNSUPPORTED), *runs[::2]]
    assert framework_pairs(failed) == [("tensorflow", "jax")]
    assert framework_pairs(runs[:1]) == framework_pairs([]) == []


def test_frameworks_are_judged_layout_by_layout():
    runs = [
        run
        for layout in LAYOUTS
        for run in make_pair("framework", ("torch", "tensorflow"), [1.2] * 6, layout=layout)
    ]
    assert [v.baseline.layout for v in framework_verdicts(runs)] == list(LAYOUTS)


# What to paste.


def settings_of(*pairs):
    return layout_settings(layout_verdicts([run for pair in pairs for run in pair]))


def test_a_decided_layout_comes_with_its_gain_and_the_code_to_switch_it_on():
    text = one(settings_of(layout_pair([1.25] * 6)))
    assert text.startswith("**PyTorch**, channels_last (PyTorch, cnn10, batch 32: 1.25x)\n\n```python\n")
    assert "model = model.to(memory_format=torch.channels_last)\n" in text
    assert text.endswith("\n```")


def test_where_channels_first_won_the_gain_is_its_own():
    text = one(settings_of(layout_pair([0.8] * 6, framework="tensorflow")))
    assert text.startswith("**TensorFlow**, channels_first (TensorFlow, cnn10, batch 32: 1.25x)")
    assert 'keras.config.set_image_data_format("channels_first")' in text


@pytest.mark.parametrize(
    ("framework", "ratio", "layout"),
    [("tensorflow", 1.25, "channels_last"), ("jax", 1.25, "channels_last"), ("torch", 0.8, "channels_first")],
)
def test_a_layout_that_a_framework_has_by_itself_is_nothing_to_paste(framework, ratio, layout):
    text = one(settings_of(layout_pair([ratio] * 6, framework=framework)))
    assert f": {layout} is faster (" in text and "1.25x), and what it has by itself: leave it so." in text
    assert "```" not in text


@pytest.mark.parametrize("ratios", [[1.0] * 6, [0.9, 1.5, 1.5, 1.5, 1.5, 1.5]])
def test_what_was_not_decided_is_no_setting(ratios):
    text = one(settings_of(layout_pair(ratios)))
    assert text.startswith(
        "**PyTorch**: no layout was decided to be faster by itself (PyTorch, cnn10, batch 32: 1."
    )
    assert text.endswith("x); keep what you have there.")


def test_a_first_look_is_no_size_that_advice_rests_on():
    few, sure = layout_pair([1.5] * 5, batch_size=8), layout_pair([1.0] * 6)
    nothing, kept = "**PyTorch**: no layout was decided to be faster by itself", "; keep what you have there."
    assert one(settings_of(few)) == f"{nothing}: measure 6 blocks or more{kept}"
    assert one(settings_of(sure, few)) == f"{nothing} (PyTorch, cnn10, batch 32: 1.00x){kept}"


def test_a_layout_may_win_at_one_batch_size_and_lose_at_another():
    first, second = settings_of(layout_pair([1.25] * 6, batch_size=8), layout_pair([0.8] * 6, batch_size=64))
    assert first.startswith("**PyTorch**, channels_last (PyTorch, cnn10, batch 8: 1.25x)")
    assert second.startswith(
        "**PyTorch**: channels_first is faster (PyTorch, cnn10, batch 64: 1.25x), and what it has"
    )


def test_a_framework_that_was_not_measured_has_no_settings():
    assert layout_settings([]) == []


def test_the_chart_of_frameworks_says_which_models_it_shows_in_how_many_blocks():
    cnn10 = make_pair("framework", ("torch", "tensorflow"), (2.0, 2.0))
    other = make_pair("framework", ("torch", "tensorflow"), (2.0,), model="wrn28_1")
    said = findings.how_to_read_frameworks(findings.framework_ratios([*cnn10, *other]))

    assert said.endswith("Shown: cnn10 (2 blocks) and wrn28\\_1 (1 block).")
