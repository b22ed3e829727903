"""One sweep: how far it is, what came out, what failed, and what made it."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.access.doors import Access
from service.pages import calibration, sweep_charts, sweep_table
from service.pages.curl import curl
from service.pages.facets import Facet
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.sweep_charts import Metric
from service.pages.sweep_table import Sorting
from service.pages.visitor import Reader
from service.reports import breakeven, results, sweeps
from service.reports.sweeps import OVER, PointReport, SweepReport
from service.store.states import EventKind, PointState

router = APIRouter(route_class=PageRoute)

MOST_RESULTS: Final = 400
"""Of one grid."""
MOST_POINTS: Final = 400
MOST_LISTED: Final = 50
MOST_OTHERS: Final = 50
SHOWN_POINTS: Final = {
    PointState.QUEUED: MOST_POINTS,
    PointState.RUNNING: MOST_POINTS,
    PointState.FAILED: MOST_POINTS,
    PointState.REJECTED: MOST_LISTED,
    PointState.PARTIAL: MOST_LISTED,
}
"""Points of a grid that are shown beside its results, and how many of each state."""

Word = Annotated[str, Field(max_length=200)]


class View(BaseModel):
    """Which grid, and how it is shown; an empty field of the form chooses nothing."""

    model_config = ConfigDict(extra="forbid")

    model: Word = ""
    block: Word = ""
    phase: Word = ""
    seq: Word = ""
    arrangement: Word = ""
    dtype: Word = ""
    collective_impl: Word = ""
    overlap: Word = ""
    launch: Word = ""
    metric: Metric = Metric.STEP_TIME
    sort: Sorting = Sorting.BATCH
    desc: bool = False
    only: Word = ""

    @property
    def asked(self) -> dict[str, str]:
        """Values of axes that were asked for."""
        return {
            name: value
            for name, value in self.model_dump(mode="json").items()
            if name not in {"metric", "sort", "desc", "only"} and value
        }


@router.get("/sweeps/{sweep_id}")
def sweep_page(
    request: Request,
    sweep_id: str,
    house: HouseDep,
    visitor: Reader,
    view: Annotated[View, Query()],
) -> Response:
    """The whole page."""
    del visitor
    with house.sessions.reading() as session:
        sweep = sweeps.find(session, sweep_id)
        again = curl(sweep.spec, str(request.base_url), needs_token=house.access is Access.TOKEN)
        if sweep.is_calibration:
            return calibration.shown(request, session, sweep, curl=again)
        spec = sweep.grid
        facet = Facet.of(spec, view.asked)
        chosen = facet.as_filter(sweep_id)
        measured = results.page(session, chosen, limit=MOST_RESULTS)
        found = [result for result in measured.items if facet.holds(result.spec)]
        points = _points(session, sweep, facet)
        evens = [one for one in breakeven.of_results(session, chosen) if one.model in spec.models]
        others = sweeps.names(session, limit=MOST_OTHERS)
    unmeasured = [
        point for state in points if state is not PointState.PARTIAL for point in points[state]
    ]
    grid = sweep_charts.grid_of(found, unmeasured)
    failed = points.get(PointState.FAILED, [])[:MOST_LISTED]
    return page(
        request,
        "sweep.html",
        sweep=sweep,
        is_over=sweep.state in OVER,
        event_kinds=list(EventKind),
        view=view,
        facet=facet,
        metrics=list(Metric),
        heat=sweep_charts.heat(grid, view.metric),
        made_of=sweep_charts.parts(grid),
        evens=[(one, sweep_charts.break_even(one, grid.results)) for one in evens],
        rows=sweep_table.rows(grid, view.sort, is_descending=view.desc, only=view.only),
        columns=list(Sorting),
        failed=failed + points.get(PointState.PARTIAL, []),
        rejected=points.get(PointState.REJECTED, []),
        others=[one for one in others if one.id != sweep.id and not one.is_calibration],
        curl=again,
        num_read=len(found),
        is_cut=measured.next_cursor is not None,
    )


def _points(
    session: Session, sweep: SweepReport, facet: Facet
) -> dict[PointState, list[PointReport]]:
    """Points of the chosen grid that are shown, by state."""
    which = facet.as_filter(sweep.id)
    found = {
        state: sweeps.points(session, sweep.id, state=state, which=which, limit=most).items
        for state, most in SHOWN_POINTS.items()
        if sweep.counts[state]
    }
    return {
        state: [point for point in points if facet.holds(sweep_charts.block_of(point))]
        for state, points in found.items()
    }


@router.get("/sweeps/{sweep_id}/progress")
def progress_fragment(
    request: Request, sweep_id: str, house: HouseDep, visitor: Reader
) -> Response:
    """The part of the page that changes while the sweep runs."""
    del visitor
    with house.sessions.reading() as session:
        sweep = sweeps.find(session, sweep_id)
    return page(
        request,
        "sweep_progress.html",
        sweep=sweep,
        is_over=sweep.state in OVER,
        event_kinds=list(EventKind),
    )
