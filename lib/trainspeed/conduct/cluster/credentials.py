"""The token of a fleet: whoever has it runs code on all of its nodes. Never printed, never in a ledger.

It is in a file of its own on each machine, the same on all.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from trainspeed.core.errors import UserError

FOLDER = Path("~/.trainspeed")
TEXT_VARIABLE, PATH_VARIABLE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"  # the engine's own, which come first
MODE = "RAY_AUTH_MODE"
HEX_DIGITS = 64


def token_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where the token of the fleet lies on this machine."""
    return Path(environment.get(PATH_VARIABLE) or FOLDER / "token").expanduser()


def make_token() -> None:
    """Make a token where there is none yet, for this user's eyes only."""
    path = token_path()
    if os.environ.get(TEXT_VARIABLE) or path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(HEX_DIGITS // 2))


def token_variables() -> dict[str, str]:
    """Return the variables by which the engine finds the token on this machine.

    Raises:
        UserError: There is no token, or others can read it.
    """
    if os.environ.get(TEXT_VARIABLE):  # what Kubernetes hands to its pods
        return {MODE: "token"}
    path = token_path()
    try:
        text, mode = path.read_text().strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError):
        text, mode = "", 0
    if not text:
        raise UserError(
            f"no token in {path}: copy the head's to here, mode 600. `make node` without HEAD made it there."
        )
    if mode & 0o077:
        raise UserError(
            f"others can read the token in {path}, and with it run code on every node: chmod 600 {path}"
        )
    return {MODE: "token", PATH_VARIABLE: str(path)}


def remember_head(address: str) -> None:
    """Note where the head is, for `make fleet` on this machine."""
    path = FOLDER.expanduser() / "head"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(f"{address}\n")


def remembered_head() -> str:
    """Return where the head of this machine's last `make node` is.

    Raises:
        UserError: There was none.
    """
    try:
        return (FOLDER.expanduser() / "head").read_text().strip()
    except OSError:
        raise UserError("no HEAD: name it, HEAD=10.0.0.5, or start it here with `make node`.") from None
