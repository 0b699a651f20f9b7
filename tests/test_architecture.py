"""The layers of the house: a module imports only from its own layer and from those before it."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import trainspeed

PACKAGE = Path(trainspeed.__file__).parent

# In the order of design.md. A new module is entered here: the test says so.
LAYERS = {
    # No framework, no GPU, no plotting.
    "values": """
        conv2d_trial errors files frame ledger own_model run trial
    """,
    # Pure functions on runs and numbers.
    "judgement": """
        amp_study amp_why compare compare_costs compare_facts compare_sides compare_trials comparison
        confirmation conv2d_advice conv2d_estimates conv2d_frames conv2d_guesses conv2d_study conv2d_sweeps
        conv2d_verdicts cost crossover doubts forecast layers layout_study naming pipeline_study published
        published_amp published_beside published_conv2d published_scaling published_verdicts recipe_code
        recipe_code_torch recipe_search recipe_switches recipe_words roofline scaling_costs scaling_study
        schedule verdict wording
    """,
    # NVML, the host, the machine, the monitor, processes.
    "sensing": """
        cores detect gpu_ids gpu_strangers host monitor monitor_frame monitor_table nvml process_memory
        processes
    """,
    # What runs inside a worker's child.
    "work": """
        augmentation backends backends.base backends.jax_backend backends.keras_inspect
        backends.keras_training backends.scipy_backend backends.tensorflow_backend backends.torch_backend
        backends.torch_ceilings backends.torch_inspect backends.torch_ranks backends.torch_training child
        conv2d conv2d.calls conv2d.cpu_libraries conv2d.jax_convolution conv2d.reference
        conv2d.tensorflow_convolution conv2d.torch_convolution datasets folds hlo models models.keras_models
        models.keras_own models.keras_zoo models.torch_models models.torch_own models.torch_zoo own_code
        own_data pipelines pipelines.batches pipelines.keras_pipelines pipelines.tensorflow_data
        pipelines.torch_pipelines pipelines.workers precision recipes timing
    """,
    # From a notebook's question to runs in the ledger.
    "conduct": """
        environments interpreters monitoring own_parameters parameters progress runner scrub session
        sessions study worker worker_process
    """,
    # Tables, charts, notebooks, reports, the command line.
    "showing": """
        __main__ axes cells compare_report execute explore export front_page front_words interruption kernel
        lines notebook notebooks_run output_folder plots plots_amp plots_batch plots_compare plots_conv2d
        plots_conv2d_sweeps plots_costs plots_devices plots_monitor plots_pipelines plots_recipe
        plots_roofline plots_rows plots_scaling published_amp_views published_conv2d_views
        published_scaling_views published_views report rows sections tables tables_amp tables_compare
        tables_conv2d tables_front tables_machine theme
    """,
}
LAYER_OF = {module: layer for layer, modules in LAYERS.items() for module in modules.split()}
ORDER = list(LAYERS)

# Where the repository is: `environments` says so, since it must run alone, before anything is installed.
FREE = ("environments", "ROOT")

FRAMEWORKS = ("tensorflow", "torch", "jax", "keras")
DRAWING = ("matplotlib", "seaborn")


@cache
def sources():
    """Return module name -> source of everything in lib/trainspeed."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    del found[""]  # lib/trainspeed/__init__.py itself
    return found


