"""Dispatchers at the queue, in any order: what each call ought to do, by the model."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    multiple,
    rule,
)

from service.errors import ConflictError
from service.store import fleet, queue
from service.store.engine import Sessions, create_engine
from service.store.leases import Failure, Lease, Offer
from service.store.models.metadata import METADATA
from service.store.states import TrialState
from tests.integration.store.builders import FakeClock, node, result_of
from tests.unit.store.queue_model import MAX_ATTEMPTS, Pass, QueueModel

OWNERS = ("first", "second", "third")
TTL_S = 30
TTL = timedelta(seconds=TTL_S)
HARDWARE = tuple(node().hardware.model_copy(update={"accelerator": name}) for name in "ab")
OFFERS = tuple(Offer(h.hardware_key, h.accelerator, num_slots=2) for h in HARDWARE)
FINAL = Failure(code="out_of_memory", message="no room", is_final=True)
LOST = Failure(code="rank_lost", message="rank 1 died")


@dataclass(frozen=True)
class Granted:
    """A lease and the model's own number for it."""

    lease: Lease
    number: int


class Dispatchers(RuleBasedStateMachine):
    """Three of them, two kinds of hardware, and a clock that jumps; sweeps are another's."""

    grants: Bundle[Granted] = Bundle("grants")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.engine = create_engine("sqlite://")
        METADATA.create_all(self.engine)
        self.sessions = Sessions(self.engine, clock=self.clock)
        self.model = QueueModel()
        self.last_pass: dict[str, Pass] = {}
        self.granted: list[Granted] = []
        with self.sessions.writing() as session:
            for number, hardware in enumerate(HARDWARE):
                fleet.register(session, node(hardware, name=f"node-{number}"), pool="pool")

    @rule(
        target=grants,
        owner=st.sampled_from(OWNERS),
        offer=st.sampled_from(OFFERS),
        prefers=st.booleans(),
    )
    def claim(
        self, *, owner: str, offer: Offer, prefers: bool
    ) -> Granted | MultipleResults[Granted]:
        prefer = self.last_pass.get(owner) if prefers else None
        expected = self.model.next_trial(owner, offer, prefer)
        with self.sessions.writing() as session:
            lease = queue.claim(session, owner=owner, offer=offer, ttl=TTL, prefer=prefer)
        if expected is None:
            assert lease is None
            return multiple()
        sweep, trial = expected
        assert lease is not None
        assert (lease.trial_id, lease.owner) == (trial.id, owner)
        number = self.model.grant(trial, owner, self.clock.now + TTL)
        assert lease.attempt == number
        sweep.hardware_key = offer.hardware_key
        self.last_pass[owner] = (lease.sweep_id, lease.replicate)
        self.granted.append(Granted(lease, number))
        return self.granted[-1]

    @rule(granted=grants)
    def start(self, granted: Granted) -> None:
        trial = self.model.trial(granted.lease.trial_id)
        may = self._owns(granted) and trial.state is TrialState.LEASED
        with self.sessions.writing() as session:
            self._use(may, lambda: queue.start(session, granted.lease))
        if may:
            trial.state = TrialState.RUNNING

    @rule(granted=grants)
    def complete(self, granted: Granted) -> None:
        key = self.model.sweeps[granted.lease.sweep_id].hardware_key
        result = result_of(granted.lease).model_copy(update={"hardware_key": key})
        may = self._owns(granted)
        with self.sessions.writing() as session:
            self._use(may, lambda: queue.complete(session, granted.lease, result))
        if may:
            self.model.trial(granted.lease.trial_id).end(TrialState.SUCCEEDED)

    @rule(granted=grants, failure=st.sampled_from((FINAL, LOST)))
    def fail(self, granted: Granted, failure: Failure) -> None:
        lease = granted.lease
        may = self._owns(granted)
        with self.sessions.writing() as session:
            self._use(may, lambda: queue.fail(session, lease, failure, retry=True))
        if may:
            self.model.return_trial(lease, is_final=failure.is_final)

    @rule(granted=grants)
    def release(self, granted: Granted) -> None:
        may = self._owns(granted)
        with self.sessions.writing() as session:
            self._use(may, lambda: queue.release(session, granted.lease))
        if may:
            self.model.return_trial(granted.lease, is_charged=False)

    @rule(first=grants, second=grants)
    def heartbeat(self, first: Granted, second: Granted) -> None:
        granted = [first, second]
        with self.sessions.writing() as session:
            lost = queue.heartbeat(session, [one.lease for one in granted], ttl=TTL)
        expired = self.model.expired(self.clock.now)
        kept = [g for g in granted if self._owns(g) and g.lease.trial_id not in expired]
        assert lost == [one.lease for one in granted if one not in kept]
        for one in kept:
            self.model.trial(one.lease.trial_id).expires_at = self.clock.now + TTL

    @rule(seconds=st.sampled_from((1, TTL_S - 1, TTL_S, TTL_S + 1)))
    def let_time_pass(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def recover(self) -> None:
        expired = self.model.expired(self.clock.now)
        with self.sessions.writing() as session:
            recovered = queue.recover_expired(session, max_attempts=MAX_ATTEMPTS)
        assert {one.trial_id for one in recovered} == expired
        for one in recovered:
            self.model.take_back(one)
            assert one.state is self.model.trial(one.trial_id).state

    def _owns(self, granted: Granted) -> bool:
        return self.model.owns(granted.lease.trial_id, granted.number)

    def _use(self, may: bool, use: Callable[[], object]) -> None:  # noqa: FBT001 - reads like a verb
        """Do it; it has to be accepted or refused as the model says."""
        try:
            use()
        except ConflictError:
            assert not may, "refused what the holder may do"
        else:
            assert may, "accepted what nobody may do"
