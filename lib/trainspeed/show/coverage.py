"""What a study's time was enough for, in words, and a table of what was left out."""

from __future__ import annotations

from pandas.io.formats.style import Styler

from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.format import counted, listed, minutes
from trainspeed.show.cells import styled


def coverage_sentences(coverage: Coverage | None) -> list[str]:
    """Return how much of its time a study took, and how many blocks there was time for; nothing without a limit."""
    if coverage is None:
        return []
    limits = f"{minutes(coverage.spent_s)} of {minutes(coverage.budget_s)} that it was given"
    core, rest = (coverage.blocks_of(core=core) for core in (True, False))
    had = [f"the core comparisons {_blocks(core)}"] if core else []
    had += [f"what is shown beside them {_blocks(rest)}"] if rest else []
    sentences = [f"Time: {limits}{f': {listed(had)}' if had else ''}."]
    if left := coverage.left_out:
        of_core = sum(group.core for group in left)
        where = f", {of_core} of them of the core" if of_core else ""
        sentences.append(
            f"No time for {len(left)} of {counted(len(coverage.groups), 'comparison')} and single runs{where}: "
            "give it more (`make report BUDGET=…`; `make plan` says what that adds)."
        )
    return sentences


def _blocks(span: tuple[int, int, int]) -> str:
    fewest, most, asked = span
    had = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return (
        f"had {had} of at most {counted(asked, 'block')}" if most < asked else f"had {counted(most, 'block')}"
    )


def left_out_table(coverage: Coverage) -> Styler:
    """Return a table of what there was no time for, in the order in which it would have come."""
    rows = [
        {
            "part": group.part,
            "what": ", ".join(group.arms[0].describe()),
            "compared with": _others(group),
            "blocks": f"{group.blocks} of {group.most}",
        }
        for group in (*coverage.left_out, *coverage.unequal)
    ]
    return styled(rows, "left-out", "No time for these")


def _others(group: GroupCoverage) -> str:
    """Return in what the other arms differ from the first."""
    first, *others = group.arms
    known = first.describe()
    differences = (", ".join(word for word in arm.describe() if word not in known) for arm in others)
    return "; ".join(dict.fromkeys(filter(None, differences)))
