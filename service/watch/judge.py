"""Judges the nights of schedules as they come in; any number of judges may look at once."""

from sqlalchemy.exc import SQLAlchemyError

from service.store import judging, schedules
from service.store.engine import Sessions
from service.store.judging import Due, Judgement
from service.telemetry import get_logger

log = get_logger(__name__)


class Judge:
    """Looks for finished sweeps that nobody has judged."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def look(self) -> int:
        """Judge what is due; return how many sweeps. A database that is away is looked at later."""
        try:
            with self._sessions.reading() as session:
                due = judging.due(session)
            found = [self._judge(one) for one in due]
        except SQLAlchemyError as error:
            log.warning("nights_not_judged", error=str(getattr(error, "orig", error)))
            return 0
        return sum(one is not None for one in found)

    def _judge(self, due: Due) -> Judgement | None:
        with self._sessions.reading() as session:
            looked = judging.look(session, due)
        with self._sessions.writing() as session:
            schedule = schedules.take(session, due.schedule_id)
            if schedule is None:
                return None
            found = judging.judge(session, schedule, looked)
        if found is not None:
            log.info(
                "night_judged",
                policy=found.policy,
                sweep_id=found.sweep_id,
                num_nights=found.num_nights,
                num_series=found.num_series,
                findings=list(found.moved),
                rerun_id=found.rerun_id,
            )
        return found
