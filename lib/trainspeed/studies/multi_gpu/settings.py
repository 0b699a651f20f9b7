"""The strategy to paste, where several devices were faster. Decides nothing: the verdicts have."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.format import NAMES
from trainspeed.core.markdown import escape
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import what_decides
from trainspeed.judge.verdict import Outcome
from trainspeed.snippets import code
from trainspeed.studies.multi_gpu.scaling import scaling_of

NOTHING_TO_PASTE = (
    "Nothing to paste: a plain script has all cores as its one device, which this was not compared with. The front "
    "page has the medians of both, where another notebook measured a plain script."
)


def strategy_settings(verdicts: Sequence[Verdict], *, on_cores: bool = False) -> list[str]:
    """Return, for each framework, the strategy to copy as Markdown: only where more devices were faster.

    Several nodes have lines of their own, for each number of them; so has what was compiled or trained otherwise.

    Args:
        on_cores: Whether a device is a CPU core. What is faster than one core is no gain over a plain script, which
            has them all: it is told, and not to be pasted.
    """
    texts = []
    for framework in FRAMEWORKS:
        mine = [v for v in verdicts if v.candidate.framework == framework]
        wins = [v for v in mine if v.outcome == Outcome.FASTER]
        if mine and not wins:
            decided = any(v.outcome != Outcome.UNDECIDED for v in mine)
            advice = f"whether more devices are faster is undecided{what_decides(mine)}"
            texts.append(
                f"**{NAMES[framework]}**: {'more devices were not faster; use one' if decided else advice}."
            )
        arms: dict[tuple[int, str, str], list[Verdict]] = {}
        for v in wins:
            lines = "" if on_cores else code.lines("strategy", trial=v.candidate)
            arms.setdefault((v.candidate.nodes, v.candidate.strategy, lines), []).append(v)
        for (nodes, strategy, lines), own in sorted(arms.items(), key=lambda arm: arm[0][0]):
            gains = [(f"{v.label}, {scaling_of(v)} scaling", v.speedup) for v in own]
            name = f"{strategy} on {nodes} nodes" if nodes > 1 else strategy
            if on_cores:
                faster = f"{name} was faster than one core ({escape(code.gains_text(gains))})"
                texts.append(f"**{NAMES[framework]}**: {faster}. {NOTHING_TO_PASTE}")
            else:
                texts.append(code.faster_block(framework, name, gains, lines))
    return texts
