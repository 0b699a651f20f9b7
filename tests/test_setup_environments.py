import os
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import setup_environments as environments
from setup_environments import FRAMEWORKS, check_python, main, pinned_file
from trainspeed.core.cuda import OLDEST_DRIVER
from trainspeed.core.paths import ROOT

FILES = sorted((ROOT / "requirements").glob("*.txt"))
CONDA = ROOT / "environment.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Pinned file -> the extras that it is made of; see requirements/lock.sh.
PINNED = {"report": ["report", "dev"], "torch": ["torch"], "fleet": ["fleet"]}
PINNED |= {name: [name] for name in ("tensorflow", "tensorflow-cuda", "jax", "jax-cuda")}


# Which Python.


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_a_python_that_all_frameworks_support_is_fine(version):
    assert check_python(version, has_venv=True) is None


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 14), (4, 0)])
def test_another_python_is_told_in_one_line_with_a_way_out(version):
    problem = check_python(version, has_venv=True)
    assert problem.startswith(
        f"Python {version[0]}.{version[1]} is not supported: Trainspeed needs 3.11, 3.12 or 3.13"
    )
    assert problem.endswith("Try: make setup PYTHON=python3.12")
    assert "\n" not in problem


def test_a_python_without_venv_is_told_which_package_to_install():
    problem = check_python((3, 12), has_venv=False)
    assert problem.endswith("apt install python3.12-venv")
    assert "\n" not in problem


def test_the_versions_that_are_checked_are_those_of_the_project():
    oldest, newest = environments.OLDEST, environments.NEWEST
    assert PROJECT["requires-python"] == f">={oldest[0]}.{oldest[1]},<{newest[0]}.{newest[1] + 1}"


def test_an_unknown_framework_is_told_before_anything_is_built(capsys, monkeypatch):
    monkeypatch.setattr(environments, "build_notebook_environment", lambda: pytest.fail("was built"))
    assert main(["--frameworks", "torch", "caffe"]) == 2
    assert capsys.readouterr().err == "setup: unknown framework 'caffe'; known: tensorflow, torch, jax\n"


def test_an_unsupported_python_ends_with_code_2_before_anything_is_built(capsys, monkeypatch):
    monkeypatch.setattr(environments, "build_notebook_environment", lambda: pytest.fail("was built"))
    monkeypatch.setattr(environments.sys, "version_info", (3, 10, 4, "final", 0))
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("setup: Python 3.10 is not supported")


def test_a_framework_that_cannot_be_installed_is_named_and_the_others_are_built(capsys, monkeypatch):
    built = []
    monkeypatch.setattr(environments, "build_notebook_environment", lambda: built.append("notebooks"))
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: True)

    def build(name, cuda):
        built.append((name, cuda))
        return name != "torch"

    monkeypatch.setattr(environments, "build_framework_environment", build)
    assert main([]) == 0
    assert built == ["notebooks", ("tensorflow", True), ("torch", True), ("jax", True)]
    assert (
        "setup: torch could not be installed; the report will skip it and say so" in capsys.readouterr().err
    )


def test_a_framework_that_cannot_be_imported_is_told_once_it_is_built(capsys, monkeypatch, tmp_path):
    """By Python's own last line: the first import of a package that is there, and of one that is not."""
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "_up_to_date", lambda folder, stamp: False)
    monkeypatch.setattr(environments, "_stamp", lambda pins, extra: "built")
    monkeypatch.setattr(environments, "_run", lambda *command: True)
    monkeypatch.setattr(environments, "install", lambda folder, pins, **how: True)
    for name in ("json", "caffe"):
        (tmp_path / ".venvs" / name / "bin").mkdir(parents=True)
        (tmp_path / ".venvs" / name / "bin/python").symlink_to(sys.executable)
        assert environments.build_framework_environment(name, cuda=False)

    assert capsys.readouterr().err == (
        "setup: caffe is installed and cannot be imported here: ModuleNotFoundError: No module named 'caffe'\n"
    )


def test_what_reaches_other_machines_is_installed_where_it_is_asked_for(monkeypatch, tmp_path):
    """Once for an environment of the notebooks, and again where that was built anew."""
    installed = []
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "install", lambda folder, pins: installed.append(pins.name) or True)
    monkeypatch.setattr(environments, "build_notebook_environment", lambda: None)
    monkeypatch.setattr(environments, "build_framework_environment", lambda name, cuda: True)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/fleet.txt").write_text("ray==1\n")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / environments.STAMP).write_text("as it was built")

    assert main([]) == 0 and installed == []
    assert main(["--fleet"]) == 0 and main(["--fleet"]) == 0 and installed == ["fleet.txt"]
    (tmp_path / ".venv" / environments.STAMP).write_text("as it was built later")
    assert main(["--fleet"]) == 0 and installed == ["fleet.txt"] * 2


def test_setup_needs_nothing_but_python():
    """It runs before anything is installed: -S and -I leave the installed packages out."""
    script = str(ROOT / "lib/setup_environments.py")
    command = [sys.executable, "-I", "-S", script, "--frameworks", "caffe"]
    named = {**os.environ, "PYTHON": sys.executable}  # else it would go on in the one of .venv
    done = subprocess.run(command, env=named, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr[:24]) == (2, "setup: unknown framework")


# Which NVIDIA driver.


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb 17 22:55:48 UTC 2024\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n",
            "535.161.07",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@x)\n",
            "580.65.06",
        ),
        ("581.42\n581.42\n", "581.42"),
        ("No devices were found\n", None),
        ("", None),
    ],
)
def test_the_driver_tells_its_version(text, version, monkeypatch, tmp_path):
    assert environments.version_in(text) == version
    monkeypatch.setattr(environments, "DRIVER_FILE", tmp_path / "version")
    (tmp_path / "version").write_text(text)
    assert environments.driver_version() == version


