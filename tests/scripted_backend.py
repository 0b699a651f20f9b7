"""A real backend as a worker imports it, and before each request what a test tells beside it, by a file.

Runs in the framework's own environment: see `shared_workers.py`, which starts it and writes the file.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from trainspeed.core.result import RunResult
from trainspeed.sensors import processes
from trainspeed.worker import backends
from trainspeed.worker.events import ResultSent, encode_event

BACKEND = backends.load_backend(backends.MODULES[os.environ["TRAINSPEED_TEST_FRAMEWORK"]])
FILE = Path(os.environ["TRAINSPEED_TEST_TOLD"])
OWN = dict(os.environ)
worker = sys.modules["__main__"]  # trainspeed.worker.main
told: dict[str, Any] = {}
if os.environ["TRAINSPEED_TEST_FRAMEWORK"] == "jax":
    import jax

    from trainspeed.worker.backends import jax_backend

    compile_anew, keep_programs = jax_backend.compile_anew, jax_backend.keep_programs

    def compile_once() -> None:
        """Keep programs for the other runs: no test of these measures, and many compile the same."""
        jax.config.update("jax_compilation_cache_dir", str(FILE.with_name("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    jax_backend.compile_anew = jax_backend.keep_programs = compile_once
cores = processes.usable_cores()
# From the first core on, as the other process of tests uses the last one: for the report that tests share, too.
if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
    processes.usable_cores = lambda: cores[::-1]


def with_its_environment(request_of):
    """Read what is told of a request as it arrives: nothing of the last one's is left."""

    def wrapped(line):
        told.update(json.loads(FILE.read_text()))
        os.environ.clear()
        os.environ.update(OWN | told["environment"])
        return request_of(line)

    return wrapped


def or_its_probe(measure):
    """Import in the child what plants something there, or call a probe instead of measuring."""

    def wrapped(request, backend, images, channel):
        if told["plant"]:
            importlib.import_module(told["plant"])
        if not told["probe"]:
            return measure(request, backend, images, channel)
        try:
            importlib.import_module(told["probe"]).main(*told["arguments"])
        except Exception:
            traceback.print_exc()
            raise
        finally:
            sys.stdout.flush()
        return channel.send(encode_event(ResultSent(result=RunResult())))

    return wrapped


worker.Request.from_json = staticmethod(with_its_environment(worker.Request.from_json))
worker.measure_trial = or_its_probe(worker.measure_trial)
