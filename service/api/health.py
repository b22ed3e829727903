"""Whether the process lives, and whether it can work."""

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from service.api.auth import Public
from service.api.route import ApiRoute
from service.api.state import Service, ServiceDep
from service.store import fleet, schema
from workers.contract.frozen import Frozen

router = APIRouter(tags=["health"], route_class=ApiRoute)

DISPATCHER_SEEN_WITHIN = timedelta(minutes=2)


class Liveness(Frozen):
    """The process answers."""

    status: str = "ok"


class Check(Frozen):
    """One thing the service needs."""

    ok: bool
    detail: str


class Readiness(Frozen):
    """Whether requests can be served. Without a dispatcher they can; sweeps wait in the queue."""

    status: str
    database: Check
    schema_revision: Check
    dispatcher: Check


@router.get("/livez")
def livez(caller: Public) -> Liveness:
    """Looks at nothing but the process itself."""
    del caller
    return Liveness()


@router.get("/healthz")
def healthz(caller: Public) -> Liveness:
    """The same as /livez."""
    del caller
    return Liveness()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready."}})
def readyz(response: Response, service: ServiceDep, caller: Public) -> Readiness:
    """Database and schema; 503 while either is not as this version needs it."""
    del caller
    readiness = _look(service)
    if readiness.status != "ready":
        response.status_code = 503
        response.headers["Retry-After"] = "5"
    return readiness


def _look(service: Service) -> Readiness:
    unknown = Check(ok=False, detail="not known")
    try:
        revision = schema.current_revision(service.sessions.engine)
    except SQLAlchemyError:
        down = Check(ok=False, detail="does not answer")
        return Readiness(
            status="not_ready", database=down, schema_revision=unknown, dispatcher=unknown
        )
    head = schema.head_revision()
    answers = Check(ok=True, detail="answers")
    if revision != head:
        behind = Check(
            ok=False, detail=f"is at {revision or 'nothing'}, needs {head}: run tpsweep db upgrade"
        )
        return Readiness(
            status="not_ready", database=answers, schema_revision=behind, dispatcher=unknown
        )
    return Readiness(
        status="ready",
        database=answers,
        schema_revision=Check(ok=True, detail=head),
        dispatcher=_dispatcher(service),
    )


def _dispatcher(service: Service) -> Check:
    with service.sessions.reading() as session:
        seen = [node.last_seen_at for node in fleet.nodes(session)]
    if not seen:
        return Check(ok=False, detail="none was ever seen")
    ago = datetime.now(UTC) - max(seen)
    return Check(
        ok=ago < DISPATCHER_SEEN_WITHIN,
        detail=f"a node was seen {max(0, round(ago.total_seconds()))} s ago",
    )
