"""Environment variables by which users change how fast frameworks train. Knows no run."""

from __future__ import annotations

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
    *("OMP_DYNAMIC", "OMP_SCHEDULE", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_HW_SUBSET"),
    *("MKL_DYNAMIC", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"),
    *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE", "DNNL_VERBOSE", "ATEN_CPU_CAPABILITY"),
    *("MALLOC_ARENA_MAX", "MALLOC_CONF", "MALLOC_PERTURB_", "PYTHONMALLOC", "PYTHONDEVMODE", "PYTHON_JIT"),
    *("NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS"),
    *("CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE"),
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NVLS_ENABLE"),
    *("PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_DISTRIBUTED_DEBUG"),
    *(
        "TORCH_COMPILE_DISABLE",
        "TORCHDYNAMO_DISABLE",
        "TORCHINDUCTOR_MAX_AUTOTUNE",
        "TORCH_SHOW_CPP_STACKTRACES",
    ),
    *("TF_XLA_FLAGS", "TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_AUTOTUNE"),
    *("TF_FORCE_GPU_ALLOW_GROWTH", "TF_ENABLE_CUBLAS_TF32", "TF_DISABLE_MKL"),
    *("JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_DISABLE_JIT", "JAX_DEBUG_NANS"),
    *("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR"),
)
FOLDER = re.compile(r"[^\s=:,;]*/")  # of a path among others, which may name a user


def speed_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that are set and bear on times -> their values, paths without their folders, by name."""
    known = {*OF_NO_LEVER, *MALLOC_THRESHOLDS}
    known.update(*THREAD_VARIABLES.values(), *ALIASES.values())
    known.update(*(values for lever in LEVERS.values() for values in lever.environment.values()))
    return {name: FOLDER.sub("", environment[name]) for name in sorted(known) if environment.get(name)}
