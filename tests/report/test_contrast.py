"""The colours of pages, in both themes."""

import re

from trainspeed.report.export import TEMPLATES


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_enough_contrast_in_both_themes():
    """WCAG AA: 4.5 to 1. Source: https://www.w3.org/TR/WCAG22/#contrast-minimum"""
    css = (TEMPLATES / "report.css").read_text()
    themes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root {(.*?)}", css, re.S)
    ]
    for theme in themes[:2]:  # light, dark; print has short colours
        for name in set(theme) - {"page", "surface", "bad-surface", "mark", "line"}:
            for back in ("page", "surface", "bad-surface", "mark"):
                high, low = sorted((luminance(theme[name]), luminance(theme[back])), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= 4.5, (name, back)
    assert len(themes[0]) == len(themes[1]) > 10
