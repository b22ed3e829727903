"""What the loop reads and writes in one turn. Functions take the session; the loop commits."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from service.analysis.steps import EmptyTrialError
from service.dispatch.identity import Owner
from service.dispatch.outcomes import Measured, Outcome, Spoiled, Stopped
from service.dispatch.placement import offer_of
from service.dispatch.retry import decide
from service.dispatch.station import Station
from service.errors import LeaseLostError
from service.store import ending, fleet, queue, sweep_changes, takeover, unplaceable
from service.store.leases import Failure, Lease
from service.telemetry import get_logger
from workers.contract.group_events import Blame, Loss
from workers.contract.hardware import NodeFacts
from workers.contract.trial import TrialResult

_BUDGET_IS_JUDGED_HERE = 1_000_000

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a heartbeat found."""

    keeps_pool: bool
    lost: tuple[Lease, ...]


class Books:
    """One dispatcher's entries in the database."""

    def __init__(self, *, owner: str, pool: str, ttl_s: float, max_attempts: int) -> None:
        self._owner = owner
        self._pool = pool
        self._ttl = timedelta(seconds=ttl_s)
        self._max_attempts = max_attempts
        self._rivals: dict[str, str] = {}
        """Of nodes whose name another pool's node has: that pool."""

    def take_pool(self, session: Session) -> bool:
        """Take the pool, or renew it; False while another has it."""
        return fleet.lease_pool(session, self._pool, owner=self._owner, ttl=self._ttl)

    def acquire_pool(self, session: Session) -> str | None:
        """Take the pool, even from a dispatcher that is known to be dead; else say who has it."""
        if self.take_pool(session):
            return None
        holder = self._holder(session) or "somebody"
        owner = Owner.parse(holder)
        if owner is None or not owner.is_known_dead:
            return holder
        self._evict(session, holder)
        return None if self.take_pool(session) else holder

    def leave_pool(self, session: Session) -> None:
        """Let another take over at once."""
        fleet.release_pool(session, self._pool, owner=self._owner)

    def lock(self, session: Session, leases: Iterable[Lease]) -> None:
        """Wait for the sweeps of trials that are about to change."""
        sweep_changes.lock_sweeps(session, {lease.sweep_id for lease in leases})

    def renew(self, session: Session, leases: Sequence[Lease]) -> Renewal:
        """Heartbeat: pool and trials."""
        if not self.take_pool(session):
            return Renewal(keeps_pool=False, lost=tuple(leases))
        return Renewal(keeps_pool=True, lost=tuple(queue.heartbeat(session, leases, ttl=self._ttl)))

    def recover(self, session: Session) -> None:
        """Take back what others let expire."""
        for found in queue.recover_expired(session, max_attempts=self._max_attempts):
            log.warning(
                "lease_expired",
                trial_id=found.trial_id,
                attempt=found.attempt,
                owner=found.owner,
                state=found.state,
            )

    def register(self, session: Session, nodes: Sequence[NodeFacts]) -> None:
        """Note nodes, and that they are there; warn of names that another pool's nodes have."""
        rivals = {}
        for facts in nodes:
            rival = fleet.register(session, facts, pool=self._pool)
            if rival is None:
                continue
            rivals[facts.name] = rival
            if rival != self._rivals.get(facts.name):
                log.warning(
                    "node_name_taken",
                    node=facts.name,
                    pool=self._pool,
                    other_pool=rival,
                    remedy="give the hosts different names, or let one dispatcher work both",
                )
        self._rivals = rivals

    def fail_unplaceable(self, session: Session) -> None:
        """End what no machine known to any dispatcher can run."""
        known = fleet.node_facts(session)
        if count := unplaceable.fail_unplaceable(session, known):
            log.warning("trials_unplaceable", count=count)

    def claim(
        self, session: Session, station: Station, *, besides: Collection[tuple[str, int]]
    ) -> Lease | None:
        """The next trial for a node that has nothing to do, of no replicate of `besides`."""
        return queue.claim(
            session,
            owner=self._owner,
            offer=offer_of(station.node),
            ttl=self._ttl,
            prefer=station.replicate,
            besides=besides,
        )

    def start(self, session: Session, lease: Lease) -> bool:
        """Record that ranks begin; False where the trial is no longer ours."""
        try:
            queue.start(session, lease)
        except LeaseLostError:
            log.warning("lease_lost", trial_id=lease.trial_id, attempt=lease.attempt)
            return False
        return True

    def try_start(self, session: Session, lease: Lease) -> bool:
        """Record that ranks begin, unless another has locked the sweep; return whether it is so."""
        return sweep_changes.try_lock_sweep(session, lease.sweep_id) and self.start(session, lease)

    def cancelled(self, session: Session, leases: Sequence[Lease]) -> list[Lease]:
        """Those to stop."""
        return queue.cancelled(session, leases)

    def release(self, session: Session, lease: Lease) -> None:
        """Give a trial back unharmed."""
        try:
            state = queue.release(session, lease)
        except LeaseLostError:
            return
        log.info("trial_released", trial_id=lease.trial_id, attempt=lease.attempt, state=state)

    def settle(self, session: Session, outcome: Outcome) -> None:
        """Write what became of a trial; a newer attempt's owner has the last word."""
        try:
            match outcome:
                case Measured(lease=lease, result=result):
                    self._complete(session, lease, result)
                case Spoiled(lease=lease, loss=loss, node=node):
                    self._fail(session, lease, loss, node=node)
                case Stopped(lease=lease):
                    queue.cancel(session, lease)
                    log.info("trial_cancelled", trial_id=lease.trial_id, attempt=lease.attempt)
        except LeaseLostError:
            log.warning(
                "result_refused", trial_id=outcome.lease.trial_id, attempt=outcome.lease.attempt
            )

    def _holder(self, session: Session) -> str | None:
        """Who has the pool."""
        return takeover.pool_owner(session, self._pool)

    def _evict(self, session: Session, owner: str) -> None:
        """Take over from a dispatcher that is known to be dead."""
        count = takeover.evict(session, self._pool, owner=owner, max_attempts=self._max_attempts)
        log.warning("pool_taken_over", pool=self._pool, dead_owner=owner, trials=count)

    def _complete(self, session: Session, lease: Lease, result: TrialResult) -> None:
        try:
            queue.complete(session, lease, result)
        except EmptyTrialError as error:
            loss = Loss(blame=Blame.POINT, code="result_not_stored", message=str(error))
            self._fail(session, lease, loss, node="")
        else:
            log.info("trial_succeeded", trial_id=lease.trial_id, attempt=lease.attempt)

    def _fail(self, session: Session, lease: Lease, loss: Loss, *, node: str) -> None:
        earlier = ending.earlier_codes(session, lease)
        decision = decide(loss, earlier_codes=earlier, max_attempts=self._max_attempts)
        state = queue.fail(
            session,
            lease,
            Failure(
                code=loss.code,
                message=loss.message,
                rank=loss.rank,
                signal=loss.signal,
                node=node,
                log_tail=loss.log_tail,
                is_final=loss.is_final,
            ),
            retry=decision.retry,
            delay=decision.delay,
            max_attempts=_BUDGET_IS_JUDGED_HERE,
        )
        log.warning(
            "attempt_failed",
            trial_id=lease.trial_id,
            attempt=lease.attempt,
            code=loss.code,
            rank=loss.rank,
            state=state,
            decision=decision.reason,
        )
