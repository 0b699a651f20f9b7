"""In a framework's environment: in which work it allows TF32 by itself, and after its switch was set; and profiles.

Touches no GPU: the switches are those of a process, with or without one. What JAX writes into a program for GPUs, it
tells without one, too.
"""

from __future__ import annotations

import importlib
import json
import re

from trainspeed.worker import backends

# As a GPU's plane is written: two kernels on a stream, and the same time under the name of an operation.
PROFILE = """
planes {
  name: "/device:GPU:0"
  lines {
    name: "Stream #7(Compute)" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 9000 duration_ps: 5000 }
    events { metadata_id: 2 offset_ps: 2000 duration_ps: 4000 }
  }
  lines { name: "XLA Ops" timestamp_ns: 1000 events { metadata_id: 3 offset_ps: 2000 duration_ps: 12000 } }
  event_metadata { key: 1 value { id: 1 name: "sgemm" } }
  event_metadata { key: 2 value { id: 2 name: "sine" } }
  event_metadata { key: 3 value { id: 3 name: "dot.1" } }
}
"""
SETTINGS = {"left alone": None, "strict": False, "allowed": True}


def main(framework: str, out: str) -> None:
    backend = importlib.import_module(backends.MODULES[framework])
    allowed = {}
    for name, flag in SETTINGS.items():
        backend.set_tf32(flag)
        allowed[name] = backend.tf32_allowed()
    programs = _precisions_in_programs(backend) if framework == "jax" else {}
    with open(out, "w") as file:
        json.dump({"allowed": allowed, "programs": programs, "kernels": _profiles(framework)}, file)


def _profiles(framework: str) -> list[list] | None:
    """Return the kernels of the profile above, and of one that is made here: a CPU has none."""
    from trainspeed.worker.kernels import kernels_of_data, kernels_of_space

    if framework == "jax":
        import jax

        from trainspeed.worker.probes.jax_probes import trace

        data = jax.profiler.ProfileData
        made_up = data.from_serialized_xspace(data.text_proto_to_serialized_xspace(PROFILE))
        return [kernels_of_data(made_up), trace(lambda: jax.numpy.ones(1).block_until_ready())]
    if framework == "tensorflow":
        import tensorflow as tf
        from google.protobuf import text_format
        from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

        from trainspeed.worker.probes.tensorflow_probes import trace

        return [kernels_of_space(text_format.Parse(PROFILE, XSpace())), trace(lambda: tf.ones(1).numpy())]
    return None


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
