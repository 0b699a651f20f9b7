"""Lines of a ledger that somebody made up to do harm: wrong in one field each, or right and full of markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from study_data import make_run
from trainspeed.core.result import EffectivePrecision, Turn
from trainspeed.core.run import LINE

HOST = "evil.example"
MARKUP = (
    f'<meta http-equiv="refresh" content="0;url=https://{HOST}/">',
    f'<a href="https://{HOST}/" style="position:fixed;inset:0">all of the page</a>',
    f"<img src=https://{HOST}/x.png onerror=alert(1)>",
    '<img src="/etc/hostname"><img src="local.png">',
    f"<script>location='https://{HOST}/'</script><iframe src=https://{HOST}></iframe>",
    f"</div></main><style>@import 'https://{HOST}/x.css'; * {{ position: fixed; inset: 0 }}</style>",
    f"[click](https://{HOST}/) ![seen](https://{HOST}/p.png) https://{HOST}/ <https://{HOST}/>",
    f"[x]: https://{HOST}/\n\n# Heading\n\n```\n<meta>\n```\n\n| a | b |\n|---|---|\n| <b> | c |",
    "``` <meta http-equiv=refresh>`x` `` <b>bold</b> ` <i>",
    r"$\frac{ $\input{/etc/passwd}$ $$\undefined{$$ TEX0XET TEX99999XET \\(x\\)",
    "\u202egpj.exe\u202c \u2066isolated\u2069 \x1b[31mred\x1b[0m \x00 \x07 \ufeff\u200b end",
    "&lt;b&gt; &#60;meta&#62; <!--> <b> <![CDATA[<b>]]> <?php ?>",
    "*" * 4000 + "_" * 4000,
    "very long " * 900,
)
# A value of every kind, wrong for almost every field.
WRONG = (
    *(
        None,
        True,
        -1,
        -1.5,
        0,
        1e300,
        10**30,
        "text",
        "9" * 20_000,
        "",
        [],
        {},
        [None],
        [[]],
        [-1.0],
        ["1.0"],
    ),
    *(
        {"a": {"b": []}},
        {"a": -1},
        {"": None},
        [{"round": 0}],
        {"gpus": "many"},
        {"gpus": [{}]},
        {"cores": 2},
    ),
    *({"cores": {"logical": "two"}}, {"cpu_flags": [1]}, {"memory_bytes": "1 GB"}, {"dtypes": [1]}),
    [{"kind": "cpu_throttled", "share": 80, "cores": 0.3}],
    *([{"kind": "cores_busy", "cores": "two"}], [{"kind": "of no kind"}], [{"layer": 1}], {"kernels": "k"}),
    *({"channels_last": None, "channels_first": 2}, "2026-13-01T00:00:00+00:00", "2026-01-01T00:00:00"),
    "0001-01-01T00:00:00+00:00",
)
NO_RUNS = (
    *(b"null", b"[]", b"7", b"{}", b'"text"', b"{", b"\xff\xfe", b'{"schema": NaN}', b'{"schema": 1e999}'),
    *(
        b"[" * 100_000,
        b'{"schema": ' + b"9" * 5000 + b"}",
        b'{"schema": {}}',
        b'{"schema": -1}',
        b"x" * 9_000_000,
    ),
    b'{"schema": 2, "session": "99991231T235959Z-ffff", "study": "layout", "garbage": [}',
    b'{"schema": 2, "session": "99991231T235959Z-ffff", "study": "layout"}',
)


def whole_line(**changed: Any) -> dict[str, Any]:
    """Return a line in which every field has a value."""
    turn = Turn(round=0, place=0, start_s=1.0, end_s=5.0, epoch_s=(1.0, 1.0))
    return {**make_run(
        turns=(turn,),
        stages_s={"start": 0.5, "build": 0.5, "train": 6.0},
        classes=10,
        test_accuracy=0.5,
        peak_memory_bytes=1000,
        effective_layout={"channels_last": 9},
        effective_precision=EffectivePrecision(dtypes={"float32": 9}),
        started_at="2026-11-20T10:00:00+00:00",
        monitor="monitor/m.csv",
    ).as_dict(), **changed}  # fmt: skip


def wrong_lines() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (field, line) for every field of a line and of its trial with every wrong value."""
    whole = whole_line()
    for name in LINE:
        for value in WRONG:
            yield name, {**whole, name: value}
        if name not in ("schema",):
            yield name, {other: value for other, value in whole.items() if other != name}
    for name in whole["trial"]:
        for value in WRONG:
            yield "trial", {**whole, "trial": {**whole["trial"], name: value}}


def full_of(markup: str, *, short: str | None = None, **changed: Any) -> dict[str, Any]:
    """Return a line of the right types with this text in every field that holds one.

    Args:
        short: The text for names; by default the markup's first letters.
    """
    name = markup[:300] if short is None else short
    gpu = {"name": name, "uuid": name, "memory_bytes": 10**10, "compute_capability": name}
    texts = ("device", "cpu", "governor", "no_gpus", "interconnect", "driver", "cuda", "os", "python")
    machine = {
        **dict.fromkeys(texts, name),
        "gpus": [gpu],
        "link": {"kind": name},
        "cpu_flags": [name],
        "cores": {"logical": 2},
    }
    layer = {
        "layer": name,
        "type": name,
        "output_shape": [1],
        "data_format": name,
        "bn_axis": 1,
        "forgot": True,
    }
    notes = [
        {"kind": "other", "text": markup},
        {"kind": "not_inspected", "error": markup, "message": markup},
        {"kind": "precision_not_asked", "asked": [name], "ran": [name]},
        {"kind": "loss_not_finite", "loss": name},
    ]
    return whole_line(
        label=changed.pop("label", name),
        reason=markup,
        failure={"stage": name, "error": name},
        machine=machine,
        versions={name: name, "torch": name},
        layers=[layer],
        profile={"matrix_share": 0.5, "kernels": [name]},
        notes=notes,
        effective_layout={name: 9},
        effective_precision={"dtypes": {name: 9}},
        placement=name,
        **changed,
    )


def write(folder: Path, lines: list[Mapping[str, Any] | bytes]) -> None:
    """Write a ledger of these lines."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "runs.jsonl").open("wb") as file:
        for line in lines:
            file.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
