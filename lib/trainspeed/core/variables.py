"""Environment variables by which users change how fast frameworks train. Knows no run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping

from trainspeed.core.levers.host import MALLOC_THRESHOLDS, THREAD_VARIABLES
from trainspeed.core.levers.registry import LEVERS

# Variable of a lever -> others that set the same.
ALIASES = {
    "PYTORCH_ALLOC_CONF": ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
    "TF_SET_ONEDNN_FPMATH_MODE": ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"),
    "OMP_PLACES": ("GOMP_CPU_AFFINITY", "KMP_AFFINITY"),
}
# Those of no lever. Sources: the documentation of OpenMP, oneDNN, oneMKL, CUDA, cuBLAS, NCCL, glibc, Python and of each
# framework.
OF_NO_LEVER = (
    *("OMP_DYNAMIC", "OMP_SCHEDULE", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
    *("KMP_BLOCKTIME", "KMP_HW_SUBSET", "KMP_LIBRARY", "MKL_THREADING_LAYER"),
    *("MKL_DYNAMIC", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"),
    *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE", "DNNL_VERBOSE", "ATEN_CPU_CAPABILITY"),
    *("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"),
    *("MALLOC_ARENA_MAX", "MALLOC_CHECK_", "MALLOC_CONF", "MALLOC_PERTURB_", "MALLOC_TOP_PAD_"),
    *("PYTHONMALLOC", "PYTHONTRACEMALLOC", "PYTHONDEVMODE", "PYTHON_JIT", "PYTHON_GIL"),
    *("NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS"),
    *("CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE"),
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NET", "NCCL_NVLS_ENABLE"),
    *("PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_DISTRIBUTED_DEBUG"),
    *("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "TORCHINDUCTOR_FREEZING", "TORCHINDUCTOR_MAX_AUTOTUNE"),
    *("TF_XLA_FLAGS", "TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_AUTOTUNE"),
    *("TF_FORCE_GPU_ALLOW_GROWTH", "TF_ENABLE_CUBLAS_TF32", "TF_DISABLE_MKL"),
    *("JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_DISABLE_JIT", "JAX_DEBUG_NANS"),
    *("JAX_DEBUG_INFS", "JAX_ENABLE_CHECKS", "JAX_CPU_ENABLE_ASYNC_DISPATCH", "JAX_PLATFORMS"),
    *("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR"),
    "XLA_CLIENT_MEM_FRACTION",
)
PATH = re.compile(r"[^\s=:,;]*[/~][^\s=:,;]*")  # among others; it may name a user
LIBRARY = ".so"
LEFT_OUT = "…"
MOST_LETTERS = 200  # of a value


def speed_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that are set and bear on times -> their values as they may be shared, by name.

    Of paths the names of libraries are left. Malloc's thresholds are told also where they are set to nothing, which
    takes Trainspeed's own away.
    """
    known = {*OF_NO_LEVER, *MALLOC_THRESHOLDS}
    known.update(*THREAD_VARIABLES.values(), *ALIASES.values())
    known.update(*(values for lever in LEVERS.values() for values in lever.environment.values()))
    there = (n for n in sorted(known) if environment.get(n) or (n in MALLOC_THRESHOLDS and n in environment))
    return {name: _shared(environment[name]) for name in there}


def _shared(value: str) -> str:
    """Return a value without paths, and as text that any file can hold; what is too long ends in a hash."""
    readable = "".join(letter if letter.isprintable() else "?" for letter in value)
    text = PATH.sub(lambda found: _library(found.group()), readable)
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS]}{LEFT_OUT} ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _library(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if LIBRARY in name and "~" not in name else LEFT_OUT
