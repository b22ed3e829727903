"""Ratios with their intervals around 1: a line for each, the largest effect first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from service.pages.charts.scale import Scale
from service.pages.charts.svg import add, drawing, markup

WIDTH: Final = 352
ROW_H: Final = 30
TOP: Final = 26
PAD: Final = 12
RIGHT: Final = 58
WIDEST: Final = 10.0
SIGNS: Final = {"faster": "▼", "slower": "▲", "same": "=", "inconclusive": "?"}


@dataclass(frozen=True, slots=True)
class Effect:
    """Candidate over baseline of one point."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    verdict: str


def ratio_plot(effects: Sequence[Effect], *, tolerance: float, label: str) -> Markup:
    """Draw them as they come; the band is what does not matter."""
    svg = drawing(WIDTH, TOP + ROW_H * len(effects), label=label)
    ends = [one for e in effects for one in (e.ratio, e.low, e.high) if one is not None]
    far = max([abs(math.log(one)) for one in ends if one > 0] + [math.log(1 + 2 * tolerance)])
    reach = min(math.exp(far * 1.05), WIDEST)
    x = Scale(1 / reach, reach, PAD, WIDTH - RIGHT, is_log=True)
    bottom = TOP + ROW_H * len(effects)
    low, high = x.at(1 / (1 + tolerance)), x.at(1 + tolerance)
    add(
        svg, "rect", x=low, y=TOP - 6, width=high - low, height=bottom - TOP + 6, class_="tolerance"
    )
    for value in (1 / reach, 1.0, reach):
        place = x.at(value)
        add(svg, "line", x1=place, x2=place, y1=TOP - 6, y2=bottom, class_="grid")
        add(svg, "text", f"{value:.2f}", x=place, y=12, class_="tick", text_anchor="middle")
    for row, effect in enumerate(effects):
        y = TOP + ROW_H * row
        group = add(svg, "g", class_=f"effect {effect.verdict}")
        add(group, "title", f"{effect.name}: {effect.ratio:.3f}, {effect.verdict}")
        add(group, "text", effect.name, x=PAD, y=y + 9, class_="tick")
        middle = y + 19
        if effect.low is not None and effect.high is not None:
            add(group, "line", x1=x.at(effect.low), x2=x.at(effect.high), y1=middle, y2=middle)
        add(group, "circle", cx=x.at(effect.ratio), cy=middle, r=4)
        text = f"{effect.ratio:.2f} {SIGNS.get(effect.verdict, '')}"
        add(group, "text", text, x=WIDTH - RIGHT + 12, y=middle + 4)
    return markup(svg)
