"""The OpenAPI document: FastAPI's own, with our errors and scopes."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRouter

from service.access.doors import Access
from service.api.answers import answers
from service.api.problems import MEDIA_TYPE, Problem
from service.api.route import ApiRoute, routes_of

Document = dict[str, Any]
"""JSON of a format that is not ours."""

DESCRIPTION = (
    "Ask for a sweep of tensor-parallel configurations; the service measures each point on real "
    "devices and keeps every result. Errors are `application/problem+json` with a stable `code`; "
    "lists are `{items, next_cursor}`; times are RFC 3339 in UTC."
)


def build(app: FastAPI, routers: Iterable[APIRouter], access: Access) -> Document:
    """Describe the application."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        routes=app.routes,
        openapi_version="3.1.0",
    )
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["Problem"].pop("$defs")
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    examples = answers()
    for route in routes_of(routers):
        for method in route.methods or () if route.include_in_schema else ():
            operation = document["paths"][route.path][method.lower()]
            _describe(operation, route, access)
            if route.name in examples:
                _show(operation, examples[route.name].model_dump(mode="json"))
    return document


def _describe(operation: Document, route: ApiRoute, access: Access) -> None:
    """Add who may call it and how it fails."""
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, description in (("4XX", "The request's fault."), ("5XX", "The service's fault.")):
        responses[status] = {"description": description, "content": problem}
    if (scope := route.requirement.scope) is not None:
        operation["security"] = [{"token": []}, *([{}] if access is Access.OPEN else [])]
        operation["x-scope"] = str(scope)


def _show(operation: Document, example: Document) -> None:
    """Add an answer by example."""
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            answer["content"]["application/json"]["example"] = example
