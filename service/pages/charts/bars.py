"""What a step is made of: one bar of parts for each point, as shares of the step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from service.pages.charts.svg import CHARACTER, add, drawing, markup

LEFT: Final = 58
BAR: Final = 220
RIGHT: Final = 66
ROW_H: Final = 22
TOP: Final = 24
LEAST_FOR_TEXT: Final = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """One point: its parts as shares of the whole, each at least 0, and what the whole is."""

    name: str
    shares: tuple[float, ...]
    whole: str


def stacked_bars(parts: Sequence[str], bars: Sequence[Bar], *, label: str) -> Markup:
    """Draw them; the n-th part has the class `part-n`, and its share where it has room."""
    legend = sum(26 + CHARACTER * len(part) for part in parts)
    svg = drawing(max(LEFT + BAR + RIGHT, legend), TOP + ROW_H * len(bars), label=label)
    x = 0.0
    for index, part in enumerate(parts):
        add(svg, "rect", x=x, y=4, width=10, height=10, class_=f"part-{index}")
        add(svg, "text", part, x=x + 14, y=13, class_="tick")
        x += 26 + CHARACTER * len(part)
    for row, bar in enumerate(bars):
        y = TOP + ROW_H * row
        add(svg, "text", bar.name, x=LEFT - 8, y=y + 14, class_="tick", text_anchor="end")
        add(svg, "text", bar.whole, x=LEFT + BAR + 8, y=y + 14, class_="tick")
        x = float(LEFT)
        total = sum(bar.shares) or 1
        for index, share in enumerate(bar.shares):
            width = BAR * share / total
            group = add(svg, "g", class_=f"segment part-{index}")
            add(group, "title", f"{bar.name}: {parts[index]} {share:.0%}")
            add(group, "rect", x=x, y=y + 2, width=width, height=ROW_H - 4)
            if width > LEAST_FOR_TEXT:
                middle = x + width / 2
                add(group, "text", f"{share:.0%}", x=middle, y=y + 14, text_anchor="middle")
            x += width
    return markup(svg)
