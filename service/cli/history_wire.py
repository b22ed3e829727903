"""What this client reads of schedules and baselines; see `wire`."""

from datetime import datetime

from service.cli.wire import Wire


class Pause(Wire):
    """Why nothing is started."""

    until: datetime | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """Until when and why."""
        until = "" if self.until is None else f" until {self.until:%Y-%m-%d %H:%M} UTC"
        return f"paused{until}: {self.reason}"


class Schedule(Wire):
    """A sweep that is measured again and again."""

    id: str
    name: str
    cron: str
    zone: str
    baseline: str | None = None
    catch_up: str = ""
    overlap: str = ""
    pause: Pause | None = None
    next_starts: tuple[datetime, ...] = ()


class Decision(Wire):
    """What became of one time that a schedule named."""

    scheduled_for: datetime
    action: str
    reason: str = ""
    sweep_id: str | None = None


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
