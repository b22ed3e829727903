"""The list of sweeps."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from service.errors import InvalidRequestError
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import sweeps as reports
from service.store.states import SweepState

router = APIRouter(route_class=PageRoute)

PAGE_SIZE: Final = 40


class Chosen(BaseModel):
    """Which sweeps; an empty field of the form chooses nothing."""

    model_config = ConfigDict(extra="forbid")

    state: SweepState | str = Field(default="", max_length=20)
    tag: str = Field(default="", max_length=410)
    cursor: str | None = Field(default=None, max_length=500)


@router.get("/sweeps")
def sweeps_page(
    request: Request, house: HouseDep, visitor: Reader, chosen: Annotated[Chosen, Query()]
) -> Response:
    """Sweeps, newest first."""
    del visitor
    with house.sessions.reading() as session:
        found = reports.page(
            session,
            state=_state(chosen.state),
            tag=_tag(chosen.tag),
            limit=PAGE_SIZE,
            cursor=chosen.cursor,
        )
    return page(request, "sweeps.html", found=found, chosen=chosen, states=list(SweepState))


def _state(text: str) -> SweepState | None:
    if not text:
        return None
    try:
        return SweepState(text)
    except ValueError:
        known = ", ".join(SweepState)
        raise InvalidRequestError(
            f"state: there is no state {text!r}; there are: {known}"
        ) from None


def _tag(text: str) -> tuple[str, str] | None:
    if not text:
        return None
    key, mark, value = text.partition("=")
    if not mark:
        raise InvalidRequestError(f"tag: write a tag as key=value; got {text!r}")
    return key, value
