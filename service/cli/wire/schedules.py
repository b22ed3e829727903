from datetime import datetime

from service.cli.wire.base import Wire
from service.cli.wire.findings import NightOf


class Pause(Wire):
    """Why nothing is started."""

    until: datetime | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """Until when and why."""
        until = "" if self.until is None else f" until {self.until:%Y-%m-%d %H:%M} UTC"
        return f"paused{until}: {self.reason}"


class Held(Wire):
    """A night against the baseline."""

    baseline: str
    verdict: str | None = None
    sentence: str = ""

    @property
    def label(self) -> str:
        """Its verdict."""
        return self.verdict or "not compared"


class Schedule(Wire):
    """A sweep that is measured again and again."""

    name: str
    cron: str
    zone: str
    baseline: str | None = None
    catch_up: str = ""
    overlap: str = ""
    pause: Pause | None = None
    next_starts: tuple[datetime, ...] = ()
    last_held: Held | None = None


class Decision(Wire):
    """What became of one time that a schedule named."""

    scheduled_for: datetime
    action: str
    reason: str = ""
    sweep_id: str | None = None
    held: Held | None = None


class Bridge(Wire):
    """Where its nights went over to other hardware."""

    first: NightOf
    sentence: str
