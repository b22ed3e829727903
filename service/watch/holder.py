"""Holds the nights of schedules against their baselines; any number of holders may look at once."""

from sqlalchemy.exc import SQLAlchemyError

from service.reports import held_nights as reports
from service.store import held_nights
from service.store.engine import Sessions
from service.store.held_nights import DueNight
from service.telemetry import get_logger

MOST_AT_ONCE = 20

log = get_logger(__name__)


class Holder:
    """Looks for finished sweeps of schedules that name a baseline."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def look(self) -> int:
        """Compare what is due; return how many sweeps. A database that is away is looked at later.

        The comparison is made in a reading transaction, since it takes seconds for large sweeps.
        """
        try:
            with self._sessions.reading() as session:
                due = held_nights.due(session, limit=MOST_AT_ONCE)
            return sum(self._hold(one) for one in due)
        except SQLAlchemyError as error:
            log.warning("nights_not_held", error=str(getattr(error, "orig", error)))
            return 0

    def _hold(self, due: DueNight) -> bool:
        with self._sessions.reading() as session:
            night = reports.hold(session, due)
        with self._sessions.writing() as session:
            is_kept = held_nights.keep(session, night)
        if is_kept:
            log.info(
                "night_held",
                schedule_id=night.schedule_id,
                sweep_id=night.sweep_id,
                baseline=night.baseline,
                verdict=night.verdict,
                sentence=night.sentence,
            )
        return is_kept
