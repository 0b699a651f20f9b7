"""The headline as a badge: an SVG of two words side by side. Needs no font of its own, and nothing from elsewhere."""

from __future__ import annotations

import unicodedata
from html import escape

from trainspeed.core.format import NAMES, counted, model_of
from trainspeed.core.markdown import visible
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of, size_of
from trainspeed.studies.summary.headline import HeadlineOutcome, how_sure
from trainspeed.studies.summary.values import GainValues, ReportValues, verdict_of

# White text has a contrast of more than 4.5 on each of them.
LABEL_COLOUR = "#444c56"
GREEN, GREY, AMBER, RED = "#1a7f37", "#57606a", "#8a5a00", "#a4161a"
COLOURS = {
    HeadlineOutcome.TOGETHER: GREEN,
    HeadlineOutcome.CONFIRMED: GREEN,
    HeadlineOutcome.UNCONFIRMED: AMBER,
}
HEIGHT_PX, LETTER_PX, PAD_PX = 20, 11, 6
MOST_LETTERS = 60  # of a half
FONTS = "Verdana,DejaVu Sans,Geneva,sans-serif"
# Advance widths of Verdana, in thousandths of the letter size, from "!" on. Other fonts are stretched to them.
# Source: the `hmtx` table of Verdana 5.33, rounded.
WIDTHS = (
    *(394, 459, 818, 636, 1076, 727, 269, 454, 454, 636, 818, 364, 454, 364, 454),  # ! to /
    *(636,) * 10,  # digits
    *(454, 454, 818, 818, 818, 545, 1000),  # : to @
    *(
        684,
        686,
        698,
        771,
        632,
        575,
        775,
        751,
        421,
        455,
        693,
        557,
        843,
        748,
        787,
        603,
        787,
        695,
        684,
        616,
        732,
    ),
    *(684, 989, 685, 615, 685),  # V to Z
    *(454, 454, 454, 818, 636, 636),  # [ to `
    *(
        601,
        623,
        521,
        623,
        596,
        352,
        623,
        633,
        274,
        344,
        592,
        274,
        973,
        633,
        607,
        623,
        623,
        427,
        521,
        394,
        633,
    ),
    *(592, 818, 592, 592, 525),  # v to z
    *(635, 454, 635, 818),  # { to ~
)
SPACE, OTHER, WIDE = (
    352,
    700,
    1000,
)  # of a space, of a letter that is not in the table, and of one of East Asia


def badge(values: ReportValues, *, complete: bool) -> str:
    """Return the badge of a report's headline.

    Args:
        complete: Whether all of the report ended well.
    """
    name, result, colour, title = _said(values)
    if not complete:
        result, colour, title = f"{result}, not complete", AMBER, f"{title}; the report is not complete"
    return drawn(name, result, colour, title)


def drawn(name: str, result: str, colour: str, title: str) -> str:
    """Return a badge of two halves, with a title for readers who cannot see it."""
    name, result = (_short(text) for text in (name, result))
    widths = [text_px(text) + 2 * PAD_PX for text in (name, result)]
    total = sum(widths)
    alt = escape(visible(title), quote=True)
    texts = "".join(
        f'<text x="{left + PAD_PX}" y="14" textLength="{width - 2 * PAD_PX}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
        for text, left, width in ((name, 0, widths[0]), (result, widths[0], widths[1]))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{HEIGHT_PX}" '
        f'viewBox="0 0 {total} {HEIGHT_PX}" role="img" aria-label="{alt}"><title>{escape(visible(title))}</title>'
        f'<path fill="{LABEL_COLOUR}" d="M3 0H{widths[0]}V20H3A3 3 0 0 1 0 17V3A3 3 0 0 1 3 0Z"/>'
        f'<path fill="{colour}" d="M{widths[0]} 0H{total - 3}A3 3 0 0 1 {total} 3V17A3 3 0 0 1 {total - 3} 20'
        f'H{widths[0]}Z"/>'
        f'<g fill="#fff" font-family="{FONTS}" font-size="{LETTER_PX}">{texts}</g></svg>\n'
    )


def text_px(text: str) -> int:
    """Return how wide a text is in the badge's letters, in pixels."""
    return max(1, round(sum(map(_width, text)) * LETTER_PX / 1000))


def _width(letter: str) -> int:
    if letter == " ":
        return SPACE
    place = ord(letter) - ord("!")
    if 0 <= place < len(WIDTHS):
        return WIDTHS[place]
    return WIDE if unicodedata.east_asian_width(letter) in "WF" else OTHER


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _said(values: ReportValues) -> tuple[str, str, str, str]:
    """Return name, result, colour and title."""
    if values.check and values.check.faults:
        wrong = counted(len(values.check.faults), "fault")
        return "Trainspeed", "instrument not ok", RED, f"The instrument is not right here: {wrong} found"
    finding = values.headline.finding
    known = [(gain, verdict) for gain in values.headline.gains if (verdict := verdict_of(gain.verdict))]
    if not known:
        compared = counted(values.headline.compared, "comparison")
        return "Trainspeed", str(finding), GREY, f"What makes training faster: {finding}, {compared}"
    gain, verdict = known[0]
    size = f"{size_of(verdict)} as fast"
    where = f", on {values.machine['name']}" if values.machine.get("name") else ""
    title = f"{gain.name}: {size} ({interval_of(verdict)}), {_how_sure(finding, verdict)}{where}"
    return _name(verdict), f"{size}{_lines(gain)}{_once(finding)}", COLOURS.get(finding, GREY), title


def _name(verdict: Verdict) -> str:
    """Return what was trained, and in what."""
    trial = verdict.candidate
    framework = NAMES.get(trial.framework, trial.framework)
    return framework if trial.phase.calls else f"{framework} {model_of(trial.model)}"


def _lines(gain: GainValues) -> str:
    lines = [line for line in gain.lines or () if line and not line.lstrip().startswith("#")]
    return f", {counted(len(lines), 'line')}" if lines else ""


def _once(finding: HeadlineOutcome) -> str:
    return ", found once" if finding is HeadlineOutcome.UNCONFIRMED else ""


def _how_sure(finding: HeadlineOutcome, verdict: Verdict) -> str:
    if finding is HeadlineOutcome.TOGETHER:
        return how_sure(finding, verdict, None)
    return f"{'found once, not ' * (finding is HeadlineOutcome.UNCONFIRMED)}confirmed in fresh blocks"
