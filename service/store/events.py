"""Events of a sweep, numbered 1, 2, 3 … under the sweep row's lock: no number is missing or late."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy.orm import Session

from service.store.states import EventKind


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a sweep."""

    sweep_id: str
    seq: int
    kind: EventKind
    data: Mapping[str, JsonValue]
    """Ids and, under "counts", the sweep's trials by state at that moment."""
    created_at: datetime


def append(session: Session, sweep_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> int:
    """Add the next event; the sweep stays locked until the transaction ends."""
    raise NotImplementedError


def after(session: Session, sweep_id: str, *, seq: int, limit: int) -> list[Event]:
    """Events with a higher number, in order."""
    raise NotImplementedError
