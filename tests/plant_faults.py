"""Plant faults into a copy of this project, one at a time, and count how many the tests find.

    .venv/bin/python tests/plant_faults.py                  # all faults, with all tests that are not slow
    .venv/bin/python tests/plant_faults.py --near-only      # with the tests likely to find each, slow ones too
    .venv/bin/python tests/plant_faults.py --only forecast  # those with this word in their name or layer
    .venv/bin/python tests/plant_faults.py --check          # whether each fault still has its place; no test runs

A fault is found where a test fails with it, alone too, and passes without it. The tests of a stage run only if
those before found nothing: near ones, near ones that are slow, all that are not slow. No test: run by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from planted_faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".git", ".venv*", ".cache", ".*_cache", ".hypothesis", "__pycache__", "outputs", "downloads")
LINKED = (".venv", ".venvs", "data/downloads")  # what is in them: too large to copy, and no test writes there
FAST, SLOW = "not slow and not lab and not gpu", "(slow or lab) and not gpu"
LONGEST_S = 3600  # of a stage: with a fault, a test may wait for ever
PASSED, FAILED, INTERRUPTED, NOTHING_RAN = 0, 1, 2, 5  # pytest's exit codes; 2 also after an import error


class Hung(Exception):
    """The tests did not come to an end."""


@dataclass(frozen=True)
class Tests:
    """Tests of a copy of the project.

    Attributes:
        broken: Ids of tests that are not run any more, since they fail without a fault.
    """

    copy: Path
    broken: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[Path]:
        """All files of tests."""
        return sorted((self.copy / "tests").rglob("test_*.py"))

    def near(self, fault: Fault) -> list[str]:
        """Return the files likely to find a fault, by the words in their paths."""
        paths = [path.relative_to(self.copy / "tests") for path in self.files]
        return [f"tests/{path}" for path in paths if fault.is_near(set(re.split(r"[\W_]", str(path))))]

    def first_failure(
        self, chosen: Sequence[str], marks: str = "", excused: Sequence[str] = ()
    ) -> str | None:
        """Return the id of the first test that fails, None where none does.

        Args:
            chosen: Files or ids of tests.
            marks: Only tests with these marks.
            excused: Ids of further tests that are not run.
        Raises:
            Hung: They take too long.
        """
        cache = self.copy / ".pytest_cache"
        shutil.rmtree(cache, ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-m", marks]
        command += [*(f"--deselect={test}" for test in [*self.broken, *excused]), *chosen]
        environment = {**os.environ, "PYTHONPATH": str(self.copy / "lib")}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(command, cwd=self.copy, env=environment, start_new_session=True, **output)
        try:
            said, _ = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            raise Hung from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode in (PASSED, NOTHING_RAN):
            return None
        failed = cache / "v/cache/lastfailed"  # exact ids, which the printed summary does not have
        if process.returncode not in (FAILED, INTERRUPTED) or not failed.is_file():
            raise RuntimeError(f"pytest ended with {process.returncode}:\n{said}")
        return next(iter(json.loads(failed.read_text())))


def places(fault: Fault, lib: Path) -> list[Path]:
    """Return the files that have the fault's place, each as often as it has it."""
    files = (path for path in sorted(lib.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return [path for path in files for _ in range(path.read_text(errors="replace").count(fault.old))]


def misplaced(root: Path = ROOT) -> list[str]:
    """Return what is wrong with the table: a fault whose place is not there once, or that no test is near."""
    counts = {fault.name: len(places(fault, root / "lib")) for fault in FAULTS}
    wrong = [f"{name}: its place is there {count} times" for name, count in counts.items() if count != 1]
    wrong += [f"{fault.name}: no test is near" for fault in FAULTS if not Tests(root).near(fault)]
    return wrong + ["two faults have one name"] * (len(counts) < len(FAULTS))


@contextmanager
def planted(fault: Fault, copy: Path) -> Iterator[None]:
    """Plant a fault, and take it out at the end."""
    (path,) = places(fault, copy / "lib")
    good = path.with_name(f"{path.name}.good")
    path.rename(good)  # with its time, by which Python tells whether compiled code is of this source
    try:
        path.write_text(good.read_text().replace(fault.old, fault.new))
        yield
    finally:
        good.replace(path)


def find(fault: Fault, tests: Tests, *, near_only: bool) -> tuple[str, str] | None:
    """Return the stage and the test that find a fault; None where none does."""
    near = tests.near(fault)
    stages = {"near": (near, FAST), "near, slow": (near, SLOW), "all but slow": (["tests"], FAST)}
    if near_only:
        del stages["all but slow"]
    for stage, (chosen, marks) in stages.items():
        excused: list[str] = []
        while chosen:
            try:
                with planted(fault, tests.copy):
                    test = tests.first_failure(chosen, marks, excused)
                    if test is None:
                        break
                    alone = tests.first_failure([test])
            except Hung:
                return stage, f"no end after {LONGEST_S} s"
            if alone and not tests.first_failure([test]):
                return stage, test
            why, where = ("fails without it too", tests.broken) if alone else ("passes alone", excused)
            where.append(test)
            print(f"{fault.name}: not counted, as it {why}: {test}", file=sys.stderr, flush=True)
    return None


@contextmanager
def copied() -> Iterator[Path]:
    """Copy the project into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for name in LINKED:
            for path in (ROOT / name).resolve().glob("*"):
                (copy / name).mkdir(exist_ok=True)  # the folder itself lies in the project, as tests expect
                (copy / name / path.name).symlink_to(path)
        yield copy


def main() -> int:
    """Return 0 where all faults were found, 1 where not, 2 where the table has to be mended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="those with this in their name or layer")
    parser.add_argument("--near-only", action="store_true", help="leave out the tests that are not near")
    parser.add_argument("--list", action="store_true", help="name the faults and the files near them")
    parser.add_argument("--check", action="store_true", help="whether each fault has its place in lib once")
    asked = parser.parse_args()
    if wrong := misplaced():
        print("\n".join(wrong), file=sys.stderr)
        return 2
    chosen = [fault for fault in FAULTS if asked.only in f"{fault.layer}: {fault.name}"]
    if not chosen:
        parser.error(f"no fault has {asked.only!r} in its name or layer: see --list")
    if asked.list:
        for fault in chosen:
            print(f"{fault.layer}: {fault.name} ({', '.join(Tests(ROOT).near(fault))})")
    if asked.list or asked.check:
        return 0
    found = 0
    with copied() as copy:
        tests = Tests(copy)
        print("| layer | fault | found | first test that fails |\n|---|---|---|---|", flush=True)
        for fault in chosen:
            result = find(fault, tests, near_only=asked.near_only)
            stage, test = result or ("**not found**", "")
            print(f"| {fault.layer} | {fault.name} | {stage} | {test} |", flush=True)
            found += result is not None
    print(f"\n{found} of {len(chosen)} found")
    return int(found < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
