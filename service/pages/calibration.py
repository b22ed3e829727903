"""A calibration: a sweep of probes, shown as the curves and rooflines that they come to."""

from typing import Final

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.pages.hardware import grouped
from service.pages.page import page
from service.reports import measured_curves, roofline, sweeps
from service.reports.curves import CurveReport
from service.reports.sweeps import OVER, SweepReport
from service.store import probes
from service.store.states import EventKind, PointState

MOST_PROBES: Final = 2000


def shown(request: Request, session: Session, sweep: SweepReport, *, curl: str) -> Response:
    """The whole page."""
    measured = probes.of_sweep(session, sweep.id)
    points = sweeps.points(session, sweep.id, limit=MOST_PROBES).items
    curves = [CurveReport.of(curve) for curve in measured_curves.of_probes(measured)]
    return page(
        request,
        "calibration.html",
        sweep=sweep,
        is_over=sweep.state in OVER,
        event_kinds=list(EventKind),
        groups=grouped(curves),
        rooflines=roofline.of_probes(measured),
        points=points,
        failed=[one for one in points if one.state in {PointState.FAILED, PointState.PARTIAL}],
        curl=curl,
    )
