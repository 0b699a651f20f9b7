"""Levers in the code to paste: each has its lines, below a comment that says what it does to the numbers."""

import ast
import os

import pytest

from program_text import YOURS, imported, trial_of, unknown_names
from trainspeed.core.levers import registry
from trainspeed.core.levers.lever import Level, Lever, LeverKind, Numbers
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import FRAMEWORKS, STRATEGIES
from trainspeed.snippets.code import program_of
from trainspeed.snippets.lever_lines import NUMBERS, LeverLines, comment_of

PULLED = [
    (framework, lever, value)
    for framework in FRAMEWORKS
    for lever in LEVERS.values()
    if not lever.of_field and framework in lever.frameworks
    for value in lever.values
]
# Elsewhere nothing is pinned anyway.
WHERE_IT_DIFFERS = {("transfer", "non_blocking"): {"pipeline": "threads"}}
FIELDS_AS_TEXT = {"on": True, "off": False}


def trial_with(framework, lever, value):
    """Return a trial with a lever and what that needs, and the one without the lever."""
    fields, levers = {"compile": framework == "jax", **WHERE_IT_DIFFERS.get((lever.name, value), {})}, []
    for other, values in lever.needs.items():
        if not LEVERS[other].of_field:
            levers.append((other, values[0]))
        elif other == "devices":
            fields |= {"strategy": STRATEGIES[framework][1]}
        else:
            fields[other] = FIELDS_AS_TEXT.get(values[0], values[0])
    plain = trial_of(framework, **fields, levers=tuple(levers))
    return plain.pulled(lever.name, value), plain


def name(case):
    framework, lever, value = case
    return f"{framework}-{lever.name}={value}"


@pytest.mark.parametrize("case", PULLED, ids=name)
def test_every_lever_has_lines_with_its_class(case):
    """A lever without an entry in `snippets/*_lines.py`, or without lines in a template, fails here."""
    _, lever, value = case
    trial, plain = trial_with(*case)
    program, without = program_of(trial), program_of(plain)

    lines = [line.strip() for line in program.splitlines()]
    assert comment_of(lever, value) in lines, program
    assert NUMBERS[lever.numbers] in comment_of(lever, value)
    rest = [line for line in lines if line != comment_of(lever, value)]
    assert rest != [line.strip() for line in without.splitlines()], program
    assert unknown_names(program) == set(), program
    assert all(word in program for word in YOURS)
    assert set(imported(program)) <= read(program), program
    assert max(map(len, program.splitlines())) <= 120, program
    assert "\n\n\n\n" not in program, program
    others = [program_of(plain.pulled(lever.name, other)) for other in lever.values if other != value]
    assert program not in others


FIELDS_SWITCHED = [
    (
        "torch",
        {"layout": "channels_last"},
        "layout: channels_last: same numbers but for the order of sums",
        "images = images.contiguous(",
    ),
    (
        "torch",
        {"layout": "channels_first"},
        "layout: channels_first: same numbers but for the order of sums",
        "model = make_model()",
    ),
    ("torch", {"compile": True}, "compiled: other rounding", "model = torch.compile("),
    ("torch", {"pipeline": "threads"}, "input pipeline: threads: other rounding", "def order()"),
    ("torch", {"strategy": "ddp"}, "strategy: ddp: other rounding", "# Without a GPU"),
    ("torch", {"batch_size": 64}, "batch size: 64: changes the training", "def order()"),
    (
        "tensorflow",
        {"layout": "channels_first"},
        "layout: channels_first: same numbers but for the order of sums",
        "keras.config.set_image",
    ),
    ("tensorflow", {"compile": True}, "compiled: other rounding", "model.compile("),
    ("tensorflow", {"pipeline": "tf_data"}, "input pipeline: tf_data: other rounding", "data = tf.data."),
    ("tensorflow", {"pipeline": "threads"}, "input pipeline: threads: other rounding", "class Batches("),
    ("tensorflow", {"strategy": "mirrored"}, "strategy: mirrored: other rounding", "# Without a GPU"),
    (
        "jax",
        {"pipeline": "in_model", "augment": True},
        "augmentation on the device: other rounding",
        "augment = [",
    ),
    (
        "jax",
        {"strategy": "data_parallel"},
        "strategy: data_parallel: same numbers but for the order of sums",
        "# Without a GPU",
    ),
]


@pytest.mark.parametrize(("framework", "fields", "said", "line"), FIELDS_SWITCHED)
def test_what_a_recipe_switched_of_a_trials_fields_has_its_class_too(framework, fields, said, line):
    """Beside levers that have theirs, a line without one would pass for one that changes nothing."""
    other = {"layout": "channels_last" if fields.get("layout") == "channels_first" else "channels_first"}
    plain = trial_of(framework, **(other if "layout" in fields else {}))
    trial = trial_of(framework, **fields)
    lines = [text.strip() for text in program_of(trial, plain).splitlines()]

    assert lines[lines.index(f"# {said}") + 1].startswith(line)
    lines.remove(f"# {said}")
    assert lines == [text.strip() for text in program_of(trial).splitlines()], (
        "one comment more, and nothing else"
    )
    assert program_of(trial, trial) == program_of(trial)