def imports(source):
    """Return (module, name or None) of every import in a source, at its top or within a function."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute here"
            found += [(node.module, alias.name) for alias in node.names]
    return found


def own_imports(source, known):
    """Return the (module, name) that a source imports from this package, as modules of `known`."""
    found = []
    for module, name in imports(source):
        package, _, inner = module.partition(".")
        if package != "trainspeed":
            continue
        deeper = f"{inner}.{name}".strip(".")
        found.append((deeper, None) if deeper in known else (inner, name))
    return found


def violations(modules, layer_of=LAYER_OF):
    """Return a sentence for every import from a later layer."""
    found = []
    for module, source in modules.items():
        for other, name in own_imports(source, layer_of):
            if (other, name) != FREE and ORDER.index(layer_of[module]) < ORDER.index(layer_of[other]):
                found.append(f"{module} ({layer_of[module]}) imports {other} ({layer_of[other]})")
    return found


def importers(modules, *packages):
    """Return the modules that import one of these packages."""
    return {
        module
        for module, source in modules.items()
        if any(name.partition(".")[0] in packages for name, _ in imports(source))
    }


def in_layers(*layers):
    return [module for module, layer in LAYER_OF.items() if layer in layers]


# The direction.


def test_every_module_has_its_layer():
    assert set(sources()) == set(LAYER_OF)
    assert len(LAYER_OF) == sum(len(modules.split()) for modules in LAYERS.values()), "one layer each"


def test_a_module_imports_only_from_its_own_layer_and_those_before():
    assert violations(sources()) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("trial", "from trainspeed.nvml import open_nvml", "trial (values) imports nvml (sensing)"),
        ("verdict", "from trainspeed import tables", "verdict (judgement) imports tables (showing)"),
        ("host", "import trainspeed.datasets", "host (sensing) imports datasets (work)"),
        (
            "child",
            "def f():\n    from trainspeed.runner import Runner",
            "child (work) imports runner (conduct)",
        ),
        (
            "doubts",
            "from trainspeed.backends.base import Backend",
            "doubts (judgement) imports backends.base (work)",
        ),
        ("doubts", "from trainspeed.backends import base", "doubts (judgement) imports backends.base (work)"),
        ("run", "from trainspeed.environments import install", "run (values) imports environments (conduct)"),
    ],
)
def test_the_check_of_the_direction_can_fail(module, source, expected):
    assert violations({module: source}) == [expected]


def test_an_import_from_an_earlier_layer_is_allowed():
    assert violations({"tables": "from trainspeed.run import Run\nfrom trainspeed import verdict"}) == []
    assert violations({"run": "from trainspeed.environments import ROOT\nimport json"}) == []


# Who may import what.


def test_only_what_runs_in_a_worker_imports_a_framework():
    found = importers(sources(), *FRAMEWORKS)
    assert {module.partition(".")[0] for module in found} == {"backends", "conv2d", "models", "pipelines"}


def test_only_one_module_imports_pynvml():
    assert importers(sources(), "pynvml") == {"nvml"}


def test_only_the_showing_layer_draws():
    assert {LAYER_OF[module] for module in importers(sources(), *DRAWING)} == {"showing"}


def test_setup_imports_nothing_of_this_package_and_nothing_that_must_be_installed():
    packages = {module.partition(".")[0] for module, _ in imports(sources()["environments"])}
    assert packages <= set(sys.stdlib_module_names)


def test_the_checks_of_who_imports_what_can_fail():
    made_up = {"tables": "def f():\n    import torch.nn", "trial": "from pynvml import nvmlInit"}
    assert importers(made_up, *FRAMEWORKS) == {"tables"}
    assert importers(made_up, "pynvml") == {"trial"}


# What is really loaded, by others' imports too.

LOADED = """
import importlib, sys
stubs, watched, *steps = sys.argv[1:]
sys.path.insert(0, stubs)
for step in steps:
    for module in step.split(","):
        importlib.import_module(module)
    print(*[name for name in watched.split(",") if name in sys.modules])
"""
WATCHED = (*FRAMEWORKS, *DRAWING, "pynvml")


def loaded(folder, *steps):
    """Return what of WATCHED a fresh process has loaded after each step of importing modules.

    The frameworks are stubs here: they can be imported, or none that is not installed would be noticed.
    """
    for name in FRAMEWORKS:
        (folder / f"{name}.py").write_text("")
    arguments = [str(folder), ",".join(WATCHED), *(",".join(step) for step in steps)]
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_reading_judging_and_drawing_old_runs_loads_no_framework_and_judging_no_driver_library(tmp_path):
    """One process for both, since importing what draws takes long."""
    steps = [
        [f"trainspeed.{module}" for module in in_layers(*layers)]
        for layers in (("values", "judgement"), ("showing",))
    ]
    judging, drawing = loaded(tmp_path, *steps)
    assert judging == []
    assert not set(drawing) & set(FRAMEWORKS)
    assert set(drawing) >= set(DRAWING)


def test_the_check_of_what_is_loaded_can_fail(tmp_path):
    (tmp_path / "made_up.py").write_text(
        "try:\n    import torch\nexcept ImportError:\n    pass\nimport pynvml"
    )
    assert loaded(tmp_path, ["json"], ["made_up"]) == [[], ["torch", "pynvml"]]
