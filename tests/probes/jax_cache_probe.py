"""In JAX's environment: what a compilation leaves in the folder that a user has named for it."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache

from scripted_backend import compile_anew, compile_once, keep_programs
from trainspeed.worker import run_folder

LIKE = {"a run": compile_anew, "a user's script": compile_once}
HIT, MISS = (f"/jax/compilation_cache/cache_{name}" for name in ("hits", "misses"))


def main(like: str, folder: str, others: str | None = None) -> None:
    if others is not None:
        return pass_on(folder, others)
    if like == "a build":
        return keep_none_but_of_a_build(folder)
    LIKE[like]()
    jax.config.update("jax_compilation_cache_dir", folder)
    return compute()


def compute() -> None:
    jax.jit(lambda x: x + 1)(jnp.zeros(3)).block_until_ready()


def keep_none_but_of_a_build(folder: str) -> None:
    """As a run on a GPU does: what its steps are compiled to comes from no folder, and is left in none."""
    seen: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
    os.environ[run_folder.OF_JAX] = folder
    keep_programs()
    compute()
    compile_anew()
    kept = {path.name for path in Path(folder).rglob("*-cache")}
    jax.clear_caches()
    seen.clear()
    compute()
    jax.jit(lambda x: 2 * x)(jnp.zeros(3)).block_until_ready()
    assert kept == {path.name for path in Path(folder).rglob("*-cache")} and not {HIT, MISS} & {*seen}, seen


def pass_on(own: str, others: str) -> None:
    """Keep a run's programs, and have another one take what is passed on of them, but none on fewer cores."""
    seen: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
    cores = sorted(os.sched_getaffinity(0))
    for folder, count, taken in ((own, len(cores), False), (others, len(cores), True), (others, 1, False)):
        os.environ[run_folder.OF_JAX] = str(Path(folder, run_folder.OF_JAX.lower()))
        os.sched_setaffinity(0, cores[:count])
        keep_programs()
        jax.clear_caches()
        compilation_cache.reset_cache()
        seen.clear()
        compute()
        found = HIT in seen, MISS in seen
        assert found == (taken, not taken) or (count == 1 == len(cores)), (folder, count, seen)
        if folder == own:
            run_folder.share_programs(own, others)
