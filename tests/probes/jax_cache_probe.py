"""In JAX's environment: what a compilation leaves in the folder that a user has named for it."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from scripted_backend import compile_anew, compile_once

LIKE = {"a run": compile_anew, "a user's script": compile_once}


def main(like: str, folder: str) -> None:
    LIKE[like]()
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.jit(lambda x: x + 1)(jnp.zeros(3)).block_until_ready()
