"""A folder of its own for each run: for what compilers keep, and for temporary files. It goes when the run has ended.

Only programs that were compiled for a CPU, and those with which JAX builds a model on a GPU, pass from a run to later
ones, where their requests say so: what is in them depends on nothing that was timed. They are linked: a run that writes
one anew leaves the others' as it was.

On a GPU, compiling chooses algorithms by timing them. From a cache on disk, all blocks of a comparison, its A/A
control and later reports would share that one draw, and the first epoch of all but one run would hold no compiling.
Temporary files are removed by a process as it exits: a run that is ended otherwise leaves them behind, TensorFlow's
AutoGraph one for each function that it translates. Knows no framework.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

# Of torch.compile: Inductor's graphs, programs and choices, and Triton's kernels; of JAX: programs.
# TensorFlow keeps nothing on disk unless it is told to. What the driver compiles for a GPU it alone knows: no choices.
# Source: torch/_inductor/runtime/cache_dir_utils.py; jax/_src/compilation_cache.py
OF_JAX = "JAX_COMPILATION_CACHE_DIR"
OF_INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"
VARIABLES = (OF_INDUCTOR, "TRITON_CACHE_DIR", OF_JAX)
PREFIX = "trainspeed-"
# What compilers keep: in folders of these variables, of Inductor headers among the temporary files, too.
COMPILERS = ("torchinductor", OF_JAX.lower())
# Sources, what was made of them, and that it could be loaded; no choices, as in the files of graphs and of autotuning.
PROGRAMS = (".cpp", ".so", ".load_ok", ".h", ".gch", "-cache")
# A socket's path has at most 104 bytes on macOS, 108 on Linux (sys/un.h); those of Python's multiprocessing are in
# the folder of temporary files, with such a name.
SOCKET_BYTES = 103 - len("/pymp-abcdefgh/listener-abcdefgh")
_own_and_others: tuple[str, str] | None = None  # folders of this process: see `use`


def new_folder(parent: str | None = None) -> str:
    """Make an empty folder, and return its path.

    Args:
        parent: Where to make it, with a short name; None: among the system's temporary files.
    """
    return tempfile.mkdtemp(prefix="" if parent else PREFIX, dir=parent)


def use_for_import(folder: str) -> None:
    """Have this process keep there what a framework makes as it is imported: torch.compile its folder, if empty.

    The others read their variables then, and would keep more than they do.
    """
    os.environ[OF_INDUCTOR] = os.path.join(folder, OF_INDUCTOR.lower())


def use(folder: str, for_later_runs: str | None = None) -> None:
    """Have this process, and those that it starts, keep there what they compile, and their temporary files.

    What the user has set does not count. Temporary files remain among the system's where its folder has so long a
    path that sockets would not work.

    Args:
        for_later_runs: Folder in which `leave_programs` leaves programs; None: nowhere.
    """
    global _own_and_others
    _own_and_others = (folder, for_later_runs) if for_later_runs else None
    for variable in VARIABLES:
        os.environ[variable] = os.path.join(folder, variable.lower())
    if len(os.fsencode(folder)) <= SOCKET_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = folder


def share_programs(own: str, others: str) -> None:
    """Link into a folder the programs that compilers keep in another one, as far as it has none of that name.

    Args:
        own, others: Folders of runs, or of what is kept for runs; the second one is made where it is missing.
    """
    for folder, _, names in os.walk(own):
        inside = os.path.relpath(folder, own)
        to = os.path.join(others, inside)
        programs = [n for n in names if n.endswith(PROGRAMS) and inside.startswith(COMPILERS)]
        if programs:
            os.makedirs(to, exist_ok=True)
        for name in programs:
            # It is there, or there are no links here: then it is compiled again.
            with contextlib.suppress(OSError):
                os.link(os.path.join(folder, name), os.path.join(to, name))


def leave_programs() -> None:
    """Leave the programs that this process has compiled so far for later runs, where there is a folder for them."""
    if _own_and_others:
        share_programs(*_own_and_others)


def remove(folder: str) -> None:
    """Remove a folder of `new_folder`, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
