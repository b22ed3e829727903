"""The queue against a model: any order of submissions, claims, deaths and cancellations."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    initialize,
    invariant,
    rule,
)
from sqlalchemy import func, select

from service.store import queue, sweeps
from service.store.leases import Offer
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import TrialState
from tests.integration.store.builders import sweep_spec
from tests.unit.store.queue_dispatchers import (
    LOST,
    OFFERS,
    OWNERS,
    TTL_S,
    Dispatchers,
    Granted,
)
from tests.unit.store.queue_model import ModelSweep, ModelTrial


class QueueMachine(Dispatchers):
    """Small sweeps come and are cancelled while dispatchers work and die."""

    sweep_ids: Bundle[str] = Bundle("sweep_ids")
    grants = Dispatchers.grants

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
            trial.put_back()

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


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=30, stateful_step_count=30)
