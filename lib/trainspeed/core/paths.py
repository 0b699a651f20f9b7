"""Where the project's files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # the folder that holds notebooks, lib, data and outputs
