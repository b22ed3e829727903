"""Templates: escaped, strict about names, with the filters that give figures their units."""

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.pages import figures
from service.pages.assets import Assets
from service.pages.point_name import point_name

FOLDER: Final = Path(__file__).parent / "templates"


def environment(assets: Assets) -> Environment:
    """Everything a template may use beside what its page hands it."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["static"] = assets.url
    templates.filters |= {
        "time_us": figures.time_us,
        "interval": figures.interval,
        "shares": figures.shares,
        "percent": figures.percent,
        "count": figures.count,
        "number": figures.number,
        "size": figures.size,
        "duration": figures.duration,
        "when": figures.when,
        "point_name": point_name,
    }
    return templates
