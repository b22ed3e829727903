"""The queue against a model: any order of submissions, claims, deaths and cancellations."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)
from sqlalchemy import func, select

from service.errors import ConflictError
from service.store import fleet, queue, sweeps
from service.store.engine import Sessions, create_engine
from service.store.leases import Failure, Lease, Offer
from service.store.models.metadata import METADATA
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import TrialState
from tests.integration.store.builders import FakeClock, node, result_of, sweep_spec
from tests.unit.store.queue_model import (
    MAX_ATTEMPTS,
    ModelSweep,
    ModelTrial,
    Pass,
    QueueModel,
)

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


class QueueMachine(RuleBasedStateMachine):
    """Three dispatchers, two kinds of hardware, small sweeps and a clock that jumps."""

    sweep_ids: Bundle[str] = Bundle("sweep_ids")
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

    @initialize(target=sweep_ids)
    def begin(self) -> str:
        return self._submit(priority=0, batches=1, replicates=2)

    @rule(
        target=sweep_ids,
        priority=st.integers(0, 1),
        batches=st.integers(1, 2),
        replicates=st.integers(1, 2),
    )
    def submit(self, priority: int, batches: int, replicates: int) -> str:
        return self._submit(priority=priority, batches=batches, replicates=replicates)

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
            self.model.return_trial(one)
            assert one.state is self.model.trial(one.trial_id).state

    @rule(
        target=grants,
        owner=st.sampled_from(OWNERS),
        offer=st.sampled_from(OFFERS),
        prefers=st.booleans(),
    )
    def all_die_one_succeeds_and_the_dead_come_back(
        self, *, owner: str, offer: Offer, prefers: bool
    ) -> Granted | MultipleResults[Granted]:
        self.clock.advance(TTL_S)
        self.recover()
        granted = self.claim(owner=owner, offer=offer, prefers=prefers)
        self.clock.advance(1)
        for lapsed in [one for one in self.granted if not self._owns(one)][-3:]:
            self.heartbeat(lapsed, lapsed)
            self.every_trial_is_as_the_model_has_it()
            self.start(lapsed)
            self.complete(lapsed)
            self.fail(lapsed, failure=LOST)
            self.release(lapsed)
        return granted

    @rule(sweep_id=sweep_ids)
    def cancel(self, sweep_id: str) -> None:
        with self.sessions.writing() as session:
            sweeps.cancel(session, sweep_id)
        self.model.sweeps[sweep_id].cancel()

    @rule(granted=grants)
    def stop_cancelled(self, granted: Granted) -> None:
        lease, sweep = granted.lease, self.model.sweeps[granted.lease.sweep_id]
        may = sweep.is_cancelled and self._owns(granted)
        with self.sessions.writing() as session:
            assert queue.cancelled(session, [lease]) == ([lease] if sweep.is_cancelled else [])
            self._use(may, lambda: queue.cancel(session, lease))
        if may:
            self.model.trial(lease.trial_id).end(TrialState.CANCELLED)

    @rule(sweep_id=sweep_ids)
    def retry(self, sweep_id: str) -> None:
        sweep = self.model.sweeps[sweep_id]
        failed = [trial for trial in sweep.trials if trial.state is TrialState.FAILED]
        may = bool(failed) and not sweep.is_cancelled
        with self.sessions.writing() as session:
            self._use(may, lambda: sweeps.retry(session, sweep_id))
        for trial in failed if may else ():
            trial.state, trial.num_charged = TrialState.QUEUED, 0

    @invariant()
    def every_trial_is_as_the_model_has_it(self) -> None:
        columns = select(
            TrialRow.id, TrialRow.state, TrialRow.attempt, TrialRow.owner, TrialRow.lease_expires_at
        )
        with self.sessions.reading() as session:
            found = {tuple(row) for row in session.execute(columns)}
        assert found == {
            (trial.id, trial.state, trial.num_grants, trial.owner, trial.expires_at)
            for _, trial in self.model.trials()
        }

    @invariant()
    def every_success_has_one_result_and_every_grant_one_attempt(self) -> None:
        trials = [trial for _, trial in self.model.trials()]
        with self.sessions.reading() as session:
            measured = session.scalars(select(ResultRow.trial_id)).all()
            num_attempts = session.scalar(select(func.count()).select_from(AttemptRow))
        succeeded = sorted(t.id for t in trials if t.state is TrialState.SUCCEEDED)
        assert sorted(measured) == succeeded
        assert num_attempts == sum(trial.num_grants for trial in trials)

    def teardown(self) -> None:
        with self.sessions.reading() as session:
            page = sweeps.page(session, limit=100)
        assert {found.id for found in page.items} == set(self.model.sweeps)
        for found in page.items:
            sweep = self.model.sweeps[found.id]
            assert found.counts == {state: sweep.states.count(state) for state in TrialState}
            assert found.state is sweep.state
            assert (found.finished_at is not None) == sweep.is_over
            assert found.hardware_key == sweep.hardware_key
            assert (found.cancel_requested_at is not None) == sweep.is_cancelled
        self.engine.dispose()

    def _submit(self, *, priority: int, batches: int, replicates: int) -> str:
        spec = sweep_spec(batches=batches, degrees=(1,), replicates=replicates, priority=priority)
        with self.sessions.writing() as session:
            expansion = spec.expand()
            sweep = sweeps.create(session, spec, created_by="me", seed=1, expansion=expansion)
            rows = session.execute(
                select(TrialRow.id, TrialRow.replicate, TrialRow.position).where(
                    TrialRow.sweep_id == sweep.id
                )
            )
            trials = [ModelTrial(*row) for row in rows]
        age = len(self.model.sweeps)
        self.model.sweeps[sweep.id] = ModelSweep(sweep.id, priority, age, trials)
        self.clock.advance(0.001)
        return sweep.id

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


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(
    derandomize=True, max_examples=30, stateful_step_count=30, deadline=None, database=None
)
