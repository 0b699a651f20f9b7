"""Where compilers keep what they compiled: a folder of its own for each run, so that no run inherits another's.

On a GPU, compiling chooses algorithms by timing them. From a cache on disk, all blocks of a comparison, its A/A
control and later reports would share that one draw, and the first epoch of all but one run would hold no compiling.
Knows no framework.
"""

from __future__ import annotations

import os
import shutil
import tempfile

# Of torch.compile: Inductor's graphs, programs and choices, and Triton's kernels. TensorFlow keeps nothing on disk
# unless it is told to, and JAX is told not to. What the driver compiles for a GPU it alone knows: no choices.
# Source: torch/_inductor/runtime/cache_dir_utils.py
VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
PREFIX = "trainspeed-compiled-"


def new_folder(parent: str | None = None) -> str:
    """Make an empty folder, and return its path.

    Args:
        parent: Where to make it; None: among the system's temporary files.
    """
    return tempfile.mkdtemp(prefix=PREFIX, dir=parent)


def use(folder: str) -> None:
    """Have this process, and those that it starts, keep what they compile in a folder, whatever the user has set."""
    for variable in VARIABLES:
        os.environ[variable] = os.path.join(folder, variable.lower())


def remove(folder: str) -> None:
    """Remove a folder of `new_folder`, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
