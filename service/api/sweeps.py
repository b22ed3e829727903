"""Sweeps: preview, create, list, show, cancel, retry, and their points."""

import hashlib
import json
import secrets
from typing import Annotated

from fastapi import APIRouter, Body, Header, Query, Response
from pydantic import Field

from service.analysis import plan
from service.api.auth import Reader, Submitter
from service.api.examples import SWEEPS
from service.api.paging import Page, PageParameters
from service.api.parameters import Moment, Tag
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.reports import sweeps as reports
from service.reports.sweeps import PointReport, SweepReport
from service.store import fleet, sweeps
from service.store.idempotency import IdempotencyKey, lookup
from service.store.states import PointState, SweepState
from workers.contract.frozen import Frozen
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection
from workers.contract.sweep import SweepSpec

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], route_class=ApiRoute)

SweepBody = Annotated[SweepSpec, Body(openapi_examples=SWEEPS)]
KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="Send the same key again and the sweep of the first time is answered.",
    ),
]
RETRY_RESPONSES: Responses = {409: {"description": "Nothing of the sweep has failed."}}


class PreviewReport(Frozen):
    """What a sweep would measure, and what it would leave out and why."""

    num_points: int
    num_trials: int = Field(description="Points, or pairs of them, times replicates.")
    points: tuple[PointSpec, ...]
    rejected: tuple[Rejection, ...]
    estimated_s: float = Field(
        description="At most, on one node: every trial may use its whole time limit."
    )


class SweepFilter(PageParameters):
    """Which sweeps."""

    state: SweepState | None = None
    tag: Tag | None = None
    since: Moment | None = Field(default=None, description="Created then or later.")


class PointFilter(PageParameters):
    """Which points of a sweep."""

    state: PointState | None = None


@router.post("/preview")
def preview_sweep(spec: SweepBody, service: ServiceDep, caller: Reader) -> PreviewReport:
    """Judge every combination of a sweep; nothing is queued."""
    del caller
    expansion = plan.expand(
        spec, nodes=_known_nodes(service), max_points=service.settings.max_points
    )
    num_points = len(expansion.points)
    return PreviewReport(
        num_points=num_points,
        num_trials=len(expansion.trials) * spec.replicates,
        points=expansion.points,
        rejected=expansion.rejected,
        estimated_s=plan.estimated_s(spec, num_points=num_points),
    )


@router.post("", status_code=202)
def create_sweep(
    spec: SweepBody,
    response: Response,
    service: ServiceDep,
    caller: Submitter,
    idempotency_key: KeyHeader = None,
) -> SweepReport:
    """Queue every combination that can be measured; keep the others with the reason."""
    key = None
    if idempotency_key is not None:
        key = IdempotencyKey(caller.id, idempotency_key, body_hash(spec))
    report = _created_before(service, key) or _create(service, spec, caller.name, key)
    response.headers["Location"] = f"/v1/sweeps/{report.id}"
    return report


@router.get("")
def list_sweeps(
    which: Annotated[SweepFilter, Query()], service: ServiceDep, caller: Reader
) -> Page[SweepReport]:
    """Sweeps, newest first."""
    del caller
    with service.sessions.reading() as session:
        found = reports.page(
            session,
            state=which.state,
            tag=which.tag,
            since=which.since,
            limit=which.limit,
            cursor=which.cursor,
        )
    return Page(items=list(found.items), next_cursor=found.next_cursor)


@router.get("/{sweep_id}")
def get_sweep(sweep_id: str, service: ServiceDep, caller: Reader) -> SweepReport:
    """One sweep with its progress."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, sweep_id)


@router.get("/{sweep_id}/points")
def list_points(
    sweep_id: str, which: Annotated[PointFilter, Query()], service: ServiceDep, caller: Reader
) -> Page[PointReport]:
    """Points of a sweep in the order of its grid, the rejected ones last."""
    del caller
    with service.sessions.reading() as session:
        found = reports.points(
            session, sweep_id, state=which.state, limit=which.limit, cursor=which.cursor
        )
    return Page(items=list(found.items), next_cursor=found.next_cursor)


@router.post("/{sweep_id}/cancel", status_code=202)
def cancel_sweep(sweep_id: str, service: ServiceDep, caller: Submitter) -> SweepReport:
    """Stop what has not been measured; a running group ends within seconds."""
    del caller
    with service.sessions.writing() as session:
        sweep = sweeps.cancel(session, sweep_id)
    return SweepReport.of(sweep)


@router.post("/{sweep_id}/retry", status_code=202, responses=RETRY_RESPONSES)
def retry_sweep(sweep_id: str, service: ServiceDep, caller: Submitter) -> SweepReport:
    """Put the failed trials of a sweep back into the queue."""
    del caller
    with service.sessions.writing() as session:
        sweep = sweeps.retry(session, sweep_id)
    return SweepReport.of(sweep)


def body_hash(spec: SweepSpec) -> str:
    """The same for two bodies that mean the same."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _created_before(service: Service, key: IdempotencyKey | None) -> SweepReport | None:
    if key is None:
        return None
    with service.sessions.reading() as session:
        sweep_id = lookup(session, principal=key.principal, key=key.key, body_hash=key.body_hash)
        return None if sweep_id is None else reports.find(session, sweep_id)


def _create(
    service: Service, spec: SweepSpec, created_by: str, key: IdempotencyKey | None
) -> SweepReport:
    expansion = plan.expand(
        spec, nodes=_known_nodes(service), max_points=service.settings.max_points
    )
    plan.refuse_nothing_left(expansion)
    with service.sessions.writing() as session:
        sweep = sweeps.create(
            session,
            spec,
            created_by=created_by,
            seed=secrets.randbits(31),
            expansion=expansion,
            idempotency=key,
        )
    return SweepReport.of(sweep)


def _known_nodes(service: Service) -> list[NodeFacts]:
    with service.sessions.reading() as session:
        return fleet.node_facts(session)
