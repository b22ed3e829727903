"""Machines that were seen, and the curves of collectives that are known of each hardware."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.errors import NotFoundError
from service.pages.charts.spark import spark
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import curves as curve_reports
from service.reports import fleet as fleet_reports
from service.reports import nodes as node_reports
from service.reports import roofline, schedules
from service.reports.curves import CurvePointReport, CurveReport
from service.reports.fleet import FleetReport
from workers.contract.axes import CollectiveImpl

router = APIRouter(route_class=PageRoute)

NUM_NIGHTS: Final = 21
"""As many as a node without peers is held against, and the newest."""
NUM_GRADED: Final = 3
"""Of each machine one grade is shown: of the newest of these nights that it measured."""
Schedule = Annotated[str, Query(max_length=200)]
LEAST_WIDE: Final = 0.1


@dataclass(frozen=True, slots=True)
class CurveGroup:
    """Curves of one operation on one hardware, drawn together."""

    hardware: str
    op: str
    curves: tuple[CurveReport, ...]
    drawn: str
    """What the script draws, as JSON: sizes, and a line of bus bandwidths for each curve."""


@router.get("/hardware")
def hardware_page(
    request: Request, house: HouseDep, visitor: Reader, schedule: Schedule = ""
) -> Response:
    """Nodes as the nights of one schedule show them, and curves."""
    del visitor
    with house.sessions.reading() as session:
        names = [one.name for one in schedules.list_all(session)]
        fleets = _fleets(session, [schedule] if schedule else names)
        nodes = node_reports.list_all(session)
        curves = [
            CurveReport.of(curve)
            for curve in curve_reports.found(session, hardware=None, operation=None)
        ]
        rooflines = roofline.found(session, hardware=None)
    return page(
        request,
        "hardware.html",
        nodes=nodes,
        names=names,
        fleets=[(one, sparks(one)) for one in fleets],
        groups=grouped(curves),
        rooflines=rooflines,
    )


def _fleets(session: Session, names: Sequence[str]) -> tuple[FleetReport, ...]:
    """Of the first schedule that has measured anything: a night is much to read."""
    for name in names:
        with suppress(NotFoundError):
            return fleet_reports.list_all(
                session, policy=name, num_nights=NUM_NIGHTS, num_graded=NUM_GRADED
            )
    return ()


def sparks(fleet: FleetReport) -> dict[str, Markup]:
    """Scores of each node, night by night, all on one scale."""
    scores = [abs(one) for node in fleet.nodes for one in node.scores if one is not None]
    widest = max([LEAST_WIDE, *scores])
    return {
        node.node: spark(
            node.scores,
            widest=widest,
            label=f"Scores of {node.node} over {len(node.scores)} nights, "
            f"from {-widest:.0%} to {widest:.0%}",
        )
        for node in fleet.nodes
    }


def grouped(curves: Sequence[CurveReport]) -> list[CurveGroup]:
    """By hardware and operation, in order."""
    ordered = sorted(curves, key=lambda one: (one.hardware, one.op, one.num_ranks))
    return [
        CurveGroup(hardware, op, own, json.dumps(_drawn(own)))
        for (hardware, op), members in groupby(ordered, key=lambda one: (one.hardware, one.op))
        for own in [tuple(members)]
    ]


def line_name(curve: CurveReport) -> str:
    """What tells it from the others of its operation and hardware."""
    parts = [f"{curve.num_ranks} ranks", curve.dtype]
    if curve.collective_impl is not CollectiveImpl.BACKEND:
        parts.append(curve.collective_impl)
    return ", ".join([*parts, curve.origin])


def bandwidth(row: CurvePointReport) -> float | None:
    """Out of place where there is such a time, else in place."""
    placement = row.out_of_place or row.in_place
    return None if placement is None else placement.busbw_gb_per_s


def _drawn(curves: Sequence[CurveReport]) -> dict[str, list[int] | list[dict[str, object]]]:
    sizes = sorted({row.message_bytes for one in curves for row in one.rows if row.message_bytes})
    lines: list[dict[str, object]] = []
    for one in curves:
        known = {row.message_bytes: bandwidth(row) for row in one.rows}
        values = [known.get(size) or None for size in sizes]  # 0 has no place on a log axis
        lines.append({"name": line_name(one), "values": values})
    return {"x": sizes, "lines": lines}
