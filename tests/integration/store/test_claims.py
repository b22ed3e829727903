"""Who gets which trial."""

from dataclasses import replace
from datetime import timedelta

import pytest

from service.store import queue, sweeps
from service.store.engine import Sessions
from service.store.leases import Failure, Offer
from service.store.states import SweepState
from tests.integration.store.builders import (
    OFFER,
    TTL,
    FakeClock,
    claim,
    claimed,
    complete,
    find,
    register,
    submit,
    sweep_spec,
)
from tests.narrowing import grid_of
from workers.contract.axes import GroupKind
from workers.contract.sweep import Sampling

OTHER = Offer(hardware_key="h1:other", accelerator="NVIDIA H100 80GB HBM3", num_slots=8)


def test_a_lease_says_all_that_a_group_needs(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=1, degrees=(4, 1, 2)), seed=9)
    lease = claimed(sessions, owner="me")
    assert (lease.owner, lease.attempt, lease.sweep_id, lease.replicate) == ("me", 1, sweep.id, 0)
    assert (lease.num_devices, lease.degrees, lease.seed) == (4, (1, 2, 4), 9)
    assert (lease.sampling, lease.group_kind) == (Sampling(), GroupKind.FRESH)
    assert lease.spec in grid_of(sweep.spec).expand().points
    assert lease.ttl.total_seconds() == 30


def test_nothing_to_do_is_none(sessions: Sessions) -> None:
    assert claim(sessions) is None


def test_priority_comes_before_age(sessions: Sessions) -> None:
    old = submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    urgent = submit(sessions, sweep_spec(batches=1, degrees=(1,), priority=5))
    older_than_last = submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    order = [claimed(sessions, owner=str(n)).sweep_id for n in range(3)]
    assert order == [urgent.id, old.id, older_than_last.id]


def test_the_group_s_own_replicate_comes_before_older_work_but_not_before_urgent(
    sessions: Sessions,
) -> None:
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    mine = submit(sessions, sweep_spec(batches=2, degrees=(1,), replicates=2))
    first = claimed(sessions, prefer=(mine.id, 1))
    assert (first.sweep_id, first.replicate) == (mine.id, 1)
    urgent = submit(sessions, sweep_spec(batches=1, degrees=(1,), priority=1))
    assert claimed(sessions, prefer=(mine.id, 1)).sweep_id == urgent.id
    second = claimed(sessions, prefer=(mine.id, 1))
    assert (second.sweep_id, second.replicate) == (mine.id, 1)


def test_a_replicate_is_finished_before_the_next_begins(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=3, degrees=(1,), replicates=3))
    register(sessions)
    seen: list[int] = []
    prefer = None
    while lease := claim(sessions, prefer=prefer):
        seen.append(lease.replicate)
        prefer = (sweep.id, lease.replicate)
        complete(sessions, lease)
    assert seen == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_replicate_held_by_another_group_is_left_to_it(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=4, degrees=(1,), replicates=2))
    assert claimed(sessions, owner="a").replicate == 0
    assert claimed(sessions, owner="b").replicate == 1
    assert claim(sessions, owner="c") is None


def test_another_owner_may_not_prefer_its_way_into_a_held_replicate(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=4, degrees=(1,)))
    claimed(sessions, owner="a")
    assert claim(sessions, owner="b", prefer=(sweep.id, 0)) is None
    assert claim(sessions, owner="a", prefer=(sweep.id, 0)) is not None
    assert claim(sessions, owner="a") is None, "a second group of the same owner"


def test_what_the_owner_s_other_groups_are_at_is_left_to_them(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=2, degrees=(1,), replicates=3))
    others = [(sweep.id, 0), (sweep.id, 1)]
    with sessions.writing() as session:
        lease = queue.claim(session, owner="a", offer=OFFER, ttl=TTL, besides=others)
        assert lease is not None
        assert lease.replicate == 2
        mine = (sweep.id, 2)
        everything = [*others, mine]
        assert not queue.claim(
            session, owner="a", offer=OFFER, ttl=TTL, prefer=mine, besides=everything
        )


def test_the_first_claim_binds_the_sweep_to_its_hardware(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=2, degrees=(1,), replicates=2))
    claimed(sessions, owner="a")
    assert find(sessions, sweep.id).hardware_key == OFFER.hardware_key
    assert claim(sessions, owner="b", offer=OTHER) is None
    assert claim(sessions, owner="b") is not None


@pytest.mark.parametrize("wanted", ["H100", "nvidia h100", "80gb"])
def test_an_accelerator_is_named_by_any_part_of_its_name(sessions: Sessions, wanted: str) -> None:
    submit(sessions, sweep_spec(accelerator=wanted))
    assert claim(sessions, offer=OFFER) is None
    assert claim(sessions, offer=OTHER) is not None


@pytest.mark.parametrize("wanted", ["H%0", "H1_0", "\\", "%"])
def test_a_name_is_not_a_pattern(sessions: Sessions, wanted: str) -> None:
    submit(sessions, sweep_spec(accelerator=wanted))
    assert claim(sessions, offer=OTHER) is None
    assert claim(sessions, offer=replace(OTHER, accelerator=f"made of {wanted}!")) is not None


def test_a_group_that_does_not_fit_is_not_started(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(degrees=(1, 8)))
    assert claim(sessions, offer=replace(OFFER, num_slots=7)) is None
    assert claim(sessions, offer=replace(OFFER, num_slots=8)) is not None


def test_work_for_other_hardware_does_not_hold_up_the_queue(sessions: Sessions) -> None:
    for _ in range(3):
        submit(sessions, sweep_spec(accelerator="TPU", priority=9))
    fitting = submit(sessions)
    assert claimed(sessions).sweep_id == fitting.id


def test_a_trial_put_off_is_not_claimed_before_its_time(timed: Sessions, clock: FakeClock) -> None:
    submit(timed, sweep_spec(batches=1, degrees=(1,)))
    with timed.writing() as session:
        lease = queue.claim(session, owner="a", offer=OFFER, ttl=TTL)
        assert lease is not None
        failure = Failure(code="rank_lost", message="rank 1 died")
        queue.fail(session, lease, failure, retry=True, delay=timedelta(seconds=10))
    assert claim(timed) is None
    clock.advance(9.9)
    assert claim(timed) is None
    clock.advance(0.2)
    again = claimed(timed)
    assert (again.trial_id, again.attempt) == (lease.trial_id, 2)


def test_a_cancelled_sweep_gives_nothing_out(sessions: Sessions) -> None:
    sweep = submit(sessions)
    with sessions.writing() as session:
        assert sweeps.cancel(session, sweep.id).state is SweepState.CANCELLED
    assert claim(sessions) is None