def test_without_the_file_nvidia_smi_is_asked_and_may_be_missing_too(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "DRIVER_FILE", tmp_path / "version")
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 576.02\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environments.driver_version() == "576.02"
    program.unlink()
    assert environments.driver_version() is None


@pytest.mark.parametrize(
    ("driver", "named", "needed"),
    [
        (None, None, None),
        ("615.10", None, None),
        ("580.65.06", None, None),
        ("575.57.08", "torch, jax", 580),
        ("535.161.07", "torch, jax", 580),
        ("525.60.13", "torch, jax", 580),
        ("470.82.01", "tensorflow, torch, jax", 580),
    ],
)
def test_frameworks_that_a_driver_is_too_old_for_are_named_in_one_line(driver, named, needed):
    problem = environments.driver_problem(driver, list(FRAMEWORKS))

    if named is None:
        assert problem is None
    else:
        assert problem == (
            f"with the NVIDIA driver {driver} these cannot reach the GPU, and the report will say so: {named}. "
            f"Driver {needed} or newer serves all"
        )


def test_setup_says_so_once_all_is_built(capsys, monkeypatch):
    monkeypatch.setattr(environments, "build_notebook_environment", lambda: None)
    monkeypatch.setattr(environments, "build_framework_environment", lambda name, cuda: True)
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: True)
    monkeypatch.setattr(environments, "driver_version", lambda: "535.161.07")
    assert main(["--frameworks", "tensorflow", "jax"]) == 0
    assert capsys.readouterr().err.startswith("setup: with the NVIDIA driver 535.161.07 these cannot reach")


def test_the_table_of_drivers_is_the_one_by_which_a_run_explains_itself():
    assert environments.OLDEST_DRIVER == OLDEST_DRIVER


def test_the_cuda_that_a_framework_needs_is_the_one_of_its_pins():
    for framework in ("tensorflow", "jax"):
        pins = (ROOT / "requirements" / pinned_file(framework, cuda=True)).read_text()
        assert re.search(rf"^nvidia-cudnn-cu{environments.CUDA_OF[framework]}==", pins, flags=re.MULTILINE)


def test_the_cuda_that_torch_needs_is_the_one_of_the_installed_build():
    """Its pins leave the build to the index: its version tells, where it is a build for GPUs."""
    (version,) = {
        path.read_text() for path in ROOT.glob(".venvs/torch/lib/python3*/site-packages/torch/version.py")
    } or {""}
    found = re.search(r"^cuda.*= '(\d+)", version, flags=re.MULTILINE)
    if not found:
        pytest.skip("no build of torch for GPUs is installed here")
    assert int(found[1]) == environments.CUDA_OF["torch"]


# What is installed.


@pytest.mark.parametrize("cuda", [False, True])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_its_pinned_file(framework, cuda):
    assert (ROOT / "requirements" / pinned_file(framework, cuda)).is_file()


def test_every_pinned_file_is_made_of_extras_and_every_extra_is_pinned():
    assert {path.stem for path in FILES} == set(PINNED)
    assert {extra for extras in PINNED.values() for extra in extras} == set(EXTRAS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_pinned_file_names_no_host_and_no_index(path):
    """Whoever installs chooses where from: a mirror, a proxy, a wheel folder."""
    for line in path.read_text().splitlines():
        assert not re.search("https?:|://", line)
        assert not line.startswith("-"), "no option: --index-url, --extra-index-url, --find-links, -f, -e"
        assert " @ " not in line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_pins_one_version(path):
    for line in path.read_text().splitlines():
        assert re.fullmatch(r"==[^,*]+", str(Requirement(line).specifier)), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_pins_are_in_step_with_the_project(path):
    """Every requirement of the project and its extra is pinned, to a version that it allows."""
    pins = {}
    for line in path.read_text().splitlines():
        pin = Requirement(line)
        pins.setdefault(canonicalize_name(pin.name), []).append(str(pin.specifier).removeprefix("=="))
    wanted = [*PROJECT["dependencies"], *(text for extra in PINNED[path.stem] for text in EXTRAS[extra])]
    for requirement in map(Requirement, wanted):
        versions = pins[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_without_a_driver_no_cuda_library_is_installed():
    for name in ("tensorflow", "torch", "jax"):
        pins = (ROOT / "requirements" / f"{name}.txt").read_text()
        assert not re.search(r"^(nvidia-(?!ml-py)|jax-cuda|triton)", pins, flags=re.MULTILINE)


def test_with_a_driver_cuda_libraries_are():
    for framework in ("tensorflow", "jax"):
        pins = ROOT / "requirements" / pinned_file(framework, cuda=True)
        assert "nvidia-cudnn" in pins.read_text()


def test_the_conda_environment_installs_extras_that_there_are():
    conda = yaml.safe_load(CONDA.read_text())["dependencies"]
    names = [re.split("[ =<>]", item)[0] for item in conda if isinstance(item, str)]
    assert {"python", "pip", "make"} <= set(names)
    (pip,) = (item["pip"] for item in conda if isinstance(item, dict))
    (extras,) = (re.fullmatch(r"-e \.\[(.+)\]", line)[1].split(",") for line in pip if line.startswith("-e"))
    assert set(extras) <= set(EXTRAS)
    assert {"report", *FRAMEWORKS} <= set(extras)
