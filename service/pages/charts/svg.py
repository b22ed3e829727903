"""Elements of a drawing; every text and attribute is escaped when it is written out."""

from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

Value = str | float

CHARACTER: Final = 6.2
"""Width of one, in the size that charts write in."""


def drawing(width: float, height: float, *, label: str, has_links: bool = False) -> Element:
    """An empty drawing. `label` says what a reader who does not see it must know."""
    attributes = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "width": f"{width:g}",
        "height": f"{height:g}",
        "class": "chart",
        "role": "group" if has_links else "img",
        "aria-label": label,
    }
    return Element("svg", attributes)


def add(parent: Element, tag: str, text: str | None = None, /, **attributes: Value) -> Element:
    """Append an element; `class_` is its class, and `text_anchor` writes as `text-anchor`."""
    written = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{value:.1f}"
        for name, value in attributes.items()
    }
    element = SubElement(parent, tag, written)
    element.text = text
    return element


def path(points: list[tuple[float, float]]) -> str:
    """A line through the points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def markup(svg: Element) -> Markup:
    """The drawing as it stands in a page."""
    return Markup(tostring(svg, encoding="unicode"))  # noqa: S704 - written by ElementTree, escaped
