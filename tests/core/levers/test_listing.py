"""`docs/levers.md` lists the registry; with `--update-golden` it is written anew."""

from trainspeed.core.format import NAMES
from trainspeed.core.levers.lever import Lever, LeverKind, Numbers
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.paths import ROOT
from trainspeed.search.switch import FOLLOWING

WRITE = ".venv/bin/python -m pytest tests/core/levers/test_listing.py --update-golden"
PAGE = ROOT / "docs/levers.md"
HEAD = """# The levers

What the parameter `levers` of the notebook `switches` takes: a name, or `name=value`; an empty list means all. A page
of that notebook says what of it cannot be had on its machine, and why; [CONTRIBUTING](../CONTRIBUTING.md) how to add
one.

Class: **=** the same numbers up to the order of sums, **≈** other rounding or another random stream, **Δ** another
training. "of a trial" are the values that a trial can have, such as `bf16` of `precision`. Where a variable of your own
environment sets what a lever would set, yours wins, and the run says so.
"""
TITLES = {
    LeverKind.SWITCH: "Off in a plain script: tried",
    LeverKind.ALREADY_ON: "On in a plain script: measured by switching it off",
    LeverKind.OWN: "Trainspeed's own, off in a script: measured by setting it as a script has it",
    LeverKind.BRAKE: "Brakes: measured by switching them on",
}
CHANGING = "Another training: a ladder of its own, which `batch_blocks` asks for"
NOWHERE = "Not to be had here, with the reason on the page"


def listing() -> str:
    """Return the page: a table for each kind of lever."""
    parts = [HEAD]
    own = [one for one in LEVERS.values() if one.frameworks and one.name not in FOLLOWING]
    changing = [one for one in own if one.numbers is Numbers.MODEL]
    for kind, title in TITLES.items():
        parts.append(_table(title, [one for one in own if one.kind is kind and one not in changing]))
    parts.append(_table(CHANGING, changing))
    parts.append(_table(NOWHERE, [one for one in LEVERS.values() if not one.frameworks]))
    return "\n".join(parts)


def _table(title: str, levers: list[Lever]) -> str:
    rows = (
        f"| `{one.name}` | {one.words} | {_values(one)} | {one.numbers} | {_where(one)} | {one.default} |"
        for one in levers
    )
    head = "| name | what it is | values | class | where | default |\n|---|---|---|---|---|---|"
    return f"## {title}\n\n{head}\n" + "\n".join(rows) + "\n"


def _values(lever: Lever) -> str:
    return "of a trial" if lever.of_field else ", ".join(f"`{value}`" for value in lever.values)


def _where(lever: Lever) -> str:
    names = ", ".join(NAMES[name] for name in lever.frameworks)
    device = f", {lever.devices[0].upper()} alone" if len(lever.devices) == 1 else ""
    return f"{names}{device}" if names else "nowhere"


def test_the_list_of_levers_is_that_of_the_registry(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(listing(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == listing(), f"to write the list anew: {WRITE}"


def test_every_lever_that_can_be_named_has_one_row():
    rows = [line.split("`")[1] for line in listing().splitlines() if line.startswith("| `")]

    assert sorted(rows) == sorted(LEVERS.keys() - {*FOLLOWING})
