"""The code to paste: every combination is a whole program."""

import ast
import itertools
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters.markdown import markdown2html_mistune

from program_text import YOURS, imported, trial_of, unknown_names
from trainspeed.core.convolution import LIBRARIES
from trainspeed.core.errors import UserError
from trainspeed.core.trial import (
    ACROSS_NODES,
    FRAMEWORKS,
    LAYOUTS,
    PIPELINES,
    PRECISIONS,
    STRATEGIES,
)
from trainspeed.report.anchors import name_headings
from trainspeed.search.switch import DEFAULT_LAYOUT
from trainspeed.snippets import code
from trainspeed.snippets.code import program_anchor, program_blocks, program_of

DEPRECATED = ("allow_tf32", "cuda.amp", "set_global_policy", "multi_gpu_model", "experimental.set_policy")


def every_trial():
    """Yield every combination that is a trial."""
    for framework in FRAMEWORKS:
        for layout, precision, compiled, strategy, pipeline, augment in itertools.product(
            LAYOUTS, PRECISIONS, (False, True), STRATEGIES[framework], PIPELINES, (False, True)
        ):
            fields = {"layout": layout, "precision": precision, "compile": compiled, "strategy": strategy}
            try:
                yield trial_of(framework, **fields, pipeline=pipeline, augment=augment)
            except UserError:
                continue


ALL = list(every_trial())


