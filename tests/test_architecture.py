"""What no linter of imports checks: who may import what from outside, and what is really loaded.

The direction of imports within the package is held by import-linter (`make lint`, contracts in pyproject.toml).
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import trainspeed
from trainspeed.core.paths import ROOT

PACKAGE = Path(trainspeed.__file__).parent
FRAMEWORKS = ("tensorflow", "torch", "jax", "keras")
DRAWING = ("matplotlib", "seaborn")
# All that may import a framework.
OF_FRAMEWORKS = {
    "worker.backends",
    "worker.convolution",
    "worker.levers",
    "worker.models",
    "worker.pipelines",
    "worker.probes",
    "worker.torch_cuda",
}


@cache
def sources():
    """Return module name -> source of everything in lib/trainspeed."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def imports(source):
    """Return the modules that a source imports, at its top or within a function."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute here"
            found.append(node.module)
    return found


def importers(modules, *packages):
    """Return the modules that import one of these packages."""
    return {
        module
        for module, source in modules.items()
        if any(name.partition(".")[0] in packages for name in imports(source))
    }


def first_two(module):
    return ".".join(module.split(".")[:2])


def test_nothing_but_packages_lies_in_the_package_itself():
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_only_what_runs_in_a_worker_imports_a_framework():
    assert {first_two(module) for module in importers(sources(), *FRAMEWORKS)} == OF_FRAMEWORKS


def test_only_the_modules_of_the_driver_import_pynvml():
    assert importers(sources(), "pynvml") == {"sensors.nvml", "sensors.interconnect"}


def uses_of(source, module):
    """Return where a source reads an attribute of `torch.cuda` or another module of two parts."""
    first, second = module.split(".")
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr == second
        if isinstance(node.value, ast.Name) and node.value.id == first
    ]


def test_cuda_is_asked_through_torch_in_one_module():
    """Switches of cuDNN are levers, and have their places among them."""
    assert {module for module, source in sources().items() if uses_of(source, "torch.cuda")} == {
        "worker.torch_cuda"
    }


def test_only_charts_and_tables_draw():
    drawing = {module.partition(".")[0] for module in importers(sources(), *DRAWING)}
    assert drawing <= {"show", "articles", "studies", "core"}


def test_setup_imports_nothing_of_this_package_and_nothing_that_must_be_installed():
    setup = (ROOT / "lib/setup_environments.py").read_text()
    assert {module.partition(".")[0] for module in imports(setup)} <= set(sys.stdlib_module_names)


def test_the_checks_of_who_imports_what_can_fail():
    made_up = {"show.tables": "def f():\n    import torch.nn", "core.trial": "from pynvml import nvmlInit"}
    assert importers(made_up, *FRAMEWORKS) == {"show.tables"}
    assert importers(made_up, "pynvml") == {"core.trial"}


# The direction, as import-linter checks it.


def lint_imports(folder):
    """Run import-linter on a copy of the package's contracts; return its exit code and what it printed."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_an_import_against_the_layers_is_found(tmp_path):
    """The contracts of pyproject.toml, on a package of the same shape with one wrong import."""
    for module in sources():
        path = tmp_path / "trainspeed" / Path(*filter(None, module.split(".")))
        is_package = (PACKAGE / Path(*filter(None, module.split(".")))).is_dir()
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    assert lint_imports(tmp_path)[0] == 0
    wrong = {
        "core/trial.py": "from trainspeed.sensors.nvml import open_nvml",
        "studies/layout/findings.py": "import trainspeed.studies.amp.findings",
        "conduct/runner.py": "def f():\n    from trainspeed.judge.verdict import judge",
        "conduct/start.py": "def f():\n    import ray",
    }
    for name, source in wrong.items():
        (tmp_path / "trainspeed" / name).write_text(source)
    code, printed = lint_imports(tmp_path)
    assert code == 1
    for module in (
        "trainspeed.core.trial",
        "trainspeed.studies.layout.findings",
        "trainspeed.conduct.runner",
        "trainspeed.conduct.start",
    ):
        assert module in printed


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


def below(*packages):
    return [f"trainspeed.{module}" for module in sources() if module.partition(".")[0] in packages]


def test_reading_judging_and_drawing_old_runs_loads_no_framework_and_judging_no_driver_library(tmp_path):
    """One process for both, since importing what draws takes long."""
    steps = below("core", "judge", "verdict"), below("show", "articles", "snippets", "studies", "report")
    judging, drawing = loaded(tmp_path, *steps)
    assert judging == []
    assert not set(drawing) & set(FRAMEWORKS)
    assert set(drawing) >= set(DRAWING)


def test_the_check_of_what_is_loaded_can_fail(tmp_path):
    (tmp_path / "made_up.py").write_text(
        "try:\n    import torch\nexcept ImportError:\n    pass\nimport pynvml"
    )
    assert loaded(tmp_path, ["json"], ["made_up"]) == [[], ["torch", "pynvml"]]
