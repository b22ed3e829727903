"""Lines over a logarithmic axis of batches or sizes, with a band and a mark where they cross."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from markupsafe import Markup

from service.pages.charts.scale import Scale
from service.pages.charts.svg import CHARACTER, add, drawing, markup, path

WIDTH: Final = 360
HEIGHT: Final = 230
LEFT: Final = 58
RIGHT: Final = 14
TOP: Final = 34
BOTTOM: Final = 36
LEAST_BETWEEN_TICKS: Final = 8


@dataclass(frozen=True, slots=True)
class Spot:
    """One figure of a line, with its interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A named line; the n-th has the class `line-n`, and every second one has square marks."""

    name: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the x axis, with its interval; an end that is None is open."""

    name: str
    x: float
    low: float | None
    high: float | None
    has_interval: bool = True


def line_chart(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    y_text: Callable[[float], str],
    label: str,
    marks: Sequence[Mark] = (),
) -> Markup:
    """Draw lines on logarithmic axes. A figure that is not above 0 lies on the lower edge."""
    svg = drawing(WIDTH, HEIGHT, label=label)
    xs = sorted({spot.x for line in lines for spot in line.spots})
    ys = [y for line in lines for spot in line.spots for y in _extent(spot)]
    if not xs or not ys:
        return markup(svg)
    x = Scale(xs[0], xs[-1], LEFT, WIDTH - RIGHT, is_log=True)
    y = Scale(min(ys) / 1.3, max(ys) * 1.3, HEIGHT - BOTTOM, TOP, is_log=True)
    _axes(svg, x, y, xs=xs, titles=(x_title, y_title), y_text=y_text)
    for mark in marks:
        _mark(svg, mark, x)
    for index, line in enumerate(lines):
        _line(svg, line, index, x=x, y=y)
    _legend(svg, [line.name for line in lines])
    return markup(svg)


def _extent(spot: Spot) -> list[float]:
    return [one for one in (spot.low, spot.y, spot.high) if one is not None and one > 0]


def _axes(
    svg: Element,
    x: Scale,
    y: Scale,
    *,
    xs: Sequence[float],
    titles: tuple[str, str],
    y_text: Callable[[float], str],
) -> None:
    for value in y.ticks(6):
        place = y.at(value)
        add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place, class_="grid")
        text = y_text(value)
        add(svg, "text", text, x=LEFT - 6, y=place + 4, class_="tick", text_anchor="end")
    last_end = float("-inf")
    for value in xs:
        text, place = f"{value:,.0f}", x.at(value)
        half = CHARACTER * len(text) / 2
        if place - half < last_end + LEAST_BETWEEN_TICKS:
            continue
        last_end = place + half
        anchor = "end" if place + half > WIDTH else "middle"
        add(svg, "text", text, x=place, y=HEIGHT - 20, class_="tick", text_anchor=anchor)
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM)
    x_title, y_title = titles
    middle = (LEFT + WIDTH - RIGHT) / 2
    add(svg, "text", x_title, x=middle, y=HEIGHT - 4, class_="axis-title", text_anchor="middle")
    add(svg, "text", y_title, x=0, y=TOP - 8, class_="axis-title")


def _mark(svg: Element, mark: Mark, x: Scale) -> None:
    bottom = HEIGHT - BOTTOM
    group = add(svg, "g", class_="mark")
    add(group, "title", mark.name)
    if mark.has_interval:
        low = x.at(x.low if mark.low is None else mark.low)
        high = x.at(x.high if mark.high is None else mark.high)
        width = max(high - low, 1)
        add(group, "rect", x=low, y=TOP, width=width, height=bottom - TOP, class_="band")
    place = x.at(mark.x)
    add(group, "line", x1=place, x2=place, y1=TOP, y2=bottom, class_="crossing")


def _line(svg: Element, line: Line, index: int, *, x: Scale, y: Scale) -> None:
    group = add(svg, "g", class_=f"line line-{index}")
    places = [(x.at(spot.x), y.at(spot.y)) for spot in line.spots]
    add(group, "path", d=path(places), fill="none")
    for spot, (px, py) in zip(line.spots, places, strict=True):
        if spot.low is not None and spot.high is not None:
            add(group, "line", x1=px, x2=px, y1=y.at(spot.low), y2=y.at(spot.high))
        hidden = " empty" if spot.y <= 0 else ""
        if index % 2:
            square = add(group, "rect", x=px - 3, y=py - 3, width=6, height=6)
        else:
            square = add(group, "circle", cx=px, cy=py, r=3.2)
        square.set("class", f"spot{hidden}")


def _legend(svg: Element, names: Sequence[str]) -> None:
    at = float(LEFT)
    for index, name in enumerate(names):
        group = add(svg, "g", class_=f"line line-{index}")
        add(group, "line", x1=at, x2=at + 14, y1=8, y2=8)
        if index % 2:
            add(group, "rect", x=at + 4, y=5, width=6, height=6, class_="spot")
        else:
            add(group, "circle", cx=at + 7, cy=8, r=3.2, class_="spot")
        add(svg, "text", name, x=at + 18, y=12, class_="tick")
        at += 34 + CHARACTER * len(name)
