"""A template with what every page shows: who looks, where they are, which theme."""

from typing import Final

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse

from service.pages.house import house_of
from service.pages.visitor import Visitor

THEMES: Final = frozenset({"light", "dark"})


def page(request: Request, template: str, *, status: int = 200, **context: object) -> HTMLResponse:
    """Render a page for the request's visitor."""
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    theme = request.cookies.get("theme", "")
    html = (
        house_of(request)
        .templates.get_template(template)
        .render(
            context,
            visitor=visitor,
            path=request.url.path,
            theme=theme if theme in THEMES else "",
        )
    )
    return HTMLResponse(html, status_code=status)


def go_to(path: str) -> RedirectResponse:
    """After a form: show what became of it with a GET, so that reloading sends nothing again."""
    return RedirectResponse(path, status_code=303)