@pytest.mark.parametrize("scope", ["with_loss", "with_optimizer", "blocks"])
def test_what_is_compiled_in_part_says_once_that_it_is(scope):
    trial = trial_of(compile=True, levers=[f"compile_scope={scope}"])

    assert program_of(trial, trial_of()).count("# compiled: other rounding") == 1


def read(program):
    return {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}


def made_up(monkeypatch, **fields):
    lever = Lever(name="made_up", words="made-up lever", **fields)
    monkeypatch.setitem(registry.LEVERS, "made_up", lever)
    return trial_of().pulled("made_up", "on")


def test_a_lever_without_lines_is_an_error_and_no_empty_code(monkeypatch):
    trial = made_up(monkeypatch)

    with pytest.raises(LookupError, match="made_up=on has no lines for torch"):
        program_of(trial)


def test_a_variable_is_set_before_the_framework_is_imported(monkeypatch):
    trial = made_up(monkeypatch, level=Level.ENVIRONMENT, environment={"on": {"XLA_FLAGS": "--a"}})
    program = program_of(trial)

    assert 0 < program.index('os.environ["XLA_FLAGS"] = os.environ') < program.index("import torch")
    assert program.index("import os\n") < program.index("os.environ[")
    assert "# Set before torch is imported: later it does nothing.\n# made-up lever" in program


def test_flags_of_one_variable_add_up_and_keep_those_of_the_reader(monkeypatch):
    first = Lever(
        name="first", words="first", environment={"on": {"XLA_FLAGS": "--a", "LD_PRELOAD": "one.so"}}
    )
    second = Lever(
        name="second", words="second", environment={"on": {"XLA_FLAGS": "--b", "LD_PRELOAD": "two.so"}}
    )
    for lever in (first, second):
        monkeypatch.setitem(registry.LEVERS, lever.name, lever)
    lines = LeverLines(trial_of(levers=(("first", "on"), ("second", "on"))), {})

    monkeypatch.setenv("XLA_FLAGS", "--own")
    exec("\n".join(lines.variables), {"os": os})
    assert os.environ["XLA_FLAGS"] == "--own --a --b"
    assert lines.shell == "LD_PRELOAD='one.so two.so' "


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_read_as_a_program_is_loaded_stands_before_the_command(framework):
    """Within the program it would come too late, and do nothing without a word."""
    program = program_of(trial_with(framework, LEVERS["huge_pages"], "on")[0])

    assert "# Start it with: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 python train.py" in program
    assert 'os.environ["GLIBC_TUNABLES"]' not in program


def test_a_variable_is_taken_away_before_the_command_and_the_lines_say_how_a_script_gets_it():
    """Set to nothing, it would be 0 to malloc."""
    program = program_of(trial_of(levers=(("huge_pages", "on"), ("malloc_thresholds", "off"))))

    assert "env -u MALLOC_MMAP_THRESHOLD_ -u MALLOC_TRIM_THRESHOLD_ GLIBC_TUNABLES=glibc" in program
    assert "start that with\n# MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=67108864\n" in program


def test_with_ddp_it_stands_before_torchrun():
    trial = trial_of(strategy="ddp").pulled("huge_pages", "on")

    assert "# Start it with: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 torchrun --nproc" in program_of(trial)


@pytest.mark.parametrize(
    ("framework", "levers", "command"),
    [
        ("jax", ("threads=half", "allocator=jemalloc"), "taskset -c 0-$(($(nproc) / 2 - 1)) "),
        ("jax", ("threads=one", "huge_pages=on"), "taskset -c 0 "),
        ("torch", ("threads=all", "thread_placement=close"), "OMP_PROC_BIND=close OMP_PLACES=cores "),
    ],
)
def test_a_program_is_started_by_one_command(framework, levers, command):
    """Two would exclude each other."""
    program = program_of(trial_of(framework, levers=levers))

    assert program.count("python train.py") == 1
    (start,) = [line for line in program.splitlines() if line.endswith(f"{command}python train.py")]
    assert ("env -u OMP_NUM_THREADS -u MKL_NUM_THREADS " in start) is (framework == "torch")


@pytest.mark.parametrize(
    ("kind", "said"),
    [(LeverKind.BRAKE, "a brake: remove it"), (LeverKind.ALREADY_ON, "without this it is on")],
)
def test_a_lever_that_slows_down_says_so(kind, said):
    lever = Lever(name="sync", words="a wait in each step", kind=kind, numbers=Numbers.SAME)

    assert comment_of(lever, "on") == f"# a wait in each step: same numbers but for the order of sums; {said}"


def test_a_lever_that_the_plain_setting_has_too_needs_no_line():
    """One that needs it stays a whole program."""
    plain = trial_of(levers=["threads=all"])
    program = program_of(plain.pulled("thread_placement", "close"), plain)

    assert "OMP_PROC_BIND=close" in program and "all cores" not in program


def test_weights_in_16_bits_ask_for_logits_in_32_as_they_were_measured():
    assert 'dtype="float32"' in program_of(trial_of("tensorflow", levers=["pure_bf16=on"]))


def test_the_pasted_blocks_are_those_that_were_compiled():
    program = program_of(trial_of(compile=True, levers=["compile_scope=blocks"]))

    assert "def blocks_of(part)" in program and "blocks = blocks_of(model)" in program
    ast.parse(program)
