"""Any two sides: sweeps, baselines, tags, versions, hardware, nodes, dates."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.analysis.comparison import DEFAULT_TOLERANCE
from service.api.auth import Reader
from service.api.examples.baselines import COMPARISONS
from service.api.parameters import Several
from service.api.problems import field_errors, summary
from service.api.route import ApiRoute, Responses
from service.api.state import ServiceDep
from service.errors import FieldError, InvalidRequestError
from service.reports import comparison as reports
from service.reports.compared import ComparisonReport
from service.reports.selection import Selection
from service.reports.sides import Side
from workers.contract.frozen import Frozen

router = APIRouter(prefix="/v1/compare", tags=["analysis"], route_class=ApiRoute)

LONGEST_SIDE = 2000
MOST_FIELDS = 50
SIDE = (
    "Id of a sweep, name of a baseline, or selectors such as `tag:commit=abc123 node:host05` or "
    "`since:2026-11-01..2026-11-15`, apart by spaces; all must fit."
)
ALLOWED = (
    "Fields of the points' identity in which the sides may differ, such as `hardware` or `dtype`; "
    "points are matched by all others."
)
NOT_COMPARABLE: Responses = {
    422: {"description": "Wrong, or the sides differ in a field that is not allowed to."}
}

Tolerance = Annotated[float, Field(gt=0, lt=1, description="Relative change that does not matter.")]


class ComparisonParameters(BaseModel):
    """Which two sides, and what counts as a change."""

    model_config = ConfigDict(extra="forbid")

    baseline: str = Field(min_length=1, max_length=LONGEST_SIDE, description=SIDE)
    candidate: str = Field(min_length=1, max_length=LONGEST_SIDE, description=SIDE)
    tolerance: Tolerance = DEFAULT_TOLERANCE
    allow_different: Annotated[tuple[str, ...], Several, Field(max_length=MOST_FIELDS)] = Field(
        default=(), description=ALLOWED
    )


class ComparisonRequest(Frozen):
    """The same with each side as an object, or as text."""

    baseline: Selection
    candidate: Selection
    tolerance: Tolerance = DEFAULT_TOLERANCE
    allow_different: tuple[str, ...] = Field(
        default=(), max_length=MOST_FIELDS, description=ALLOWED
    )


@router.get("", responses=NOT_COMPARABLE)
def compare_sweeps(
    which: Annotated[ComparisonParameters, Query()], service: ServiceDep, caller: Reader
) -> ComparisonReport:
    """Points matched by spec and hardware: ratio of step times, interval and verdict."""
    del caller
    before, after = (
        _side(text, pointer=pointer)
        for text, pointer in ((which.baseline, "?baseline"), (which.candidate, "?candidate"))
    )
    with service.sessions.reading() as session:
        return reports.between(
            session,
            before,
            after,
            tolerance=which.tolerance,
            allow_different=which.allow_different,
        )


@router.post("", responses=NOT_COMPARABLE)
def compare_selections(
    request: Annotated[ComparisonRequest, Body(openapi_examples=COMPARISONS)],
    service: ServiceDep,
    caller: Reader,
) -> ComparisonReport:
    """The same for sides as objects."""
    del caller
    with service.sessions.reading() as session:
        return reports.between(
            session,
            Side(request.baseline, "/baseline"),
            Side(request.candidate, "/candidate"),
            tolerance=request.tolerance,
            allow_different=request.allow_different,
        )


def _side(text: str, *, pointer: str) -> Side:
    try:
        return Side(Selection.model_validate(text), pointer)
    except ValidationError as error:
        found = field_errors(
            [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False)]
        )
        errors = tuple(FieldError(pointer + one.pointer, one.detail) for one in found)
        raise InvalidRequestError(summary(errors), errors=errors) from None
