"""Many claim, submit and write at once: every trial has one owner, every key one sweep."""

import itertools
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from service.errors import LeaseLostError
from service.store import queue, results, sweeps
from service.store.engine import Sessions, create_engine
from service.store.idempotency import IdempotencyKey
from service.store.leases import Lease, Offer
from service.store.models.trial import AttemptRow, TrialRow
from service.store.result_filter import ResultFilter
from service.store.states import SweepState, TrialState
from tests.integration.store.builders import (
    OFFER,
    TTL,
    claim,
    claimed,
    complete,
    find,
    register,
    result_of,
    submit,
    sweep_spec,
)
from tests.integration.store.claimer import claim_all


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_eight_processes_claim_two_thousand_trials_each_once(
    database: str, sessions: Sessions
) -> None:
    for _ in range(10):
        submit(sessions, sweep_spec(batches=20, degrees=(1,), replicates=10))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([claim_all.__module__])
    owners = [f"owner-{number}" for number in range(8)]
    with ProcessPoolExecutor(len(owners), mp_context=context) as pool:
        told = dict(
            zip(owners, pool.map(claim_all, itertools.repeat(database), owners), strict=True)
        )
    owner_of = {trial_id: owner for owner, ids in told.items() for trial_id in ids}
    assert sum(map(len, told.values())) == len(owner_of) == 2000
    with sessions.reading() as session:
        rows = session.execute(select(TrialRow.id, TrialRow.owner, TrialRow.attempt)).all()
        assert session.scalar(select(func.count()).select_from(AttemptRow)) == 2000
        passes = session.execute(
            select(TrialRow.sweep_id, TrialRow.replicate, TrialRow.owner).distinct()
        ).all()
    assert {row.id: row.owner for row in rows} == owner_of
    assert {row.attempt for row in rows} == {1}
    assert len(passes) == 100, "each replicate ran in one group"


def test_of_two_kinds_of_hardware_one_gets_the_sweep(sessions: Sessions) -> None:
    offers = [Offer(hardware_key=f"h1:{n}", accelerator="x", num_slots=4) for n in range(2)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            sweep = submit(sessions, sweep_spec(batches=4, degrees=(1,), replicates=8))

            def take(number: int) -> str | None:
                offer = offers[number % 2]
                lease = claim(sessions, owner=f"owner-{number}", offer=offer)
                return None if lease is None else offer.hardware_key

            won = {key for key in pool.map(take, range(8)) if key}
            assert won == {find(sessions, sweep.id).hardware_key}
            with sessions.writing() as session:
                sweeps.cancel(session, sweep.id)


def test_groups_that_come_at_once_get_different_replicates(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=5, degrees=(1,), replicates=4))
    with ThreadPoolExecutor(8) as pool:
        tried = pool.map(lambda n: claim(sessions, owner=f"owner-{n}"), range(40))
        leases = [lease for lease in tried if lease]
    held = Counter((lease.sweep_id, lease.replicate) for lease in leases)
    owners = {(lease.replicate, lease.owner) for lease in leases}
    assert set(held) <= {(sweep.id, n) for n in range(4)}
    assert len(owners) == len(held), "no replicate in two groups"


def test_a_key_used_a_hundred_times_at_once_makes_one_sweep(sessions: Sessions) -> None:
    spec = sweep_spec()
    expansion = spec.expand()
    key = IdempotencyKey(principal="ci", key="nightly", body_hash="0" * 64)

    def create(_: int) -> str:
        with sessions.writing() as session:
            return sweeps.create(
                session, spec, created_by="ci", seed=1, expansion=expansion, idempotency=key
            ).id

    with ThreadPoolExecutor(20) as pool:
        ids = set(pool.map(create, range(100)))
    with sessions.reading() as session:
        assert [sweep.id for sweep in sweeps.page(session, limit=10).items] == list(ids)


def test_a_result_is_accepted_once_however_many_send_it(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    register(sessions)
    lease = claimed(sessions)

    def send(_: int) -> bool:
        try:
            complete(sessions, lease)
        except LeaseLostError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(send, range(16))) == [False] * 15 + [True]
    with sessions.reading() as session:
        assert len(results.measured(session, ResultFilter())) == 1


