"""No run takes a compiled program, and what was autotuned in it, from another one, or leaves files behind."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from processes_helper import until
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker import run_folder
from trainspeed.worker.request import Request

TESTS = Path(__file__).parents[1]


def run(
    worker: WorkerProcess,
    behaviour: str,
    timeout_s: float = 60.0,
    *,
    anew: bool = True,
    compiled: bool = True,
):
    trial = Trial(
        framework="torch",
        model="cnn10",
        dataset="digits",
        weights=behaviour,
        image_size=8,
        layout="channels_first",
        batch_size=8,
        images_per_epoch=16,
        epochs=3,
        compile=compiled,
    )
    request = Request(trial=trial, device="cpu", requested_at=time.monotonic(), compile_anew=anew)
    return worker.run(request, timeout_s)


@pytest.fixture
def worker(tmp_path):
    """One of the backend that has no framework, whose compiler writes down where it keeps its programs."""
    environment = {
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")]),
        "FAKE_COMPILED_FILE": str(tmp_path / "folders"),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "of the user"),
    }
    process = WorkerProcess(sys.executable, "fake_backend", environment=environment)
    yield process
    process.close()


def folders(tmp_path: Path) -> list[Path]:
    return [Path(line.split("\t")[0]) for line in (tmp_path / "folders").read_text().splitlines()]


def found_there(tmp_path: Path) -> list[list[str]]:
    return [line.split("\t")[1:] for line in (tmp_path / "folders").read_text().splitlines()]


def test_each_run_compiles_into_an_empty_folder_of_its_own(worker, tmp_path):
    """Even where the user has set one for all."""
    outcomes = [run(worker, "compile") for _ in range(2)]

    assert [outcome.status for outcome in outcomes] == [Status.OK] * 2
    one, other = folders(tmp_path)
    assert one != other and tmp_path / "of the user" not in (one, other)
    assert found_there(tmp_path) == [[], []]
    assert [outcome.result.compiled_anew for outcome in outcomes] == [True, True]


def test_a_later_run_takes_programs_and_no_choices_where_its_request_says_so(worker, tmp_path):
    """Each run's are there for those after it, also of one that made some anew beside those that it took."""
    outcomes = [run(worker, "compile", anew=number == 0) for number in range(3)]

    assert found_there(tmp_path) == [[], ["kernel.so"], ["kernel.so"]]
    results = [outcome.result for outcome in outcomes]
    assert [result.compiled_anew for result in results] == [True, False, False]
    assert [result.peak_memory_bytes is None for result in results] == [False, True, True]


@pytest.mark.parametrize(
    ("before", "compiled", "is_anew"),
    [("compile and die", True, False), ("compile and fail", True, False), ("compile", False, True)],
)
def test_nothing_is_taken_from_a_run_that_failed_nor_by_one_that_compiles_nothing(
    worker, tmp_path, before, compiled, is_anew
):
    run(worker, before)
    outcome = run(worker, "compile", anew=False, compiled=compiled)

    assert found_there(tmp_path) == [[], []]
    assert outcome.result.compiled_anew is is_anew


@pytest.mark.parametrize(
    ("behaviour", "status"), [("compile", Status.OK), ("compile and die", Status.CRASHED)]
)
def test_however_a_run_ends_nothing_is_left_of_what_it_compiled(worker, tmp_path, behaviour, status):
    outcome = run(worker, behaviour)

    assert outcome.status == status
    (folder,) = folders(tmp_path)
    assert until(lambda: not folder.parent.exists())


def test_a_worker_that_ends_meanwhile_leaves_nothing_either(worker, tmp_path):
    outcome = run(worker, "compile and hang", timeout_s=2.0)
    worker.close()

    assert outcome.status == Status.TIMEOUT
    (folder,) = folders(tmp_path)
    assert not folder.parent.exists()


@pytest.mark.parametrize("end", ["worker", "reaper"])
def test_whichever_of_a_workers_processes_is_killed_its_own_folder_goes_with_it(worker, tmp_path, end):
    run(worker, "compile")
    (folder,) = folders(tmp_path)
    of_worker = folder.parent.parent
    assert of_worker.exists()

    os.kill({"worker": worker.pid, "reaper": worker._process.pid}[end], signal.SIGKILL)

    assert until(lambda: not of_worker.exists())


def test_what_a_framework_makes_as_it_is_imported_goes_with_its_worker(tmp_path):
    """torch leaves an empty folder among the system's temporary files."""
    making = "import os, pathlib\nfrom fake_backend import BACKEND\n"
    making += "made = pathlib.Path(os.environ['TORCHINDUCTOR_CACHE_DIR'])\nmade.mkdir()\n"
    making += f"pathlib.Path({str(tmp_path / 'made')!r}).write_text(str(made))\n"
    (tmp_path / "making_backend.py").write_text(making)
    path = os.pathsep.join([str(tmp_path), str(TESTS), str(TESTS.parent / "lib")])
    variables = {"PYTHONPATH": path, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "of the user")}
    worker = WorkerProcess(sys.executable, "making_backend", environment=variables)
    worker.wait_until_ready()
    made = Path((tmp_path / "made").read_text())
    assert made.is_dir() and tmp_path not in made.parents

    worker.close()

    assert until(lambda: not made.parent.exists())


def test_triton_and_jax_keep_there_what_they_compile_too(monkeypatch, tmp_path):
    for variable in (*run_folder.VARIABLES, "TMPDIR"):
        monkeypatch.setenv(variable, "/elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", None)

    run_folder.use(str(tmp_path))

    variables = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
    places = [Path(os.environ[variable]) for variable in variables]
    assert len({*places}) == 3 and {place.parent for place in places} == {tmp_path}


@pytest.mark.parametrize("length", [run_folder.SOCKET_BYTES, run_folder.SOCKET_BYTES + 1])
def test_temporary_files_are_there_too_unless_a_sockets_path_would_be_too_long(monkeypatch, length):
    monkeypatch.setattr(os, "environ", {"TMPDIR": "/elsewhere"})
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    folder = "/".ljust(length, "x")

    run_folder.use(folder)

    fits = len(f"{folder}/pymp-abcdefgh/listener-abcdefgh") < 104
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == (folder if fits else "/elsewhere")
    assert fits is (length == run_folder.SOCKET_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize(("like", "kept"), [("a run", False), ("a build", True), ("a user's script", True)])
def test_jax_keeps_no_program_of_a_step_in_a_run_on_a_gpu(shared_worker, tmp_path, like, kept):
    """Even where the user has named a folder for them; the last case shows that they would be seen here."""
    shared_worker("jax").probed("probes.jax_cache_probe", like, tmp_path)

    assert any(tmp_path.iterdir()) is kept


@pytest.mark.slow
def test_on_a_cpu_a_later_run_on_as_many_cores_takes_the_programs_that_jax_has_compiled(
    shared_worker, tmp_path
):
    own, others = tmp_path / "own", tmp_path / "others"
    shared_worker("jax").probed("probes.jax_cache_probe", "runs", own, others)

    kept, taken = ({path.name for path in folder.rglob("*-cache")} for folder in (own, others))
    assert kept and kept <= taken
