"""When a cron expression fires in a zone.

Daylight saving is Debian cron's, which cronsim follows: a time of day that the clock skips fires at
the next minute that exists, and one that it shows twice fires the first time only. Expressions
whose minute or hour begins with a star follow elapsed time instead.

Nothing is named, or started, beyond the year 9999: dates end there.
"""

import contextlib
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim


@dataclass(frozen=True, slots=True)
class Timetable:
    """A cron expression, an IANA zone, and by how much every start is put off."""

    cron: str
    zone: str
    offset: timedelta = timedelta(0)

    def occurrences(self, *, after: datetime) -> Iterator[datetime]:
        """Times the expression names, in UTC, without the offset; `after` itself is none."""
        with contextlib.suppress(OverflowError):
            local = after.astimezone(ZoneInfo(self.zone))
            found = (one.astimezone(UTC) for one in CronSim(self.cron, local))
            # From inside an hour that is shown twice the library looks at its first pass again.
            yield from itertools.dropwhile(lambda one: one <= after, found)

    def starts(self, *, after: datetime) -> Iterator[datetime]:
        """When they are started."""
        with contextlib.suppress(OverflowError):
            for one in self.occurrences(after=after):
                yield one + self.offset

    def newest(self, *, after: datetime, until: datetime, most: int) -> list[datetime]:
        """The last occurrences of the interval, ascending; what is left out is never walked over.

        The interval is open at `after` and closed at `until`.
        """
        span = timedelta(hours=1)
        while True:
            start = max(after, until - span)
            inside = self.occurrences(after=start)
            found = list(itertools.takewhile(lambda one: one <= until, inside))
            if start == after or len(found) >= most:
                return found[-most:]
            span *= 2

    def next_start(self, *, after: datetime) -> datetime | None:
        """When the first occurrence after `after` is started; None where there is none any more."""
        return next(self.starts(after=after), None)


def offset_of(schedule_id: str, *, jitter_s: int) -> timedelta:
    """By how much a schedule is put off: the same every night, from 0 s to `jitter_s`."""
    digest = int.from_bytes(hashlib.sha256(schedule_id.encode()).digest()[:8])
    return timedelta(seconds=digest % (jitter_s + 1))
