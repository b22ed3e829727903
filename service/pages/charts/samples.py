"""Single steps: how they are spread, and in which order they came."""

from collections.abc import Callable, Sequence
from typing import Final

from markupsafe import Markup

from service.pages.charts.scale import Scale
from service.pages.charts.svg import add, drawing, markup

WIDTH: Final = 360
HEIGHT: Final = 180
LEFT: Final = 58
RIGHT: Final = 10
TOP: Final = 14
BOTTOM: Final = 34
MOST_BINS: Final = 48
MOST_DOTS: Final = 1500
FEW: Final = 200
CUT: Final = 0.995
"""Beyond this share of the steps lie the few that would squeeze the rest; the last bar has them."""


def histogram(values: Sequence[float], text: Callable[[float], str], *, label: str) -> Markup:
    """How many steps took how long."""
    svg = drawing(WIDTH, HEIGHT, label=label)
    if not values:
        return markup(svg)
    ordered = sorted(values)
    low, high = ordered[0], ordered[min(len(ordered) - 1, int(CUT * len(ordered)))]
    counts = bins(ordered, low=low, high=high)
    x = Scale(low, max(high, low * 1.001), LEFT, WIDTH - RIGHT)
    y = Scale(0, max(counts), HEIGHT - BOTTOM, TOP)
    width = (WIDTH - RIGHT - LEFT) / len(counts)
    for index, count in enumerate(counts):
        group = add(svg, "g", class_="part-0")
        add(group, "title", f"{count} steps")
        top = y.at(count)
        at, height = LEFT + index * width, HEIGHT - BOTTOM - top
        add(group, "rect", x=at + 0.5, y=top, width=max(width - 1, 0.5), height=height)
    for count in (0, max(counts)):
        place = y.at(count) + 4
        add(svg, "text", f"{count:,}", x=LEFT - 6, y=place, class_="tick", text_anchor="end")
    for value in x.ticks(4):
        place = x.at(value)
        add(svg, "text", text(value), x=place, y=HEIGHT - 18, class_="tick", text_anchor="middle")
    add(svg, "text", "steps", x=0, y=10, class_="axis-title")
    return markup(svg)


def bins(ordered: Sequence[float], *, low: float, high: float) -> list[int]:
    """Equal steps from `low` to `high`; what lies beyond is in the last one."""
    number = max(1, min(MOST_BINS, round(len(ordered) ** 0.5)))
    counts = [0] * number
    for value in ordered:
        share = (value - low) / (high - low) if high > low else 0
        counts[min(number - 1, int(share * number))] += 1
    return counts


def order(trials: Sequence[Sequence[float]], text: Callable[[float], str], *, label: str) -> Markup:
    """Steps as they came, trial after trial; every second trial is shaded."""
    svg = drawing(WIDTH, HEIGHT, label=label)
    values = [value for trial in trials for value in trial]
    if not values:
        return markup(svg)
    x = Scale(0, max(len(values) - 1, 1), LEFT, WIDTH - RIGHT)
    y = Scale(min(values), max(*values, min(values) * 1.001), HEIGHT - BOTTOM, TOP)
    start = 0
    for index, trial in enumerate(trials):
        ends = x.at(start), x.at(start + len(trial))
        if index % 2:
            height = HEIGHT - BOTTOM - TOP
            add(svg, "rect", x=ends[0], y=TOP, width=ends[1] - ends[0], height=height, class_="alt")
        middle = sum(ends) / 2
        name = f"trial {index + 1}"
        add(svg, "text", name, x=middle, y=HEIGHT - 18, class_="tick", text_anchor="middle")
        start += len(trial)
    for value in y.ticks(4):
        place = y.at(value)
        add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place, class_="grid")
        shown = text(value)
        add(svg, "text", shown, x=LEFT - 6, y=place + 4, class_="tick", text_anchor="end")
    every = max(1, len(values) // MOST_DOTS)
    kept = enumerate(values[::every])
    dots = "".join(f"M{x.at(at * every):.1f} {y.at(value):.1f}h.01" for at, value in kept)
    add(svg, "path", d=dots, class_="dots few" if len(values) < FEW else "dots")
    return markup(svg)
