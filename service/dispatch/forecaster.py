"""What the cost model says of points is written down as their sweep begins."""

from collections.abc import Iterable

from sqlalchemy.exc import SQLAlchemyError

from service.reports import forecasts
from service.store.engine import Sessions
from service.store.leases import Lease
from service.telemetry import get_logger

log = get_logger(__name__)


class Forecaster:
    """Predicts the points of each sweep that the dispatcher begins, apart from the claim.

    Ranks are at work, or still starting, by then: so nothing waits for it. It goes by what had been
    measured when the sweep was created, so that a trial which ends meanwhile changes nothing.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._begun: tuple[str, int] | None = None
        self._due: list[str] = []

    def note(self, leases: Iterable[Lease]) -> None:
        """These were claimed; of the first of a sweep, and of each replicate, it takes notice."""
        for lease in leases:
            replicate = (lease.sweep_id, lease.replicate)
            if replicate != self._begun:
                self._begun = replicate
                self._due.append(lease.sweep_id)

    def look(self) -> None:
        """Predict what is due. A database that is away costs the prediction, nothing else."""
        due, self._due = self._due, []
        for sweep_id in dict.fromkeys(due):
            try:
                with self._sessions.writing() as session:
                    count = forecasts.freeze(session, sweep_id)
            except SQLAlchemyError as error:
                log.warning("points_not_predicted", sweep_id=sweep_id, error=str(error))
            else:
                log.info("points_predicted", sweep_id=sweep_id, count=count)
