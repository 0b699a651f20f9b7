"""A report's folder that somebody made up to do harm: runs, sessions, coverage, monitor files, what else lies there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hostile_ledger
from hostile_ledger import HOST, MARKUP, NO_RUNS
from study_data import make_trial
from trainspeed.core.monitor_csv import MONITOR_COLUMNS

SESSION, OLDER = "20261120T100000Z-abcd", "20261119T100000Z-abcd"
MODELS = ("cnn10", '<img src=x onerror=alert(1)>](https://evil.example) "`$x$ *m*.py:build')
BLOCKS = 6


def runs(study: str, session: str = SESSION) -> list[dict[str, Any]]:
    """Return lines of the right types, full of markup: pairs with an interval, controls, and every way to fail."""
    lines = []
    for block in range(BLOCKS):
        for number, (model, layout) in enumerate(
            (m, n) for m in MODELS for n in ("channels_first", "channels_last")
        ):
            trial = make_trial(model=model, layout=layout, seed=block).as_dict()
            seconds = (1.0 if layout == "channels_last" else 2.0) * (1 + block / 100)
            text = MARKUP[(block * 4 + number) % len(MARKUP)]
            about = {"study": study, "session": session, "block": block, "trial": trial, "turns": []}
            about["monitor"] = ("monitor/own.csv", "/dev/zero", "../../secret.csv", "monitor/pipe.csv")[
                number
            ]
            times = {"epoch_s": [3 * seconds, seconds, seconds], "status": "ok"}
            lines.append({**hostile_ledger.full_of(text, label="", **about), **times, "reason": None})
            if number < 2:
                lines.append({**lines[-1], "label": "A again"})
    for status, text in zip(
        ("oom", "timeout", "unsupported", "crashed", "invalid") * 3, MARKUP, strict=False
    ):
        trial = make_trial(batch_size=8 * 2 ** len(lines) % 99 or 8, images_per_epoch=99 * 8, model=MODELS[1])
        failed = hostile_ledger.full_of(text, label="", study=study, session=session, trial=trial.as_dict())
        lines.append({**failed, "status": status, "epoch_s": [], "turns": []})
    return lines


def write(folder: Path, study: str = "layout") -> int:
    """Write the folder; return how many of its ledger's lines are wrong."""
    wrong = [line for _, line in hostile_ledger.wrong_lines() if _is_refused(line)]
    lines: list[Any] = [*runs(study), *NO_RUNS, *wrong[:: len(wrong) // 50]]
    hostile_ledger.write(folder, lines)
    (folder / "monitor").mkdir()
    sample = f"2026-11-20T10:00:00+00:00,gpu0,{MARKUP[0]!r},,50,1000,2000,,,,,<b>|$x$,,\n".replace(", ", " ")
    (folder / "monitor/own.csv").write_text(",".join(MONITOR_COLUMNS) + "\n" + sample + "\0garbage\n")
    session = {"session": SESSION, "preset": "quick", "notebooks": [study], "version": MARKUP[1][:200]}
    session["parameters"] = {study: {"models": [*MODELS, *MARKUP], "frameworks": ["torch"], "blocks": "six"}}
    coverage = {"session": SESSION, "study": study, "budget_s": 60.0, "spent_s": 5.0}
    group = {
        "part": MARKUP[0][:300],
        "core": True,
        "trials": [make_trial(model=MODELS[1]).as_dict()],
        "blocks": 0,
    }
    coverage["groups"] = [{**group, "most": 6}]
    for name, line in (("sessions.jsonl", session), ("coverage.jsonl", coverage)):
        damaged = [{**line, key: value} for key in line for value in ([], -1, {"a": "b"})]
        texts = [json.dumps(item) for item in (*damaged, line)]
        (folder / name).write_text("\n".join([*texts, "[" * 100_000, "{"]) + "\n")
    return len(lines) - len(runs(study))


def _is_refused(line: dict[str, Any]) -> bool:
    from trainspeed.core.ledger import parsed
    from trainspeed.core.run import SCHEMA, Run

    ((_, found),) = parsed([(1, json.dumps(line).encode())])
    return not isinstance(found, Run) and line.get("schema") in range(1, SCHEMA + 1)


__all__ = ["BLOCKS", "HOST", "MODELS", "OLDER", "SESSION", "runs", "write"]
