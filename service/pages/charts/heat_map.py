"""A grid of figures, coloured by size; the figure stands in its cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from service.pages.charts.svg import add, drawing, markup

CELL_W: Final = 58
CELL_H: Final = 30
LEFT: Final = 62
TOP: Final = 36


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure. `colour` is a class of the style sheet; `label` is said instead of the cell."""

    text: str
    colour: str
    label: str
    href: str | None = None


def heat_map(
    rows: Sequence[int],
    columns: Sequence[int],
    cells: Mapping[tuple[int, int], Cell],
    *,
    row_title: str,
    column_title: str,
    label: str,
) -> Markup:
    """Draw it; a cell that is missing is drawn as not there."""
    width, height = LEFT + CELL_W * len(columns), TOP + CELL_H * len(rows)
    svg = drawing(width, height, label=label, has_links=True)
    add(svg, "text", column_title, x=LEFT, y=12, class_="axis-title")
    add(svg, "text", row_title, x=0, y=TOP - 6, class_="axis-title")
    for at, value in enumerate(columns):
        middle = LEFT + CELL_W * (at + 0.5)
        add(svg, "text", f"{value:,}", x=middle, y=TOP - 6, class_="tick", text_anchor="middle")
    for row, degree in enumerate(rows):
        y = TOP + CELL_H * row
        add(svg, "text", str(degree), x=LEFT - 8, y=y + 19, class_="tick", text_anchor="end")
        for column, batch in enumerate(columns):
            cell = cells.get((degree, batch), Cell("", "none", "not asked for"))
            parent = svg
            if cell.href is not None:
                parent = add(svg, "a", href=cell.href, aria_label=cell.label)
            group = add(parent, "g", class_=f"cell {cell.colour}")
            add(group, "title", cell.label)
            x = LEFT + CELL_W * column
            add(group, "rect", x=x + 1, y=y + 1, width=CELL_W - 2, height=CELL_H - 2, rx=2)
            add(group, "text", cell.text, x=x + CELL_W / 2, y=y + 19, text_anchor="middle")
    return markup(svg)
