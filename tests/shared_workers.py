"""One worker of each framework for all tests that train: it is imported once, and each test has forks of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil
import pytest

from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.conduct.machine import find_interpreter, has_gpu
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.files import write_atomically
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.worker.request import Request

NOWHERE = "http://127.0.0.1:9"
OFFLINE = {"HF_ENDPOINT": NOWHERE, "HF_HUB_OFFLINE": "", "no_proxy": "", "NO_PROXY": ""}
OFFLINE |= {"https_proxy": NOWHERE, "HTTPS_PROXY": NOWHERE}
# Programs that run a few times take longer to optimise than that saves. XLA's newer emitters make twice as much code.
XLA_FLAGS = "--xla_cpu_use_fusion_emitters=false --xla_llvm_disable_expensive_passes=true"
QUICK_COMPILER = {"XLA_FLAGS": f"{XLA_FLAGS} --xla_backend_optimization_level=0"}
# Without it TensorFlow cannot train with channels_first, and some processors have it off.
ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "1"}
SMALL = {"model": "cnn10", "layout": "channels_last", "batch_size": 8, "images_per_epoch": 16}
SMALL |= {"epochs": 3, "image_size": 8, "dataset": "digits"}


class SharedWorker:
    """A real worker of one framework, on the CPU, that knows no weights and reaches no network.

    What a request cannot say goes to the forked run beside it: see `scripted_backend.py`.
    """

    def __init__(self, framework: str, folder: Path) -> None:
        """Start it.

        Args:
            folder: An own one, for what it is told; stands for its home, too.
        """
        self.framework = framework
        self._folder = folder
        self._process: WorkerProcess | None = None
        self._started()

    def run(
        self,
        trial: AnyTrial,
        *,
        environment: Mapping[str, str] | None = None,
        plant: str | None = None,
        device: str = "cpu",
        timeout_s: float = 300,
        **asked: object,
    ) -> RunOutcome:
        """Have a trial measured in a fork.

        Args:
            environment: Of this run only.
            plant: Module of `tests` that the fork imports first.
            asked: Fields of `Request`: evaluate, inspect, gpu_uuids.
        """
        return self._begun(
            trial, timeout_s, asked | {"device": device}, environment=environment, plant=plant
        ).end()

    def begin(
        self,
        trial: AnyTrial,
        *,
        environment: Mapping[str, str] | None = None,
        plant: str | None = None,
        timeout_s: float = 300,
        **asked: object,
    ) -> ForkedRun:
        """Have a trial begun in a fork; those that run beside one another are told the same."""
        return self._begun(trial, timeout_s, {"device": "cpu"} | asked, environment=environment, plant=plant)

    def probe(
        self, module: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> RunOutcome:
        """Have a fork call `main` of a module of `tests` with the arguments, as text."""
        trial = Trial(framework=self.framework, **SMALL)
        told = {"environment": environment, "probe": module, "arguments": [str(each) for each in arguments]}
        return self._begun(trial, 600, {"device": "cpu"}, **told).end()

    def probed(self, module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> None:
        """Do the same where it must end well."""
        outcome = self.probe(module, *arguments, environment=environment)
        assert outcome.status == Status.OK, outcome.reason

    def processes(self) -> list[psutil.Process]:
        """Return what runs of it but the worker itself: forks, forks of those, wherever they hang now."""
        itself = (self._process.pid, self._process._process.pid)  # and its reaper
        return [p for p in psutil.process_iter(["pid"]) if p.pid not in itself and self._is_of(p)]

    def close(self) -> None:
        """End it."""
        self._process.close()

    def _started(self) -> WorkerProcess:
        """Return the worker; a new one where a run took the old one with it."""
        if self._process is None or not self._process.alive:
            home, tests = str(self._folder), Path(__file__).parent
            quick = {} if has_gpu() else QUICK_COMPILER  # there, tests look at times
            environment = {**OFFLINE, **quick, **ONEDNN, "CUDA_VISIBLE_DEVICES": ""}
            environment |= {"HF_HOME": home, "KERAS_HOME": home}
            found = [str(ROOT / "lib"), str(tests), *filter(None, [os.environ.get("PYTHONPATH")])]
            environment |= {"PYTHONPATH": os.pathsep.join(found)}
            environment |= {
                "TRAINSPEED_TEST_FRAMEWORK": self.framework,
                "TRAINSPEED_TEST_TOLD": str(self._file),
            }
            python = find_interpreter(self.framework)
            self._process = WorkerProcess(python, "scripted_backend", environment=environment)
        return self._process

    @property
    def _file(self) -> Path:
        return self._folder / "told.json"

    def _begun(
        self, trial: AnyTrial, timeout_s: float, asked: Mapping[str, object], **told: object
    ) -> ForkedRun:
        told = {"plant": None, "probe": None, "arguments": []} | told
        told["environment"] = dict(told["environment"] or {})
        write_atomically(self._file, json.dumps(told))  # another run may be reading the same
        request = Request(trial=trial, requested_at=time.monotonic(), **asked)
        return self._started().begin(request, timeout_s)

    def _is_of(self, process: psutil.Process) -> bool:
        """Whether it has the environment that this worker was started with, which forks keep."""
        try:
            told = process.environ().get("TRAINSPEED_TEST_TOLD")
            return told == str(self._file) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:  # ended meanwhile, or another user's
            return False


class SharedWorkers:
    """The workers of a run of tests, each started when it is first asked for."""

    def __init__(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self._factory = tmp_path_factory
        self._started: dict[str, SharedWorker] = {}

    def __call__(self, framework: str) -> SharedWorker:
        """Return that of a framework; a test of one that is not installed here is skipped."""
        if framework not in self._started:
            if find_interpreter(framework) is None:
                pytest.skip(f"{framework} is not installed here")
            self._started[framework] = SharedWorker(framework, self._factory.mktemp(framework))
        return self._started[framework]

    def probed(
        self, module: str, folder: Path, ending: str, arguments: Mapping[str, Iterable[object]] | None = None
    ) -> dict[str, Path]:
        """Have every framework that is installed write a file by a probe; return framework -> file.

        Args:
            module: Its `main` takes the framework, the file, and what `arguments` has for it.
        """
        files = {name: folder / f"{name}{ending}" for name in FRAMEWORKS if find_interpreter(name)}
        for name, file in files.items():
            self(name).probed(module, name, file, *(arguments or {}).get(name, ()))
        return files

    def close(self) -> None:
        """End them all."""
        for worker in self._started.values():
            worker.close()
