"""The API's description: for programs (OpenAPI) and, without any network, for people."""

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from service.api.auth import Reader
from service.api.route import ApiRoute

router = APIRouter(tags=["description"], route_class=ApiRoute)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
h1 small, td, summary { color: CanvasText } code, pre { font-family: ui-monospace, monospace }
:root { color-scheme: light dark }
table { border-collapse: collapse; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left }
td { vertical-align: top } pre { background: #8882; overflow: auto; padding: .8rem }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    f"style-src 'sha256-{_STYLE_HASH}'"
}


@router.get("/openapi.json", include_in_schema=False, response_class=JSONResponse)
def openapi_document(request: Request, caller: Reader) -> JSONResponse:
    """The OpenAPI document."""
    del caller
    return JSONResponse(request.app.openapi())


@router.get("/docs", include_in_schema=False, response_class=HTMLResponse)
def docs_page(request: Request, caller: Reader) -> HTMLResponse:
    """Every call on one page that loads nothing else."""
    del caller
    return HTMLResponse(page(request.app.openapi(), str(request.base_url)), headers=HEADERS)


def page(document: dict[str, Any], base_url: str) -> str:
    """Render the document."""
    title = html.escape(f"{document['info']['title']} {document['info']['version']}")
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    rows = "".join(_row(*operation) for operation in operations)
    examples = "".join(_examples(base_url, *operation) for operation in operations)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>{html.escape(document['info']['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"<table><tr><th>Call<th>Scope<th>Does<th>Parameters</tr>{rows}</table>"
        f"<h2>Requests by example</h2>{examples}</html>"
    )


def _row(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = [p["name"] for p in operation.get("parameters", ()) if p["in"] != "path"]
    cells = (
        f"<code>{method.upper()} {html.escape(path)}</code>",
        html.escape(operation.get("x-scope", "anyone")),
        html.escape(operation.get("description", "")),
        " ".join(f"<code>{html.escape(name)}</code>" for name in parameters),
    )
    return f"<tr>{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _examples(base_url: str, path: str, method: str, operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return "".join(_example(base_url + path[1:], method, one) for one in _values(content))


def _values(content: dict[str, Any]) -> Iterable[dict[str, Any]]:
    examples: dict[str, dict[str, Any]] = content.get("examples", {})
    return examples.values()


def _example(url: str, method: str, example: dict[str, Any]) -> str:
    body = json.dumps(example["value"], indent=2)
    command = (
        f"curl -X {method.upper()} {url} -H 'Content-Type: application/json' --data @- <<'JSON'\n"
        f"{body}\nJSON"
    )
    return f"<h3>{html.escape(example['summary'])}</h3><pre>{html.escape(command)}</pre>"
