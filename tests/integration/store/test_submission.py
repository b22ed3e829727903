"""What a submitted sweep becomes."""

import time

import pytest
from sqlalchemy import select

from service.errors import IdempotencyMismatchError
from service.store import points, sweeps
from service.store.engine import Sessions
from service.store.idempotency import IdempotencyKey, lookup
from service.store.models.trial import TrialRow
from service.store.states import PointState, SweepState, TrialState
from service.store.sweep import Sweep
from tests.integration.store.builders import SHAPE, find, submit, sweep_spec
from workers.contract.sweep import SweepSpec


def orders(sessions: Sessions, sweep: Sweep) -> dict[int, list[int]]:
    """For each replicate the grid positions of its points in the order they are to run."""
    with sessions.reading() as session:
        grid = {p.id: p.position for p in points.page(session, sweep.id, limit=1000).items}
        rows = session.execute(
            select(TrialRow.replicate, TrialRow.point_id)
            .where(TrialRow.sweep_id == sweep.id)
            .order_by(TrialRow.replicate, TrialRow.position)
        ).all()
    found: dict[int, list[int]] = {}
    for replicate, point_id in rows:
        found.setdefault(replicate, []).append(grid[point_id])
    return found


def test_a_sweep_comes_back_as_it_was_asked(sessions: Sessions) -> None:
    spec = sweep_spec(
        batches=3, replicates=2, priority=7, tags={"commit": "abc"}, name="a name with ünicode"
    )
    sweep = submit(sessions, spec, seed=2**62)
    assert sweep == find(sessions, sweep.id)
    assert sweep.spec == spec
    assert (sweep.name, sweep.priority, sweep.tags, sweep.seed, sweep.created_by) == (
        spec.name,
        7,
        {"commit": "abc"},
        2**62,
        "test",
    )
    assert sweep.created_at.utcoffset() is not None
    assert sweep.state is SweepState.QUEUED
    assert (sweep.num_points, sweep.num_trials, sweep.num_done) == (6, 12, 0)
    assert sweep.counts == {**dict.fromkeys(TrialState, 0), TrialState.QUEUED: 12}
    assert sweep.point_counts == {**dict.fromkeys(PointState, 0), PointState.QUEUED: 6}
    assert sweep.hardware_key is None
    assert sweep.mean_trial_s is None


def test_each_replicate_runs_every_point_once_in_an_order_of_its_own(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=10, replicates=3))
    found = orders(sessions, sweep)
    assert [sorted(order) for order in found.values()] == [list(range(20))] * 3
    assert len({tuple(order) for order in found.values()}) == 3
    assert list(range(20)) not in found.values()


def test_the_same_seed_gives_the_same_orders_and_another_seed_others(sessions: Sessions) -> None:
    spec = sweep_spec(batches=10, replicates=2)
    first, again = submit(sessions, spec, seed=5), submit(sessions, spec, seed=5)
    other = submit(sessions, spec, seed=6)
    assert orders(sessions, first) == orders(sessions, again)
    assert orders(sessions, first) != orders(sessions, other)


def test_combinations_that_cannot_be_sharded_are_kept_with_their_reason(
    sessions: Sessions,
) -> None:
    sweep = submit(sessions, sweep_spec(batches=2, degrees=(1, 5)))
    assert (sweep.num_points, sweep.num_rejected, sweep.num_trials) == (2, 2, 2)
    assert sweep.point_counts[PointState.REJECTED] == 2
    with sessions.reading() as session:
        found = points.page(session, sweep.id, state=PointState.REJECTED, limit=10).items
    rejections = [point.rejection for point in found]
    assert [rejection.spec.tp_degree for rejection in rejections if rejection] == [5, 5]
    assert all(r and r.field == "intermediate_size" and r.value == 96 for r in rejections)
    assert all(r and r.valid_tp_degrees[:3] == (1, 2, 3) for r in rejections)
    assert all(sum(point.counts.values()) == 0 for point in found)


def test_a_sweep_of_ten_thousand_points_is_stored_in_seconds(sessions: Sessions) -> None:
    spec = SweepSpec(
        models=(SHAPE,),
        blocks=("mlp", "attention"),
        tp_degree=(1, 2, 4, 8),
        batch=tuple(range(1, 1251)),
        replicates=3,
    )
    expansion = spec.expand()
    began = time.process_time()
    with sessions.writing() as session:
        sweep = sweeps.create(session, spec, created_by="test", seed=1, expansion=expansion)
    assert sweep.num_trials == 30_000
    assert time.process_time() - began < 10, "1.5 s on an idle core; ten times that is another way"


def test_a_key_used_before_gives_the_first_sweep_again(sessions: Sessions) -> None:
    spec = sweep_spec()
    key = IdempotencyKey(principal="alice", key="k", body_hash="1" * 64)

    def create(idempotency: IdempotencyKey) -> Sweep:
        with sessions.writing() as session:
            return sweeps.create(
                session,
                spec,
                created_by="alice",
                seed=1,
                expansion=spec.expand(),
                idempotency=idempotency,
            )

    first = create(key)
    assert create(key) == first
    assert create(IdempotencyKey("bob", "k", "1" * 64)).id != first.id
    with pytest.raises(IdempotencyMismatchError, match="another body"):
        create(IdempotencyKey("alice", "k", "2" * 64))
    with sessions.reading() as session:
        assert len(sweeps.page(session, limit=10).items) == 2
        replay = lookup(session, principal="alice", key="k", body_hash="1" * 64)
        assert replay == first.id
        unknown = lookup(session, principal="alice", key="x", body_hash="1" * 64)
        assert unknown is None


def test_a_sweep_that_fails_to_be_stored_leaves_nothing(sessions: Sessions) -> None:
    spec = sweep_spec()

    class PowerCutError(Exception): ...

    def create_and_stop() -> None:
        key = IdempotencyKey("alice", "k", "1" * 64)
        with sessions.writing() as session:
            sweeps.create(
                session, spec, created_by="a", seed=1, expansion=spec.expand(), idempotency=key
            )
            raise PowerCutError

    with pytest.raises(PowerCutError):
        create_and_stop()
    with sessions.reading() as session:
        assert sweeps.page(session, limit=10).items == ()
        assert lookup(session, principal="alice", key="k", body_hash="") is None
