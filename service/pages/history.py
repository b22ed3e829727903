"""A case over its nights: where its level changed, what was rolled out, and the points between."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from string import ascii_lowercase
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.analysis.schedules.tags import TAG
from service.pages import figures
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.point_name import point_name
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import results, schedules
from service.reports import series as reports
from service.reports.result import ResultReport
from service.reports.series import (
    Asked,
    SeriesChangeReport,
    SeriesNightReport,
    SeriesReport,
    VersionMarkReport,
)
from service.store.pages import Page
from service.store.result_filter import ResultFilter

router = APIRouter(route_class=PageRoute)

MOST_CASES: Final = 50
NO_CASES: Final[Page[ResultReport]] = Page((), None)


def _given(text: object) -> object:
    """An empty field of the form chooses nothing."""
    return text or None


Word = Annotated[str, Field(max_length=200)]
Day = Annotated[date | None, BeforeValidator(_given)]


class Chosen(BaseModel):
    """Which series, and which of its nights; without a case, which cases are listed."""

    model_config = ConfigDict(extra="forbid")

    case: Word = ""
    hardware: Word = ""
    schedule: Word = ""
    node: Word = ""
    since: Day = None
    until: Day = None
    cursor: str | None = Field(default=None, max_length=500)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level with the two nights that it lies between."""

    number: int
    told: SeriesChangeReport
    last: SeriesNightReport
    first: SeriesNightReport


@dataclass(frozen=True, slots=True)
class Mark:
    """New versions of one night, under one letter."""

    letter: str
    night: SeriesNightReport
    told: tuple[VersionMarkReport, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """The nights that are looked at, numbered as the detector counts them, and what is on them."""

    nights: Sequence[tuple[int, SeriesNightReport]]
    changes: Sequence[Change]
    marks: Sequence[Mark]


@router.get("/history")
def history_page(
    request: Request, house: HouseDep, visitor: Reader, chosen: Annotated[Chosen, Query()]
) -> Response:
    """One series; or the cases there are."""
    del visitor
    with house.sessions.reading() as session:
        if not chosen.case:
            names = [one.name for one in schedules.list_all(session)]
            name = chosen.schedule or next(iter(names), "")
            cases = _cases(session, name, chosen.cursor)
            return page(request, "cases.html", cases=cases, names=names, schedule=name)
        asked = Asked(chosen.case, chosen.hardware, chosen.schedule or None, chosen.node)
        series = reports.find(session, asked)
    shown = _shown(series, chosen)
    return page(
        request,
        "history.html",
        series=series,
        chosen=chosen,
        shown=shown,
        drawn=drawn(series, shown),
        label=_label(series, shown),
    )


def _cases(session: Session, schedule: str, cursor: str | None) -> Page[ResultReport]:
    """What the newest sweep of a schedule measured; without one, the newest of all."""
    of_schedule = ResultFilter(tags=((TAG, schedule),)) if schedule else ResultFilter()
    newest = results.page(session, of_schedule, limit=1).items
    if not newest:
        return NO_CASES
    chosen = ResultFilter(sweep_ids=(newest[0].sweep_id,))
    return results.page(session, chosen, limit=MOST_CASES, cursor=cursor)


def _shown(series: SeriesReport, chosen: Chosen) -> Shown:
    nights = [
        (number, night)
        for number, night in enumerate(series.nights)
        if (chosen.since is None or night.at.date() >= chosen.since)
        and (chosen.until is None or night.at.date() <= chosen.until)
    ]
    numbers = {number for number, _ in nights}
    changes = [
        Change(place, one, series.nights[one.last_before], series.nights[one.index])
        for place, one in enumerate(series.changes, start=1)
        if one.index in numbers
    ]
    marked = sorted({one.index for one in series.marks} & numbers)
    return Shown(nights, changes, [_mark(series, at, i) for i, at in enumerate(marked)])


def _mark(series: SeriesReport, at: int, place: int) -> Mark:
    letter = ascii_lowercase[place % len(ascii_lowercase)]
    told = tuple(one for one in series.marks if one.index == at)
    return Mark(letter, series.nights[at], told)


def drawn(series: SeriesReport, shown: Shown) -> str:
    """What the script draws, as JSON; times in seconds since 1970, figures in microseconds."""
    nights = [night for _, night in shown.nights]
    steps = [night.step_time_us for night in nights]
    has_normalised = any(night.normalised_us is not None for night in nights)
    told: dict[str, JsonValue] = {
        "x": [_seconds(night) for night in nights],
        "median": [None if step is None else step.median for step in steps],
        "low": [None if step is None else step.ci_low for step in steps],
        "high": [None if step is None else step.ci_high for step in steps],
        "normalised": [night.normalised_us for night in nights] if has_normalised else None,
        "level": [night.level_us for night in nights] if series.changes else None,
        "commits": [night.commit for night in nights],
        "spikes": [at for at, night in enumerate(nights) if night.is_spike],
        "changes": [
            {
                "x": _seconds(one.first),
                "name": str(one.number),
                "slower": one.told.after_us > one.told.before_us,
            }
            for one in shown.changes
        ],
        "marks": [{"x": _seconds(one.night), "name": one.letter} for one in shown.marks],
    }
    return json.dumps(told)


def _seconds(night: SeriesNightReport) -> int:
    return int(night.at.timestamp())


def _label(series: SeriesReport, shown: Shown) -> str:
    """What a reader who does not see the chart must know."""
    parts = [
        f"Step time of {point_name(series.spec)} over {len(shown.nights)} nights",
        f"newest {figures.time_us(series.newest_us)}",
    ]
    parts += [
        f"change {one.number}: {figures.time_us(one.told.before_us)} to "
        f"{figures.time_us(one.told.after_us)} from {one.first.at:%Y-%m-%d} on"
        for one in shown.changes
    ]
    return "; ".join(parts if shown.changes else [*parts, "no change of level is confirmed"])
