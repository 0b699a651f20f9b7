"""How large a picture is shown that says so itself, in pixels of CSS: PNG and SVG."""

from __future__ import annotations

import base64
import binascii
import re
import struct

DATA = re.compile(r"data:(image/[a-z+]+);base64,(.*)", re.DOTALL)
# Signature, length and name of the first chunk, then width and height.
# Source: https://www.w3.org/TR/png-3/#11IHDR
PNG = struct.Struct(">8s4x4sII")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
SVG_TAG = re.compile(r"<svg\b[^>]*>")
SVG_LENGTH = re.compile(r"""\s(width|height)=["'](\d+(?:\.\d+)?)(px|pt|in)?["']""")
PIXELS = {"": 1.0, "px": 1.0, "pt": 96 / 72, "in": 96.0}
HEAD = 4096  # letters, of base64, in half of which a picture names its size; divisible by 8


def picture_size(source: str) -> tuple[int, int] | None:
    """Return width and height of the picture in a `data:` address; None where it does not say."""
    if not (data := DATA.fullmatch(source)):
        return None
    try:
        head = base64.b64decode("".join(data[2][:HEAD].split())[: HEAD // 2], validate=True)
    except binascii.Error:
        return None
    if data[1] == "image/png" and len(head) >= PNG.size:
        signature, chunk, width, height = PNG.unpack_from(head)
        return (width, height) if (signature, chunk) == (SIGNATURE, b"IHDR") else None
    if data[1] == "image/svg+xml" and (tag := SVG_TAG.search(head.decode(errors="replace"))):
        sides = {name: float(size) * PIXELS[unit] for name, size, unit in SVG_LENGTH.findall(tag[0])}
        return (round(sides["width"]), round(sides["height"])) if len(sides) == 2 else None
    return None
