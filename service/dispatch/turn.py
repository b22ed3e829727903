"""One transaction of the loop: what is due is written; what follows from it is done afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from service.dispatch.books import Books
from service.dispatch.outcomes import Outcome, Spoiled
from service.dispatch.station import Station
from service.dispatch.timer import Timer
from service.store.fleet import SHOWN_FOR
from service.store.leases import Lease
from service.telemetry import get_logger
from workers.contract.group_events import Blame, Loss
from workers.contract.hardware import NodeFacts

CANCEL_CHECK_S = 0.25
RECOVERY_CHECK_S = 2.0
FLEET_SEEN_EVERY_S = SHOWN_FOR.total_seconds() / 3
"""A node may be shown late twice before it counts as gone."""

log = get_logger(__name__)


@dataclass(slots=True)
class Orders:
    """What a transaction decided. Nothing of it is done before the commit."""

    renewed: bool = False
    keeps_pool: bool = True
    dropped: list[Station] = field(default_factory=list)
    cancelled: list[Station] = field(default_factory=list)
    claimed: list[tuple[Station, Lease]] = field(default_factory=list)
    started: list[Station] = field(default_factory=list)
    resting: list[Station] = field(default_factory=list)
    misfits: list[Spoiled] = field(default_factory=list)
    """Claimed, and then found to fit no node here: written in the next turn."""

    def carry_out(self) -> None:
        """Tell the stations."""
        for station in self.dropped:
            station.drop()
        for station in self.cancelled:
            station.cancel()
        for station, lease in self.claimed:
            station.take(lease)
        for station in self.started:
            station.submit()
        for station in self.resting:
            station.rest()


class Turn:
    """Knows when each kind of entry is due, and writes it."""

    def __init__(self, books: Books, *, ttl_s: float, clock: Callable[[], float]) -> None:
        self._books = books
        self._heartbeat = Timer(ttl_s / 3, clock=clock)
        self._cancel_check = Timer(CANCEL_CHECK_S, clock=clock)
        self._recovery = Timer(min(RECOVERY_CHECK_S, ttl_s / 3), clock=clock)
        self._fleet_seen = Timer(FLEET_SEEN_EVERY_S, clock=clock)

    def is_due(self, stations: Sequence[Station]) -> bool:
        """Whether there is any reason to open a transaction, outcomes and new nodes apart."""
        timers = (self._heartbeat, self._recovery, self._fleet_seen)
        return (
            any(timer.is_due for timer in timers)
            or any(station.wants_work or station.awaits_start for station in stations)
            or (self._cancel_check.is_due and any(station.lease for station in stations))
        )

    def write(
        self,
        session: Session,
        stations: Sequence[Station],
        *,
        outcomes: Sequence[Outcome],
        judge_the_impossible: bool,
    ) -> Orders:
        """Heartbeat first: where the pool is lost, nothing else is ours to write.

        The only wait for sweeps comes before it, so that no two turns wait for each other.
        """
        orders = Orders()
        starting = [lease for station in stations if (lease := station.awaits_start)]
        self._books.lock(session, [*starting, *(outcome.lease for outcome in outcomes)])
        if self._heartbeat.is_due:
            self._renew(session, stations, outcomes, orders)
            if not orders.keeps_pool:
                return orders
        for outcome in outcomes:
            self._books.settle(session, outcome)
        if self._fleet_seen.is_due:
            self._books.register(session, [s.node for s in stations if not s.is_closing])
        if self._recovery.is_due:
            self._books.recover(session)
            if judge_the_impossible:
                self._books.fail_unplaceable(session)
        if self._cancel_check.is_due:
            self._look_for_cancelled(session, stations, orders)
        self._start(session, stations, orders)
        self._claim(session, stations, orders)
        return orders

    def committed(self, orders: Orders) -> None:
        """Count anew for everything that was due."""
        if orders.renewed:
            self._heartbeat.restart()
        for timer in (self._cancel_check, self._recovery, self._fleet_seen):
            if timer.is_due:
                timer.restart()

    def show_fleet(self) -> None:
        """A node has arrived: register all of them in the next transaction."""
        self._fleet_seen.expire()

    def _renew(
        self,
        session: Session,
        stations: Sequence[Station],
        outcomes: Sequence[Outcome],
        orders: Orders,
    ) -> None:
        held = [station.lease for station in stations if station.lease]
        unwritten = [outcome.lease for outcome in outcomes]
        renewal = self._books.renew(session, [*held, *unwritten])
        orders.renewed, orders.keeps_pool = True, renewal.keeps_pool
        for station in stations:
            if station.lease in renewal.lost:
                log.warning(
                    "lease_lost", trial_id=station.lease.trial_id, attempt=station.lease.attempt
                )
                orders.dropped.append(station)

    def _look_for_cancelled(
        self, session: Session, stations: Sequence[Station], orders: Orders
    ) -> None:
        held = [station.lease for station in stations if station.lease]
        cancelled = self._books.cancelled(session, held)
        orders.cancelled += [station for station in stations if station.lease in cancelled]

    def _start(self, session: Session, stations: Sequence[Station], orders: Orders) -> None:
        gone = [*orders.dropped, *orders.cancelled]
        for station in stations:
            lease = station.awaits_start
            if lease is None or station in gone:
                continue
            if self._books.start(session, lease):
                orders.started.append(station)
            else:
                orders.dropped.append(station)

    def _claim(self, session: Session, stations: Sequence[Station], orders: Orders) -> None:
        """A group that is ready begins in the same transaction, unless its sweep is locked.

        A replicate that another group is at is left to it, also between two of its trials.
        """
        for station in stations:
            if not station.wants_work:
                continue
            others = {at for one in stations if one is not station and (at := one.replicate)}
            lease = self._books.claim(session, station, besides=others)
            if lease is None:
                orders.resting.append(station)
                continue
            if lease.spec.tp_degree > station.node.num_slots:
                orders.misfits.append(_misfit(lease, station.node))
                orders.resting.append(station)
                continue
            orders.claimed.append((station, lease))
            if station.is_ready_for(lease) and self._books.try_start(session, lease):
                orders.started.append(station)


def _misfit(lease: Lease, node: NodeFacts) -> Spoiled:
    loss = Loss(
        blame=Blame.POINT,
        code="no_such_node",
        message=f"tp_degree {lease.spec.tp_degree} does not fit the {node.num_slots} devices of "
        f"node {node.name}",
        is_final=True,
    )
    return Spoiled(lease, loss, node.name)
