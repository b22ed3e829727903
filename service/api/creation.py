"""What every route that creates a sweep takes and answers beside the sweep itself."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Header, Response

from service.access.callers import Caller
from service.api.state import Service
from service.reports import creation
from service.reports.creation import Asker, Planned
from service.reports.sweeps import SweepReport
from workers.contract.calibration import AnySweepSpec
from workers.contract.frozen import LARGEST_LABEL

KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=rf"^[\x21-\x7e]{{1,{LARGEST_LABEL}}}$",
        description="Send the same key again and the sweep of the first time is answered. It has "
        f"at most {LARGEST_LABEL} characters, printed ASCII without spaces.",
    ),
]


def create(
    service: Service,
    asked: AnySweepSpec,
    *,
    caller: Caller,
    idempotency_key: str | None,
    plan: Callable[[], Planned],
    response: Response,
) -> SweepReport:
    """Queue what is planned, or answer what was created with this key before; say where it is."""
    asker = Asker(caller.id, caller.name, idempotency_key)
    report = creation.create(service.sessions, asked, asker, plan=plan)
    response.headers["Location"] = f"/v1/sweeps/{report.id}"
    return report
