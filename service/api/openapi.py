"""The OpenAPI document: FastAPI's own, with our errors, scopes and the shorthands of a sweep."""

import copy
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRouter

from service.api.problems import MEDIA_TYPE, Problem
from service.api.route import ApiRoute, routes_of
from workers.contract.sweep import AXES

Document = dict[str, Any]
"""JSON of a format that is not ours."""

DESCRIPTION = (
    "Ask for a sweep of tensor-parallel configurations; the service measures each point on real "
    "devices and keeps every result. Errors are `application/problem+json` with a stable `code`; "
    "lists are `{items, next_cursor}`; times are RFC 3339 in UTC."
)
DERIVED_FIELDS = frozenset({"num_key_value_heads", "head_dim", "activation"})
"""Of a model's shape: they follow from the rest where they are not given."""
SWEEP_PATHS = ("/v1/sweeps", "/v1/sweeps/preview")
"""Where a sweep is sent."""


def build(app: FastAPI, routers: Iterable[APIRouter]) -> Document:
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
    for route in routes_of(routers):
        for method in route.methods or () if route.include_in_schema else ():
            _describe(document["paths"][route.path][method.lower()], route)
    _describe_shorthands(document)
    return document


def _describe(operation: Document, route: ApiRoute) -> None:
    """Add who may call it and how it fails."""
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, description in (("4XX", "The request's fault."), ("5XX", "The service's fault.")):
        responses[status] = {"description": description, "content": problem}
    if (scope := route.requirement.scope) is not None:
        operation["security"] = [{"token": []}]
        operation["x-scope"] = str(scope)


def _describe_shorthands(document: Document) -> None:
    """A sweep may be sent shorter than it is answered: scalars, names, derived fields left out."""
    schemas = document["components"]["schemas"]
    shape = copy.deepcopy(schemas["ModelShape"])
    shape["required"] = [name for name in shape["required"] if name not in DERIVED_FIELDS]
    request = copy.deepcopy(schemas["SweepSpec"])
    axes = request["properties"]
    axes["models"]["items"] = {
        "anyOf": [
            {"type": "string", "description": "Name of a preset, see /v1/models."},
            {"$ref": "#/components/schemas/ModelShapeRequest"},
            {"type": "object", "description": "A Hugging Face config.json as it is."},
        ]
    }
    axes["collective_impl"]["items"] = {"enum": ["auto", "backend"], "type": "string"}
    for name in AXES:
        axes[name] = _one_or_several(axes[name])
    schemas |= {"ModelShapeRequest": shape, "SweepRequest": request}
    for path in SWEEP_PATHS:
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        body["schema"] = {"$ref": "#/components/schemas/SweepRequest"}


def _one_or_several(axis: Document) -> Document:
    kept: Document = {key: axis[key] for key in ("title", "default") if key in axis}
    several = {"type": "array", "items": axis["items"], "minItems": 1}
    return {**kept, "anyOf": [axis["items"], several]}
