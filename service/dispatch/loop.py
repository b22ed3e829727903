"""The dispatcher's one loop: wait for Ray, one transaction, act. Nothing in it may block long."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from service.dispatch.books import Books
from service.dispatch.forecaster import Forecaster
from service.dispatch.identity import Owner
from service.dispatch.lookout import LONGEST_WAIT_S, Lookout
from service.dispatch.outcomes import Outcome
from service.dispatch.station import Station
from service.dispatch.stations import Executor, Stations
from service.dispatch.timekeeper import Timekeeper
from service.dispatch.turn import Turn
from service.settings import Settings
from service.store.commits import CommitWatch
from service.store.engine import Sessions
from service.telemetry import get_logger

FINISH_WITHIN_S = 8.0
"""How long a graceful stop waits for trials that run."""
END_WITHIN_S = 5.0
RETRY_DATABASE_S = 0.5

EXIT_OK = 0
EXIT_TRY_AGAIN = 75
"""EX_TEMPFAIL: whoever started this process should start it again."""

log = get_logger(__name__)


class Dispatcher:
    """Works one pool until it is stopped or loses it."""

    def __init__(
        self,
        settings: Settings,
        *,
        sessions: Sessions,
        executor: Executor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self._executor = executor
        self._clock = clock
        self._ttl_s = settings.lease_ttl_s
        self._books = Books(
            owner=str(Owner.of_this_process()),
            pool=settings.pool,
            ttl_s=settings.lease_ttl_s,
            max_attempts=settings.max_attempts,
        )
        self._turn = Turn(self._books, ttl_s=settings.lease_ttl_s, clock=clock)
        self._timekeeper = Timekeeper(sessions, max_points=settings.max_points, clock=clock)
        self._background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forecaster")
        self._forecaster = Forecaster(sessions, executor=self._background)
        self._commits = CommitWatch(sessions.engine)
        self._lookout = Lookout(
            executor.wait,
            self._commits.has_moved,
            look_every_s=settings.poll_interval_s,
            clock=clock,
        )
        self._stations = Stations(executor, clock=clock)
        self._unwritten: list[Outcome] = []
        self._num_stop_requests = 0
        self._renewed_at = clock()
        self._database_is_down = False

    def stop(self) -> None:
        """Ask for a graceful stop, from any thread or signal handler; again for a quick one."""
        self._num_stop_requests += 1

    def run(self) -> int:
        """Work; return the exit status."""
        try:
            if not self._wait_for_pool():
                return EXIT_OK
            while not self._num_stop_requests:
                if not self.turn():
                    return self._abandon()
            return self._finish()
        finally:
            self._background.shutdown(cancel_futures=True)
            self._commits.close()

    def turn(self) -> bool:
        """One round; False once the pool is no longer ours."""
        self._lookout.wait(self._stations.all)
        if self._stations.follow_the_fleet():
            self._turn.show_fleet()
        self._unwritten += self._stations.poll()
        if self._has_lost_authority:
            log.error("lease_outlived", pool=self._settings.pool)
            return False
        self._timekeeper.look()
        if not self._unwritten and not self._turn.is_due(self._stations.all):
            return True
        return self._write()

    def _write(self) -> bool:
        began = self._clock()
        try:
            with self._sessions.writing() as session:
                orders = self._turn.write(
                    session,
                    self._stations.all,
                    outcomes=self._unwritten,
                    judge_the_impossible=self._stations.fleet_has_settled,
                )
        except SQLAlchemyError as error:
            self._wait_for_database(error)
            return True
        self._database_is_down = False
        self._turn.committed(orders)
        if not orders.keeps_pool:
            log.error("pool_lost", pool=self._settings.pool)
            return False
        if orders.renewed:
            self._renewed_at = began
        self._unwritten = [*orders.misfits]
        orders.carry_out()
        self._forecaster.note(lease for _, lease in orders.claimed)
        return True

    @property
    def _has_lost_authority(self) -> bool:
        """By our own clock, a third of the lease's time before the database's says so."""
        return self._clock() - self._renewed_at > self._ttl_s * 2 / 3

    def _wait_for_pool(self) -> bool:
        """Return True with the pool in hand, False where we are stopped first."""
        has_said_so = False
        while not self._num_stop_requests:
            began = self._clock()
            try:
                with self._sessions.writing() as session:
                    holder = self._books.acquire_pool(session)
            except SQLAlchemyError as error:
                self._wait_for_database(error)
                continue
            if holder is None:
                self._renewed_at = began
                log.info("pool_taken", pool=self._settings.pool)
                return True
            if not has_said_so:
                log.warning("pool_is_taken", pool=self._settings.pool, holder=holder)
                has_said_so = True
            self._executor.wait(LONGEST_WAIT_S)
        return False

    def _wait_for_database(self, error: SQLAlchemyError) -> None:
        if not self._database_is_down:
            log.error("database_unavailable", error=str(getattr(error, "orig", error)))
        self._database_is_down = True
        time.sleep(RETRY_DATABASE_S)

    def _abandon(self) -> int:
        """Nothing that is held is ours any more: kill, write nothing, go."""
        self._end_groups()
        return EXIT_TRY_AGAIN

    def _finish(self) -> int:
        """Give back what has not begun, let the rest reach its end, leave the pool."""
        log.info("stopping", pool=self._settings.pool)
        for station in self._stations.all:
            station.is_closing = True
        if not self._release([s for s in self._stations.all if not s.is_measuring]):
            return self._abandon()
        deadline = self._clock() + FINISH_WITHIN_S
        while any(s.is_measuring for s in self._stations.all) and self._num_stop_requests == 1:
            if self._clock() > deadline:
                break
            if not self.turn():
                return self._abandon()
        if not self._release(self._stations.all):
            return self._abandon()
        self._end_groups()
        if not self._insist(self._books.leave_pool):
            return self._abandon()
        log.info("stopped", pool=self._settings.pool)
        return EXIT_OK

    def _release(self, stations: list[Station]) -> bool:
        """Stop the ranks, write what has ended, then give the trials back.

        False where it could not be written while it was ours.
        """
        leases = [station.lease for station in stations if station.lease]
        for station in stations:
            station.close()
        if not self._insist(self._settle):
            return False
        self._unwritten.clear()

        def give_back(session: Session) -> None:
            self._books.lock(session, leases)
            for lease in leases:
                self._books.release(session, lease)

        return self._insist(give_back)

    def _settle(self, session: Session) -> None:
        self._books.lock(session, [outcome.lease for outcome in self._unwritten])
        for outcome in self._unwritten:
            self._books.settle(session, outcome)

    def _insist(self, write: Callable[[Session], None]) -> bool:
        """Write, again while the database is away; False once what is held is no longer ours."""
        while True:
            try:
                with self._sessions.writing() as session:
                    write(session)
            except SQLAlchemyError as error:
                self._wait_for_database(error)
            else:
                self._database_is_down = False
                return True
            if self._has_lost_authority:
                return False

    def _end_groups(self) -> None:
        self._stations.end_groups(within_s=END_WITHIN_S, look_every_s=LONGEST_WAIT_S / 10)
