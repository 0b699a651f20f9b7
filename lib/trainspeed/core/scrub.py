"""Take this machine's paths and names out of what is shared. Knows no notebook and no file."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

# Images are base64 text; a path may occur in one by chance, and replacing it would break the image.
EMBEDDED = re.compile(r"(data:[\w.+/-]+;base64,[A-Za-z0-9+/=\s]*)")
WORD = re.compile(r"[\w.-]+")
# Names that say nothing about a person or a machine.
GENERIC = {"root", "user", "admin", "ubuntu", "debian", "jovyan", "runner", "vscode", "nobody", "localhost"}
# Shorter names are too likely to be parts of ordinary text: a host's goes from addresses only.
MIN_NAME_LETTERS = 3
# Folders of temporary files that tell nothing.
EVERYBODYS = {"/tmp", "/var/tmp", "/usr/tmp", "/dev/shm"}
# Names of parts of a machine, which its owner may call it by: written in another case, they are those parts.
PRODUCTS = {"nvidia", "geforce", "tesla", "quadro", "jetson", "grace", "hopper"}
PRODUCTS |= {"intel", "ryzen", "radeon", "linux"}
# In a name that is no model of a GPU and no short word, such as h100 or adam.
TELLING = re.compile(r"[^\W\d_]{5}")
# What a path or a URL may hold, as far as it has a slash in it.
PATH = re.compile(r"(?<![\w.@+~%=-])[\w.@+~%=-]*+(?:/[\w.@+~%=-]++)+")
ENCODED = r"(?<=%2[Ff])"  # behind an encoded slash
SCOPE = r"(?:%(?:25)?[\w-]+(?:\.\w+)*)?"  # the interface behind an address of IPv6
# Addresses that every machine has.
PEER = re.compile(r"\[[\w.:%-]+\]:\d{1,5}\b")  # how gloo and torch's store write a machine and a port
LOOPBACK = re.compile(r"127\.[\d.]+|::1?|0\.0\.0\.0|(00[:-]){5}00|(ff[:-]){5}ff", re.IGNORECASE)

# A pattern, and what is written in its place.
Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def scrubber(
    *,
    root: Path,
    out: Path | None = None,
    home: Path | None = None,
    names: Mapping[str, str] | None = None,
    own_words: Iterable[str] = (),
    addresses: Iterable[str] = (),
) -> Callable[[str], str]:
    """Return a function that takes paths and names out of a text.

    The project's folder becomes ".", the output folder its own name, the home folder "~", that of temporary files
    "$TMPDIR" where the user has one, a cell's temporary file "notebook cell"; the user's name becomes "user", the
    machine's "host", and the addresses of its network "address".

    A name is a word of its own; in a path it may have - or _ beside it, and everywhere in any case where it is a
    telling one: long enough, and no part of a word that pages are known to have anyway.

    Args:
        names: Name -> what to write instead; by default those of the user, the machine and its addresses.
        own_words: Texts that were there before anything ran, such as the notebooks' sources. A name
            that is a word in one of them is an ordinary word here (a machine called "layout") and stays.
        addresses: Of other machines that took part, which are "address" too, by whatever name an error has them.
    """
    temporary = tempfile.gettempdir()
    folders = {} if temporary in EVERYBODYS else {temporary: "$TMPDIR"}
    folders |= {str(root): ".", str(home or Path.home()): "~"}
    if out is not None:
        folders[str(out)] = out.name
    folders |= {os.path.realpath(path): short for path, short in folders.items()}
    folders.pop("/", None)  # a home folder of "/" hides nothing
    names = _machine_names() if names is None else names
    ordinary = {word for text in own_words for word in WORD.findall(text)}
    known = {part.lower() for word in ordinary for part in (word, *re.split(r"[\W_]+", word))}
    names = {name: short for name, short in names.items() if name not in ordinary}
    others = dict.fromkeys((a for a in addresses if not LOOPBACK.fullmatch(a)), "address")

    cell = re.escape(temporary) + r"/ipykernel_\d+/\d+\.py"
    rules: list[Rule] = [(re.compile(cell), "notebook cell")]
    rules += [(PEER, "address")] if others else []
    names = {**names, **others}
    for path in sorted(folders, key=len, reverse=True):
        literal = folders[path].replace("\\", r"\\")
        rules.append((re.compile(rf"(?<![\w.~-]){re.escape(path)}(?![\w-])"), literal))
    for name in sorted(names, key=len, reverse=True):
        is_known = name.lower() in known
        telling = bool(known) and not is_known and name.lower() not in PRODUCTS and bool(TELLING.search(name))
        rules += _rules_of(name, names[name], telling=telling, known=is_known)

    def scrub(text: str) -> str:
        parts = EMBEDDED.split(text)
        for index in range(0, len(parts), 2):
            for pattern, short in rules:
                parts[index] = pattern.sub(short, parts[index])
        return "".join(parts)

    return scrub


def _rules_of(name: str, short: str, *, telling: bool, known: bool) -> list[Rule]:
    """Return what is to be written in place of a name, and where.

    Args:
        telling: Whether it is no other word, in any case, nor with - or _ beside it.
        known: Whether it is a part of a word that pages have anyway.
    """
    plain = re.escape(name)
    if ":" in name:  # an address, which may say its interface
        return [(re.compile(rf"(?<![\w-]){plain}{SCOPE}(?![\w-])", re.IGNORECASE), short)]
    if len(name) < MIN_NAME_LETTERS:
        return [(re.compile(rf"(?:(?<=://)|(?<=\w@)){plain}(?![\w-])"), short)]
    loose = rf"(?:(?<![^\W_])|{ENCODED}){plain}(?![^\W_])"  # letters and digits alone belong to it
    if telling and short != "address":
        return [(re.compile(loose, re.IGNORECASE), short)]
    strict = re.compile(rf"(?:(?<![\w-])|{ENCODED}){plain}(?![\w-])")
    if known or short == "address":
        return [(strict, short)]
    return [(strict, short), (PATH, lambda path: re.sub(loose, short, path[0]))]


def scrub_all(value: Any, scrub: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it scrubbed, except images; the values keep their types."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return type(value)({k: v if _is_image(k, v) else scrub_all(v, scrub) for k, v in value.items()})
    if isinstance(value, list):
        return [scrub_all(item, scrub) for item in value]
    return value


def _is_image(key: str, value: Any) -> bool:
    return key.startswith("image/") and isinstance(value, str)


def _machine_names() -> dict[str, str]:
    """Return what names this machine, its user and the IP and MAC addresses of its network -> what to write."""
    host = socket.gethostname()
    names = {host: "host", host.split(".")[0]: "host"}
    with contextlib.suppress(KeyError, OSError):  # a container may run under a number that has no name
        names[getpass.getuser()] = "user"
    names = {n: short for n, short in names.items() if n and n.lower() not in GENERIC}
    names = {n: short for n, short in names.items() if len(n) >= MIN_NAME_LETTERS or short == "host"}
    with contextlib.suppress(OSError):  # some containers have no right to ask for addresses
        for interface in psutil.net_if_addrs().values():
            addresses = [entry.address.partition("%")[0] for entry in interface]
            names |= {a: "address" for a in addresses if a and not LOOPBACK.fullmatch(a)}
    return names
