"""Findings: kept, listed, moved from state to state; every move is a row with its reason."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import Evidence, FindingKind
from service.analysis.findings.nightly import JudgedBy
from service.analysis.findings.states import FOLLOWING, Dismissal, FindingState
from service.errors import ConflictError, NotFoundError
from service.store.clock import db_time
from service.store.models.finding import FindingChangeRow, FindingRow
from service.store.pages import Page, cut, decode_cursor


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One change of state."""

    state: FindingState
    reason: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A finding as its row tells it."""

    id: str
    policy: str
    hardware_key: str
    kind: FindingKind
    cause: Cause
    state: FindingState
    dismissal: Dismissal | None
    night_sweep_id: str
    last_good_sweep_id: str | None
    judged_sweep_id: str
    nodes: tuple[str, ...]
    cases: tuple[str, ...]
    effect_relative: float
    normalised_effect: float | None
    covariate: str | None
    members: tuple[Evidence, ...]
    judged_by: JudgedBy
    inputs_hash: str
    created_at: datetime
    confirmed_at: datetime | None
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings; an empty tuple or None lets everything pass."""

    states: tuple[FindingState, ...] = ()
    kinds: tuple[FindingKind, ...] = ()
    causes: tuple[Cause, ...] = ()
    policy: str | None = None
    hardware_key: str | None = None


def find(session: Session, finding_id: str, *, lock: bool = False) -> StoredFinding:
    """NotFoundError if there is none."""
    chosen = select(FindingRow).where(FindingRow.id == finding_id)
    row = session.scalar(
        chosen.with_for_update() if lock else chosen, execution_options={"populate_existing": True}
    )
    if row is None:
        raise NotFoundError(f"there is no finding {finding_id!r}")
    return _finding(row)


def page(
    session: Session, which: FindingFilter, *, limit: int, cursor: str | None = None
) -> Page[StoredFinding]:
    """Newest first."""
    chosen = select(FindingRow).order_by(FindingRow.id.desc())
    if which.states:
        chosen = chosen.where(FindingRow.state.in_(which.states))
    if which.kinds:
        chosen = chosen.where(FindingRow.kind.in_(which.kinds))
    if which.causes:
        chosen = chosen.where(FindingRow.cause.in_(which.causes))
    if which.policy is not None:
        chosen = chosen.where(FindingRow.policy == which.policy)
    if which.hardware_key is not None:
        chosen = chosen.where(FindingRow.hardware_key == which.hardware_key)
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=which, types=(str,))
        chosen = chosen.where(FindingRow.id < last)
    found = [_finding(row) for row in session.scalars(chosen.limit(limit + 1))]
    return cut(found, limit=limit, key=lambda one: (one.id,), filters=which)


def changes(session: Session, finding_id: str) -> list[FindingChange]:
    """Every change of its state, in order."""
    rows = session.scalars(
        select(FindingChangeRow)
        .where(FindingChangeRow.finding_id == finding_id)
        .order_by(FindingChangeRow.number)
    )
    return [FindingChange(row.state, row.reason, row.changed_by, row.changed_at) for row in rows]


def move(
    session: Session,
    finding_id: str,
    state: FindingState,
    *,
    reason: str,
    changed_by: str,
    dismissal: Dismissal | None = None,
) -> StoredFinding:
    """Somebody's decision. ConflictError where it does not lead from the finding's state there."""
    known = find(session, finding_id, lock=True)
    allowed = FOLLOWING[known.state]
    if state not in allowed:
        ways = ", ".join(sorted(allowed))
        raise ConflictError(f"the finding is {known.state}; from there it can become: {ways}")
    now = db_time(session)
    values: dict[str, object] = {"state": state, "dismissal": dismissal, "changed_at": now}
    if state is FindingState.CONFIRMED and known.confirmed_at is None:
        values["confirmed_at"] = now
    session.execute(
        update(FindingRow).where(FindingRow.id == finding_id).values(values),
        execution_options={"synchronize_session": False},
    )
    note(session, finding_id, state, reason=reason, changed_by=changed_by, now=now)
    return find(session, finding_id)


def note(
    session: Session,
    finding_id: str,
    state: FindingState,
    *,
    reason: str,
    changed_by: str,
    now: datetime,
) -> None:
    """Keep that a finding, which is locked or new, came into a state."""
    last = select(func.max(FindingChangeRow.number)).where(
        FindingChangeRow.finding_id == finding_id
    )
    session.execute(
        insert(FindingChangeRow).values(
            finding_id=finding_id,
            number=(session.scalar(last) or 0) + 1,
            state=state,
            reason=reason,
            changed_by=changed_by,
            changed_at=now,
        )
    )


def _finding(row: FindingRow) -> StoredFinding:
    return StoredFinding(
        id=row.id,
        policy=row.policy,
        hardware_key=row.hardware_key,
        kind=row.kind,
        cause=row.cause,
        state=row.state,
        dismissal=row.dismissal,
        night_sweep_id=row.night_sweep_id,
        last_good_sweep_id=row.last_good_sweep_id,
        judged_sweep_id=row.judged_sweep_id,
        nodes=row.nodes,
        cases=row.cases,
        effect_relative=row.effect_relative,
        normalised_effect=row.normalised_effect,
        covariate=row.covariate,
        members=row.members,
        judged_by=row.judged_by,
        inputs_hash=row.inputs_hash,
        created_at=row.created_at,
        confirmed_at=row.confirmed_at,
        changed_at=row.changed_at,
    )
