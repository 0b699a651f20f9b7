"""The options that XLA compiles with in this process, read from the message that JAX hands it. Touches no device."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jaxlib import _jax

from trainspeed.worker.failures import Unsupported

VARIABLE = "XLA_FLAGS"
# Numbers of the fields that lead to XLA's options: CompileOptionsProto, ExecutableBuildOptionsProto.
BUILD_OPTIONS, DEBUG_OPTIONS = 3, 3
Fields = Mapping[int, list[int | bytes]]


def check_flags() -> None:
    """Raise Unsupported where XLA does not know one of its flags: it would end this process without an exception."""
    if not os.environ.get(VARIABLE):
        return
    child = os.fork()
    if not child:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 2)
            debug_options()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise Unsupported(f"this jaxlib does not take {VARIABLE}={os.environ[VARIABLE]}")


def debug_options() -> Fields:
    """Return number of the field -> its values of XLA's `DebugOptions`, where they are not 0.

    Source: https://github.com/openxla/xla/blob/main/xla/xla.proto, whose numbers never change their meaning.
    """
    options = _jax.CompileOptions()
    build = options.executable_build_options
    build.debug_options.xla_cpu_enable_fast_math  # noqa: B018 - which makes it read the variable
    (built,) = fields_of(options.SerializeAsString())[BUILD_OPTIONS]
    return fields_of(fields_of(built)[DEBUG_OPTIONS][0])


def fields_of(message: bytes) -> dict[int, list[int | bytes]]:
    """Return number of the field -> its values in a protocol buffer message; numbers of a fixed length are bytes.

    Source: https://protobuf.dev/programming-guides/encoding/
    """
    fields: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
        else:
            length, at = _varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = message[at : at + length], at + length
        fields.setdefault(number, []).append(value)
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, the lowest first, and where what follows it begins."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
