"""What the cost model says of points is written down as their sweep begins."""

from collections.abc import Iterable
from concurrent.futures import Executor

from service.reports import forecasts
from service.store.engine import Sessions
from service.store.leases import Lease
from service.telemetry import get_logger

log = get_logger(__name__)


class Forecaster:
    """Predicts the points of each sweep that the dispatcher begins, beside its loop.

    How long that takes grows with what is stored, so that no lease and no rank may wait for it. It
    goes by what had been measured when the sweep was created: a trial that ends meanwhile changes
    nothing.
    """

    def __init__(self, sessions: Sessions, *, executor: Executor) -> None:
        """The executor is its owner's, and has one thread: predictions are made in turn."""
        self._sessions = sessions
        self._executor = executor
        self._begun: tuple[str, int] | None = None

    def note(self, leases: Iterable[Lease]) -> None:
        """These were claimed; the first of a sweep, and of each replicate, has it predicted."""
        for lease in leases:
            replicate = (lease.sweep_id, lease.replicate)
            if replicate != self._begun:
                self._begun = replicate
                self._executor.submit(self._predict, lease.sweep_id)

    def _predict(self, sweep_id: str) -> None:
        try:
            with self._sessions.reading() as session:
                found = forecasts.predict(session, sweep_id)
            if found is not None:
                with self._sessions.writing() as session:
                    forecasts.freeze(session, found)
        except Exception as error:  # noqa: BLE001 - the thread's edge: it costs the prediction alone
            log.warning("points_not_predicted", sweep_id=sweep_id, error=repr(error))
        else:
            count = len(found.predictions) if found else 0
            log.info("points_predicted", sweep_id=sweep_id, count=count)
