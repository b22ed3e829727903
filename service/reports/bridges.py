"""What a swap of hardware did to step times: told beside the series, and never a regression."""

from collections.abc import Sequence

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.findings.swaps import Swap, swaps
from service.errors import ServiceError
from service.reports import comparison
from service.reports.compared import RatioReport
from service.reports.finding import NightReport
from service.reports.selection import Selection
from service.reports.sides import Side
from service.store import fleet, history, schedules
from service.store.history import Night
from workers.contract.frozen import Frozen
from workers.contract.hardware import Hardware

MAY_DIFFER = ("hardware",)


class BridgeReport(Frozen):
    """From the last nights of one hardware to the first of the next."""

    before: Hardware
    after: Hardware
    last: NightReport = Field(description="The last night of the old hardware.")
    first: NightReport = Field(description="The first of the new one, where its series begins.")
    num_nights_before: int = Field(description="Nights that the ratio rests on.")
    num_nights_after: int
    overall: RatioReport | None = Field(
        description="New over old step time, over all points that both measured; null without any."
    )
    sentence: str


def list_all(session: Session, schedule: str) -> tuple[BridgeReport, ...]:
    """Of a schedule by id or name, oldest first. NotFoundError if there is none."""
    policy = schedules.find(session, schedule).spec.name
    nights = history.nights(session, policy)
    known = fleet.hardware(session)
    return tuple(
        _bridge(session, swap, nights, known)
        for swap in swaps(history.nights_of_hardware(session, nights))
    )


def _bridge(
    session: Session, swap: Swap, nights: Sequence[Night], known: dict[str, Hardware]
) -> BridgeReport:
    last, first = nights[swap.last[-1]], nights[swap.first[0]]
    before, after = known[swap.before], known[swap.after]
    overall, told = None, ""
    try:
        found = comparison.between(
            session,
            _side(swap.last, nights, "?baseline"),
            _side(swap.first, nights, "?candidate"),
            allow_different=MAY_DIFFER,
        )
        overall, told = found.overall, found.sentence
    except ServiceError as error:
        told = error.detail
    return BridgeReport(
        before=before,
        after=after,
        last=NightReport(sweep_id=last.sweep_id, at=last.at),
        first=NightReport(sweep_id=first.sweep_id, at=first.at),
        num_nights_before=len(swap.last),
        num_nights_after=len(swap.first),
        overall=overall,
        sentence=f"from {before.accelerator} to {after.accelerator}: {told}",
    )


def _side(chosen: Sequence[int], nights: Sequence[Night], pointer: str) -> Side:
    return Side(Selection(sweep=tuple(nights[number].sweep_id for number in chosen)), pointer)
