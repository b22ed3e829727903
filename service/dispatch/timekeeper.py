"""Starts what schedules name, in transactions of its own: one for each schedule that is due."""

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from service.dispatch.timer import Timer
from service.store import firing, schedules
from service.store.engine import Sessions
from service.telemetry import get_logger

CHECK_EVERY_S = 2.0

log = get_logger(__name__)


class Timekeeper:
    """Any number of them may look at once: who locks a schedule first decides."""

    def __init__(self, sessions: Sessions, *, max_points: int, clock: Callable[[], float]) -> None:
        self._sessions = sessions
        self._max_points = max_points
        self._check = Timer(CHECK_EVERY_S, clock=clock)
        self._undecidable: set[str] = set()
        """Ids of schedules that were told of."""

    def look(self) -> None:
        """Now and then decide on every schedule that is due by the database's clock.

        A database that is away is looked at again later: nothing is lost, only late.
        """
        if not self._check.is_due:
            return
        self._check.restart()
        try:
            with self._sessions.reading() as session:
                due = schedules.due(session)
        except SQLAlchemyError as error:
            _log_undecided(error)
            return
        for schedule_id in due:
            self._try_to_decide(schedule_id)

    def _try_to_decide(self, schedule_id: str) -> None:
        """One that cannot be decided, as of a zone that this host does not know, stops no other."""
        try:
            self._decide(schedule_id)
        except SQLAlchemyError as error:
            _log_undecided(error)
        except Exception:
            if schedule_id not in self._undecidable:
                log.exception("schedule_not_decided", schedule_id=schedule_id)
            self._undecidable.add(schedule_id)
        else:
            self._undecidable.discard(schedule_id)

    def _decide(self, schedule_id: str) -> None:
        with self._sessions.writing() as session:
            schedule = schedules.take(session, schedule_id)
            if schedule is None:
                return
            found = firing.fire_due(session, schedule, max_points=self._max_points)
        for one in found:
            log.info(
                "schedule_decided",
                schedule_id=one.schedule_id,
                scheduled_for=one.scheduled_for.isoformat(),
                action=one.action,
                reason=one.reason,
                sweep_id=one.sweep_id,
            )


def _log_undecided(error: SQLAlchemyError) -> None:
    log.warning("schedules_not_decided", error=str(getattr(error, "orig", error)))
