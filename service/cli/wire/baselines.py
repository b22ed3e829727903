from datetime import datetime

from service.cli.wire.base import Wire


class Baseline(Wire):
    """A sweep pinned under a name."""

    name: str
    sweep_id: str
    note: str = ""
    expires_at: datetime | None = None
    is_expired: bool = False


class Candidate(Wire):
    """A sweep that another may be held against."""

    kind: str
    sweep_id: str
    name: str | None = None
    reason: str = ""


class PassedOver(Wire):
    """A sweep that will not do."""

    sweep_id: str
    reason: str = ""


class Candidates(Wire):
    """What a sweep may be held against."""

    candidates: tuple[Candidate, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    sentence: str = ""
