"""Build the environments: `.venv` for the notebooks and `.venvs/<framework>` for each framework.

Runs on a bare Python before anything is installed, so it uses the standard library only. Does not know what the
environments are for.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRAMEWORKS = ("tensorflow", "torch", "jax")
STAMP = "trainspeed.stamp"  # file in an environment: what it was built from
FLEET_STAMP = "trainspeed-fleet.stamp"  # in `.venv`, where what reaches other machines is installed, too
CUDA_OF = {"tensorflow": 12, "torch": 13, "jax": 13}  # major version that each pinned build for GPUs needs
# Major version of CUDA -> branch of the oldest driver that runs programs built with it.
# Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
DRIVER_FILE = Path("/proc/driver/nvidia/version")
OLDEST, NEWEST = (3, 11), (3, 13)  # TensorFlow 2.21 has no wheels outside; torch 2.15 needs 3.11


def check_python(version: tuple[int, int], has_venv: bool) -> str | None:
    """Return one line that says why this Python cannot be used; None where it can."""
    if not OLDEST <= version <= NEWEST:
        return (
            f"Python {version[0]}.{version[1]} is not supported: Trainspeed needs 3.11, 3.12 or 3.13 "
            "(TensorFlow has no wheels for others). Try: make setup PYTHON=python3.12"
        )
    if not has_venv:
        package = f"python{version[0]}.{version[1]}-venv"
        return f"this Python has no venv module. On Debian and Ubuntu: apt install {package}"
    return None


def own_python() -> str | None:
    """Return the interpreter of a `.venv` that is there, with which it is kept; None where PYTHON names one.

    The first `python3` of a connection by ssh, or of cron, is often another one than that of a terminal.
    """
    python = ROOT / ".venv/bin/python"
    is_built = python.exists() and (ROOT / ".venv" / STAMP).exists()
    return str(python) if is_built and not os.environ.get("PYTHON") else None


def has_nvidia_driver() -> bool:
    """Whether the kernel driver is loaded: it decides which builds are installed."""
    return DRIVER_FILE.exists() or shutil.which("nvidia-smi") is not None


def driver_version() -> str | None:
    """Return the version of the NVIDIA driver, such as "580.65.06"; None where it cannot be found out."""
    try:
        return version_in(DRIVER_FILE.read_text())
    except OSError:  # in Windows's Linux, nvidia-smi alone knows it
        command = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_in(asked.stdout) if asked.returncode == 0 else None


def version_in(text: str) -> str | None:
    """Return the first version of an NVIDIA driver in a text: its branch has three digits."""
    found = re.search(r"(?<![\d.])\d{3}\.\d+(\.\d+)?(?![\d.])", text)
    return found[0] if found else None


def driver_problem(driver: str | None, frameworks: list[str]) -> str | None:
    """Return one line that says which frameworks cannot reach the GPU with this driver; None where all can."""
    if driver is None:
        return None
    branch = int(driver.partition(".")[0])
    too_new = [name for name in frameworks if branch < OLDEST_DRIVER[CUDA_OF[name]]]
    if not too_new:
        return None
    needed = max(OLDEST_DRIVER[CUDA_OF[name]] for name in too_new)
    return (
        f"with the NVIDIA driver {driver} these cannot reach the GPU, and the report will say so: "
        f"{', '.join(too_new)}. Driver {needed} or newer serves all"
    )


def pinned_file(framework: str, cuda: bool) -> str:
    """Return the name of the file with a framework's pinned versions; torch's serves with and without CUDA."""
    return f"{framework}-cuda.txt" if cuda and framework != "torch" else f"{framework}.txt"


def _stamp(pins: Path, extra: str) -> str:
    return hashlib.sha256(
        extra.encode() + pins.read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    ).hexdigest()


def _run(*command: str, env: dict[str, str] | None = None, quiet: bool = False) -> bool:
    result = subprocess.run(command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=quiet)
    return result.returncode == 0


def _up_to_date(folder: Path, stamp: str, name: str = STAMP) -> bool:
    mark = folder / name
    return mark.exists() and mark.read_text() == stamp


def build_notebook_environment() -> None:
    """Make `.venv` with uv in it; that uv installs the other environments."""
    folder, pins = ROOT / ".venv", ROOT / "requirements/report.txt"
    stamp = _stamp(pins, sys.version)
    if _up_to_date(folder, stamp):
        return
    print("setup: notebooks (.venv)", flush=True)
    base = getattr(sys, "_base_executable", sys.executable)  # `.venv` itself may be what runs this
    steps = (
        (base, "-m", "venv", "--clear", str(folder)),
        (str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", "uv>=0.9,<1"),
    )
    with _kept_until_built(folder):
        if not all(_run(*step) for step in steps):
            raise SystemExit("setup: could not make .venv or install uv into it; see the lines above")
        if not install(folder, pins):
            raise SystemExit("setup: could not install requirements/report.txt; see the lines above")
        (folder / STAMP).write_text(stamp)


@contextlib.contextmanager
def _kept_until_built(folder: Path) -> Iterator[None]:
    """Keep an environment aside while it is built anew, and put it back where that fails, as without a network.

    It is the older one that is moved, as the paths in an environment's programs are absolute.
    """
    earlier = ROOT / ".venvs" / f"{folder.name}-earlier"
    if (folder / STAMP).exists():
        shutil.rmtree(earlier, ignore_errors=True)
        earlier.parent.mkdir(exist_ok=True)
        folder.rename(earlier)
    try:
        yield
    finally:
        if earlier.exists() and not (folder / STAMP).exists():
            shutil.rmtree(folder, ignore_errors=True)
            earlier.rename(folder)
        shutil.rmtree(earlier, ignore_errors=True)


def add_fleet() -> None:
    """Install into `.venv` what reaches other machines."""
    folder, pins = ROOT / ".venv", ROOT / "requirements/fleet.txt"
    stamp = _stamp(pins, (folder / STAMP).read_text())
    if _up_to_date(folder, stamp, FLEET_STAMP):
        return
    print("setup: fleet (.venv, requirements/fleet.txt)", flush=True)
    if not install(folder, pins):
        raise SystemExit("setup: could not install requirements/fleet.txt; see the lines above")
    (folder / FLEET_STAMP).write_text(stamp)


def install(folder: Path, pins: Path, *, cpu_torch: bool = False) -> bool:
    """Install pinned packages and this package into an environment; return whether it succeeded."""
    uv = str(ROOT / ".venv/bin/uv")
    pip = (uv, "pip", "install", "--quiet", "--python", str(folder / "bin/python"))
    # Containers often forbid Python to write bytecode; every import would then compile TensorFlow anew.
    pins_install = (*pip, "--compile-bytecode", "-r", str(pins))
    # 0.2 GB; where that index cannot be reached, it fails at once without retries.
    cpu_install = (*pins_install, "--torch-backend", "cpu")
    installed = cpu_torch and _run(*cpu_install, env={"UV_HTTP_RETRIES": "0"}, quiet=True)
    return (installed or _run(*pins_install)) and _run(*pip, "--no-deps", "-e", str(ROOT))


def build_framework_environment(framework: str, cuda: bool) -> bool:
    """Make `.venvs/<framework>`; return whether it could be installed."""
    folder, pins = ROOT / ".venvs" / framework, ROOT / "requirements" / pinned_file(framework, cuda)
    stamp = _stamp(pins, f"{sys.version} {cuda}")
    if _up_to_date(folder, stamp):
        return True
    print(f"setup: {framework} (.venvs/{framework}, requirements/{pins.name})", flush=True)
    uv = str(ROOT / ".venv/bin/uv")
    made = _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
    if made and install(folder, pins, cpu_torch=framework == "torch" and not cuda):
        (folder / STAMP).write_text(stamp)
        if problem := import_problem(folder, framework):
            print(f"setup: {framework} is installed and cannot be imported here: {problem}", file=sys.stderr)
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def import_problem(folder: Path, package: str) -> str | None:
    """Import a package for the first time; return the last line of what Python says where that fails, else None.

    On a cold disk that takes half a minute, which is not to be the time of a report.
    """
    command = (str(folder / "bin/python"), "-c", f"import {package}")
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    if result.returncode == 0:
        return None
    lines = result.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with {result.returncode}"


def main(arguments: list[str] | None = None) -> int:
    """Build what is missing; name the frameworks that cannot be installed, and leave them out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frameworks", nargs="*", default=list(FRAMEWORKS))
    parser.add_argument("--fleet", action="store_true", help="also what reaches other machines")
    options = parser.parse_args(arguments)
    wanted = options.frameworks
    if unknown := sorted(set(wanted) - set(FRAMEWORKS)):
        print(f"setup: unknown framework {unknown[0]!r}; known: {', '.join(FRAMEWORKS)}", file=sys.stderr)
        return 2
    has_venv = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    if problem := check_python(sys.version_info[:2], has_venv):
        print(f"setup: {problem}", file=sys.stderr)
        return 2
    start = time.monotonic()
    build_notebook_environment()
    if options.fleet:
        add_fleet()
    cuda = has_nvidia_driver()
    # Side by side: one is unpacked and compiled while another one is fetched.
    with ThreadPoolExecutor(max(1, len(wanted))) as pool:
        built = list(pool.map(build_framework_environment, wanted, repeat(cuda)))
    missing = [name for name, there in zip(wanted, built, strict=True) if not there]
    for name in missing:
        print(f"setup: {name} could not be installed; the report will skip it and say so", file=sys.stderr)
    if cuda and (
        problem := driver_problem(driver_version(), [name for name in wanted if name not in missing])
    ):
        print(f"setup: {problem}", file=sys.stderr)
    if (seconds := time.monotonic() - start) > 1:
        print(f"setup: done in {seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    if (python := own_python()) and python != sys.executable:
        os.execv(python, [python, *sys.argv])
    sys.exit(main())
