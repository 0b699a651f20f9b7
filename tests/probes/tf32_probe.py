"""In a framework's environment: in which work it allows TF32 by itself, and after its switch was set.

Touches no GPU: the switches are those of a process, with or without one. What JAX writes into a program for GPUs, it
tells without one, too.
"""

from __future__ import annotations

import importlib
import json
import re

from trainspeed.worker import backends

SETTINGS = {"left alone": None, "strict": False, "allowed": True}


def main(framework: str, out: str) -> None:
    backend = importlib.import_module(backends.MODULES[framework])
    allowed = {}
    for name, flag in SETTINGS.items():
        backend.set_tf32(flag)
        allowed[name] = backend.tf32_allowed()
    programs = _precisions_in_programs(backend) if framework == "jax" else {}
    with open(out, "w") as file:
        json.dump({"allowed": allowed, "programs": programs}, file)


def _precisions_in_programs(backend) -> dict[str, list]:
    """Return setting -> precision of a convolution and of a product in the program for GPUs, and what we say of it."""
    import jax

    image, kernel, square = (
        jax.ShapeDtypeStruct(shape, "float32") for shape in ((1, 8, 8, 3), (3, 3, 3, 4), (8, 8))
    )

    def convolve(x, y):
        return jax.lax.conv_general_dilated(x, y, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def precision(work, *arguments) -> str:
        jax.clear_caches()  # what was traced before has the precision of then
        text = jax.jit(work).trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
        algorithm = re.search(r"lhs_precision_type = (\w+)", text)
        return algorithm[1] if algorithm else re.search(r"\b(DEFAULT|HIGHEST|HIGH)\b", text)[1]

    found = {}
    for flag in (True, False, "tensorfloat32", "F32_F32_F32", "TF32_TF32_F32"):
        if isinstance(flag, bool):
            backend.set_tf32(flag)
        else:
            jax.config.update("jax_default_matmul_precision", flag)
        product = precision(lambda x: x @ x, square)
        found[str(flag)] = [precision(convolve, image, kernel), product, backend.tf32_allowed()]
    return found