def test_a_name_that_nothing_makes_is_found():
    assert unknown_names("import os\nx = steps + os.sep") == {"steps"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_combination_is_a_whole_program(framework):
    """It needs nothing but what its first comment asks the reader for, and uses all its imports."""
    mine = [trial for trial in ALL if trial.framework == framework]
    assert len(mine) > 150
    for trial in mine:
        program = program_of(trial)
        assert unknown_names(program) == set(), program
        assert all(name in program for name in YOURS), program
        assert not any(word in program for word in DEPRECATED), program
        assert max(map(len, program.splitlines())) <= 110, program
        assert "\n\n\n\n" not in program and not program.endswith("\n"), program


def test_nothing_is_imported_in_vain():
    for trial in ALL:
        program = program_of(trial)
        used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
        assert set(imported(program)) <= used, program


def test_different_trials_have_different_programs():
    """The program shows everything that a recipe may switch and that makes a difference there."""
    programs = {}
    for trial in ALL:
        programs.setdefault(program_of(trial), []).append(trial)
    for trials in programs.values():
        pipelines = {(t.pipeline, t.augment) for t in trials}
        plain = {("arrays", False), ("in_model", False), ("generator", False)}
        assert len(trials) == 1 or pipelines <= plain, trials


# What a program must say.


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_logits_are_trained_as_logits(framework):
    assert "SparseCategoricalCrossentropy(from_logits=True)" in program_of(trial_of(framework))


@pytest.mark.parametrize(
    ("precision", "torch", "tensorflow", "jax"),
    [
        ("fp32", 'fp32_precision = "ieee"', "tensor_float_32_execution(False)", '"highest"'),
        ("tf32", 'fp32_precision = "tf32"', "tensor_float_32_execution(True)", '_precision", "default")'),
        ("bf16", "torch.bfloat16", '"mixed_bfloat16"', '"mixed_bfloat16"'),
        ("fp16", "torch.float16", '"mixed_float16"', '"mixed_float16"'),
    ],
)
def test_each_precision_is_set_as_it_is_measured(precision, torch, tensorflow, jax):
    for framework, line in (("torch", torch), ("tensorflow", tensorflow), ("jax", jax)):
        assert line in program_of(trial_of(framework, precision=precision))


def test_only_fp16_scales_its_loss():
    scaled = [
        precision for precision in PRECISIONS if "GradScaler" in program_of(trial_of(precision=precision))
    ]
    assert scaled == ["fp16"]


def test_each_rank_of_ddp_has_a_share_of_its_own():
    """Without it, all ranks would train on the same images."""
    for pipeline in ("arrays", "threads", "processes"):
        program = program_of(trial_of(strategy="ddp", pipeline=pipeline))
        assert "return [chosen.chunk(ranks)[rank] for chosen in batches if" in program
        assert "torch.randperm(len(images), generator=shuffled)" in program
        assert "torchrun --nproc-per-node 2" in program


def test_mirrored_names_devices_that_are_there():
    """GPU:0 is no device of a machine without one."""
    program = program_of(trial_of("tensorflow", strategy="mirrored"))
    assert 'kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"' in program
    assert '["GPU:0"' not in program


def test_keras_is_told_its_backend_before_it_is_imported():
    for framework in ("tensorflow", "jax"):
        program = program_of(trial_of(framework))
        assert program.index(f'"KERAS_BACKEND"] = "{framework}"') < program.index("import keras")


def test_what_is_shown_is_markdown_with_the_framework_and_the_model():
    (shown,) = program_blocks([[trial_of("jax"), trial_of("jax", compile=True)]])
    head, fence = shown.split("\n\n", 1)
    assert head == "### Keras on JAX (cnn10)"
    assert fence.startswith("```python\nimport os") and fence.endswith("\n```")
    assert program_blocks([]) == []


@pytest.mark.parametrize(
    "model", ["cnn10", "wrn28_10", "my_nets/a*net*.py:build_it", "timm/resnet18.a1_in1k"]
)
def test_a_page_gives_each_program_the_anchor_that_links_lead_to(model):
    """Else the lines of two frameworks would have one link."""
    trials = [trial_of(framework, model=model) for framework in ("torch", "tensorflow")]
    shown = "\n\n".join(program_blocks([[trial, trial] for trial in trials]))
    soup = BeautifulSoup(markdown2html_mistune(shown), "html.parser")
    name_headings(soup)

    assert [heading["id"] for heading in soup.find_all("h3")] == [program_anchor(trial) for trial in trials]


def test_a_comment_says_what_was_confirmed_only_together_with_the_others():
    plain = trial_of(layout="channels_first")
    best = replace(plain, layout="channels_last", precision="bf16").pulled("optimizer", "fused")
    (program,) = program_blocks([[plain, best]], {best: {"precision"}})
    comments = [line.strip() for line in program.splitlines() if "#" in line and ": " in line]
    together = [line for line in comments if line.endswith("; confirmed as a set")]

    assert [line.split(":")[0] for line in together] == ["# layout", "# fused optimizer"]
    assert "only together" not in program_blocks([[plain, best]])[0]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_program_says_that_one_core_was_measured_where_it_will_take_all(framework):
    """A script's cores change what pays; of a GPU, of several devices and of set threads there is nothing to say."""
    one, several = trial_of(framework), trial_of(framework, strategy=STRATEGIES[framework][1])
    threads = [one.pulled("threads", value) for value in ("all", "one")]
    said = "# Measured with one thread, on one core;"

    assert said in program_of(one, one, on_cores=True)
    assert said not in program_of(one, one)
    assert not any(said in program_of(trial, one, on_cores=True) for trial in (several, *threads))


def test_the_comments_are_promised_only_where_something_was_switched():
    plain = trial_of()
    fused = plain.pulled("optimizer", "fused")
    for switched in (fused, trial_of(compile=True)):
        assert code.introduction([[plain, switched]]).endswith(
            "; a comment says what each switch does to the numbers."
        )
    assert code.introduction([[plain, plain]]) == "A program with what the headline names."
    assert code.introduction([[fused, fused]]) == code.introduction([]), "a plain script has it too"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_size_that_was_measured_is_not_passed_off_as_the_reader_s(framework):
    """Else what is pasted would shrink the images without a word."""
    for more in ({}, {"levers": (("uint8", "on"),)}):
        lines = program_of(trial_of(framework, pipeline="resize", **more)).splitlines()
        (at,) = [n for n, line in enumerate(lines) if "size that was measured: put yours" in line]
        resizing = [
            n for n, line in enumerate(lines) if "interpolate(x" in line or "layers.Resizing(" in line
        ]
        assert resizing and at < resizing[0] < at + 5
    assert "size that was measured" not in program_of(trial_of(framework))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_smaller_batch_is_said_to_be_compiled_only_where_something_is(framework):
    compiled, plain = (program_of(trial_of(framework, compile=compile_it)) for compile_it in (True, False))
    assert "compiled anew" in compiled
    assert ("compiled anew" in plain) is (framework == "jax")
    assert ("without a last, smaller batch" in plain) is (framework != "jax")


# The lines that switch one setting on.

SETTINGS = [
    *(
        ("layout", {"framework": f, "layout": x})
        for f in FRAMEWORKS
        for x in LAYOUTS
        if x != DEFAULT_LAYOUT[f]
    ),
    *(("strategy", {"trial": trial_of(f, strategy=s)}) for f in FRAMEWORKS for s in STRATEGIES[f][1:]),
    *(("precision", {"framework": f, "precision": p}) for f in FRAMEWORKS for p in PRECISIONS[1:]),
    *(
        ("convolution", {"library": name, "mode": mode, "on_gpu": on_gpu})
        for name, modes in LIBRARIES.items()
        for mode in modes
        for on_gpu in (False, True)
    ),
]


@pytest.mark.parametrize(("setting", "values"), SETTINGS)
def test_every_setting_has_lines_that_are_python(setting, values):
    lines = code.lines(setting, **values)
    assert ast.parse(lines).body
    if setting == "convolution":
        assert unknown_names(lines) <= {"images", "kernel", "filters", "k"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_lines_of_a_strategy_import_what_they_use(framework):
    readers = {"model", "data", "batch_size", "epochs", "make_model", "NODE"}
    arms = [(strategy, 1) for strategy in STRATEGIES[framework][1:]]
    arms += [(strategy, 2) for strategy in ACROSS_NODES[framework]]
    for strategy, nodes in arms:
        lines = code.lines("strategy", trial=trial_of(framework, strategy=strategy, nodes=nodes))
        assert unknown_names(lines) <= readers, lines


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_the_lines_of_channels_first_turn_the_images_too(framework):
    """Else a model for (channels, height, width) would take the width for channels."""
    assert "images.transpose(0, 3, 1, 2)" in code.lines(
        "layout", framework=framework, layout="channels_first"
    )


@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_of_ddp_share_the_images(nodes):
    """Else each would train on all of them, and an epoch take as long as on one device."""
    lines = code.lines("strategy", trial=trial_of(strategy="ddp", nodes=nodes))
    assert "DistributedSampler" in lines and "batch_size // ranks" in lines


def test_what_a_template_does_not_know_is_no_empty_code():
    with pytest.raises(LookupError, match="has no lines for library=cudnn, mode=eager"):
        code.lines("convolution", library="cudnn", mode="eager", on_gpu=True)


def test_what_is_on_a_gpu_is_gathered_by_indices_that_are_there():
    """Else each step would copy its own to it, and wait."""
    assert "torch.randperm(len(images)).to(images.device).split(16)" in program_of(trial_of())
    assert ".to(images.device)" not in program_of(trial_of(pipeline="generator"))


def test_a_program_does_not_say_of_a_cpu_that_it_was_a_gpu():
    assert "# On a GPU: measured with the images in its memory;" in program_of(trial_of("jax"))


def test_spawned_processes_are_said_to_need_a_main_function():
    program = program_of(trial_of(pipeline="processes", levers=["loader_context=spawn"]))
    assert 'in a main function,\n# called at the end if __name__ == "__main__".\n' in program


@pytest.mark.parametrize("scope", ["with_loss", "with_optimizer", None])
def test_a_model_that_is_compiled_below_ddp_is_in_a_function_of_the_readers_file(scope):
    """Dynamo skips one that is in a file of torch's, so that nothing of a bare Sequential would be compiled."""
    levers = [f"compile_scope={scope}"] if scope else []
    program = program_of(trial_of(strategy="ddp", compile=True, levers=levers))
    assert "class Whole(torch.nn.Module):" in program and "DistributedDataParallel(Whole(model)," in program
    for other in ({"strategy": "ddp"}, {"compile": True}):
        assert "Whole" not in program_of(trial_of(**other))
