from datetime import datetime

from service.cli.wire.base import Wire


class Webhook(Wire):
    """Where findings are told."""

    name: str
    kind: str
    target: str
    events: tuple[str, ...] = ()
    policy: str | None = None
    disabled_at: datetime | None = None
    secret: str | None = None
    warning: str = ""
    """Both only of a new one."""


class Delivery(Wire):
    """One message to one place."""

    id: str
    finding_id: str | None = None
    announcement: str
    state: str
    num_attempts: int
    next_attempt_at: datetime | None = None
    created_at: datetime
    error: str | None = None
