"""A small line of scores around 0, night by night."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from service.pages.charts.scale import Scale
from service.pages.charts.svg import add, drawing, markup, path

WIDTH: Final = 150
HEIGHT: Final = 26
PAD: Final = 3


def spark(values: Sequence[float | None], *, widest: float, label: str) -> Markup:
    """Draw it from -widest to widest, the same for all rows of a table; None is a gap."""
    svg = drawing(WIDTH, HEIGHT, label=label)
    x = Scale(0, max(len(values) - 1, 1), PAD, WIDTH - PAD)
    y = Scale(-widest, widest, HEIGHT - PAD, PAD)
    add(svg, "line", x1=PAD, x2=WIDTH - PAD, y1=y.at(0), y2=y.at(0), class_="grid")
    group = add(svg, "g", class_="line line-0")
    piece: list[tuple[float, float]] = []
    for at, value in enumerate((*values, None)):
        if value is not None:
            piece.append((x.at(at), y.at(value)))
            continue
        if len(piece) > 1:
            add(group, "path", d=path(piece), fill="none")
        elif piece:
            add(group, "circle", cx=piece[0][0], cy=piece[0][1], r=1.5, class_="spot")
        piece = []
    return markup(svg)