def test_an_expired_lease_is_taken_back_once_or_completed_never_both(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=30, degrees=(1,)))
    register(sessions)
    prefer = (sweep.id, 0)
    leases: list[Lease] = []
    while lease := claim(sessions, ttl=timedelta(milliseconds=-1), prefer=prefer):
        leases.append(lease)

    def send(lease: Lease) -> int:
        try:
            with sessions.writing() as session:
                queue.complete(session, lease, result_of(lease))
        except LeaseLostError:
            return 0
        return 1

    def recover(_: int) -> int:
        with sessions.writing() as session:
            return len(queue.recover_expired(session))

    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(send, lease) for lease in leases[::2]]
        taken = [pool.submit(recover, n) for n in range(4)]
        num_sent = sum(future.result() for future in sent)
        num_taken = sum(future.result() for future in taken)
    num_taken += recover(0)  # of a sweep that was locked each time
    assert num_sent + num_taken == 30
    assert find(sessions, sweep.id).num_done == num_sent


def test_the_last_two_trials_finish_their_sweep_once(sessions: Sessions) -> None:
    """Each of two transactions alone sees the other's trial still running."""
    register(sessions)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            sweep = submit(sessions, sweep_spec(batches=1, degrees=(1,), replicates=2))
            leases = [claimed(sessions, owner=name) for name in ("a", "b")]
            list(pool.map(complete, itertools.repeat(sessions), leases))
            found = find(sessions, sweep.id)
            assert found.state is SweepState.SUCCEEDED
            assert found.finished_at is not None


def test_cancelling_while_others_claim_leaves_nothing_queued(sessions: Sessions) -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            sweep = submit(sessions, sweep_spec(batches=4, degrees=(1,), replicates=8))
            claims = [pool.submit(claim, sessions, owner=f"owner-{n}") for n in range(12)]
            with sessions.writing() as session:
                sweeps.cancel(session, sweep.id)
            leases = [lease for future in claims if (lease := future.result())]
            assert claim(sessions, owner="late") is None
            with sessions.writing() as session:
                assert queue.cancelled(session, leases) == leases
                for lease in leases:
                    queue.cancel(session, lease)
                queue.recover_expired(session)
            assert find(sessions, sweep.id).state is SweepState.CANCELLED


def test_a_claim_that_is_undone_while_its_sweep_is_cancelled_leaves_nothing_queued(
    postgresql_url: str,
) -> None:
    """On SQLite the two wait for each other; here the cancellation passes the locked trial."""
    sessions = Sessions(create_engine(postgresql_url))
    sweep = submit(sessions, sweep_spec(batches=2, degrees=(1,)))

    def claim_and_stop() -> None:
        with sessions.writing() as session:
            assert queue.claim(session, owner="a", offer=OFFER, ttl=TTL, prefer=(sweep.id, 0))
            with sessions.writing() as other:
                sweeps.cancel(other, sweep.id)
            raise InterruptedError

    with sessions.writing() as session:
        assert queue.claim(session, owner="a", offer=OFFER, ttl=TTL)
    with pytest.raises(InterruptedError):
        claim_and_stop()
    assert find(sessions, sweep.id).counts[TrialState.QUEUED] == 1
    assert claim(sessions, owner="a", prefer=(sweep.id, 0)) is None
    with sessions.writing() as session:
        assert queue.recover_expired(session) == []
    assert find(sessions, sweep.id).counts[TrialState.QUEUED] == 0
    sessions.engine.dispose()


@pytest.mark.parametrize("num_dispatchers", [2])
def test_dispatchers_that_finish_trials_of_two_sweeps_do_not_block_each_other(
    sessions: Sessions, num_dispatchers: int
) -> None:
    """Several trials end in one transaction; locks are taken sweep by sweep."""
    register(sessions)
    for _ in range(2):
        submit(sessions, sweep_spec(batches=10, degrees=(1,), replicates=num_dispatchers))

    def work(owner: str) -> int:
        count = 0
        while True:
            with sessions.writing() as session:
                held = [
                    lease
                    for _ in range(2)
                    if (lease := queue.claim(session, owner=owner, offer=OFFER, ttl=TTL))
                ]
            for lease in sorted(held, key=lambda lease: lease.sweep_id):
                complete(sessions, lease)
            count += len(held)
            if not held:
                with sessions.reading() as session:
                    if session.scalar(select(func.count()).where(TrialRow.state == "queued")) == 0:
                        return count

    with ThreadPoolExecutor(num_dispatchers) as pool:
        assert sum(pool.map(work, [f"dispatcher-{n}" for n in range(num_dispatchers)])) == 40
