"""One node: which group a trial gets, and what becomes of both."""

import pytest

from service.dispatch.held_trial import CANCEL_GRACE_S
from service.dispatch.kept_group import WARM_FOR_S
from service.dispatch.outcomes import Measured, Outcome, Spoiled, Stopped
from service.dispatch.station import Station
from service.store.leases import Lease
from tests.unit.dispatch.builders import lease, node
from tests.unit.dispatch.fake_group import FakeClock, FakeGroups
from workers.contract.axes import GroupKind
from workers.contract.group_events import Blame, Loss

DIED = Loss(blame=Blame.RANK, code="rank_died", message="rank 1 died by SIGKILL", rank=1)
NO_MEMORY = Loss(blame=Blame.POINT, code="out_of_memory", message="no room", is_final=True)


class Bench:
    """A station with fake groups."""

    def __init__(self, *, num_hosts: int = 1) -> None:
        self.groups = FakeGroups()
        self.clock = FakeClock()
        facts = node().model_copy(update={"num_hosts": num_hosts})
        self.station = Station(facts, start_group=self.groups.start, clock=self.clock)

    def poll(self, times: int = 1) -> list[Outcome]:
        return [outcome for _ in range(times) for outcome in self.station.poll()]

    def begin(self, wanted: Lease) -> None:
        """Take a trial and bring it to its ranks."""
        self.station.take(wanted)
        for _ in range(6):
            if self.station.awaits_start:
                self.station.submit()
                return
            self.poll()
        raise AssertionError("the trial never got a group")

    def run(self, wanted: Lease) -> Outcome:
        """Measure a trial to its end."""
        self.begin(wanted)
        self.groups.last.finish()
        (outcome,) = self.poll()
        return outcome


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_trial_gets_a_group_of_its_sweeps_largest_degree(bench: Bench) -> None:
    bench.begin(lease(degrees=(1, 2, 4), tp_degree=2))
    assert bench.groups.last.plan.num_ranks == 4
    assert bench.groups.last.plan.degrees == (1, 2, 4)
    assert bench.groups.last.orders[0].point.tp_degree == 2


def test_a_station_of_several_hosts_gives_each_degree_a_group_that_reaches_them_all() -> None:
    bench = Bench(num_hosts=2)
    for degree in (4, 2):
        bench.begin(lease(degrees=(2, 4), tp_degree=degree))
        assert bench.groups.last.plan.num_ranks == degree
        bench.groups.last.finish()
        bench.poll()


def test_a_result_tells_its_group_and_how_fresh_it_was(bench: Bench) -> None:
    outcome = bench.run(lease())
    assert isinstance(outcome, Measured)
    assert outcome.result.group_id == "n1-g0"
    assert outcome.result.group_kind is GroupKind.FRESH
    assert outcome.result.link_class == "host_memory"
    assert outcome.result.node == "n1"


def test_trials_of_one_replicate_share_a_group(bench: Bench) -> None:
    for trial in ("t1", "t2", "t3"):
        bench.run(lease(trial_id=trial))
    assert len(bench.groups.started) == 1
    assert bench.groups.last.formations == [(1, 2)]


def test_every_fresh_replicate_gets_new_processes(bench: Bench) -> None:
    for replicate in (0, 1):
        outcome = bench.run(lease(replicate=replicate))
        assert isinstance(outcome, Measured)
        assert outcome.result.group_kind is GroupKind.FRESH
    assert [group.is_ended for group in bench.groups.started] == [True, False]


def test_regrouped_replicates_share_processes_and_say_so(bench: Bench) -> None:
    kinds = []
    for replicate in (0, 1):
        outcome = bench.run(lease(replicate=replicate, kind=GroupKind.REGROUPED))
        assert isinstance(outcome, Measured)
        kinds.append(outcome.result.group_kind)
    assert kinds == [GroupKind.FRESH, GroupKind.REGROUPED]
    assert len(bench.groups.started) == 1
    assert bench.groups.last.formations == [(1, 2), (1, 2)]


def test_a_group_at_rest_is_formed_anew_so_that_the_next_trial_need_not_wait(bench: Bench) -> None:
    bench.run(lease(kind=GroupKind.REGROUPED))
    bench.station.rest()
    assert not bench.station.wants_work, "it is being formed"
    bench.poll()
    assert bench.station.wants_work
    assert bench.station.is_ready_for(lease(sweep_id="s2", kind=GroupKind.REGROUPED))
    assert not bench.station.is_ready_for(lease(sweep_id="s2", kind=GroupKind.FRESH))


def test_a_group_is_kept_warm_for_a_while_only(bench: Bench) -> None:
    bench.run(lease())
    bench.station.rest()
    bench.poll()
    bench.clock.now += WARM_FOR_S
    bench.station.rest()
    assert not bench.groups.last.is_ended
    bench.clock.now += 1
    bench.station.rest()
    bench.poll()
    assert bench.groups.last.is_ended
    assert not bench.station.has_group


def test_a_failed_group_is_replaced_and_its_trial_spoiled(bench: Bench) -> None:
    bench.begin(lease())
    bench.groups.last.fail(DIED)
    assert bench.poll() == [Spoiled(lease(), DIED, "n1")]
    assert not bench.station.wants_work, "its processes may still be there"
    bench.poll()
    assert bench.station.wants_work
    assert isinstance(bench.run(lease(attempt=2)), Measured)
    assert len(bench.groups.started) == 2


def test_a_group_is_at_its_replicate_until_it_ends(bench: Bench) -> None:
    bench.begin(lease())
    bench.groups.last.refuse(NO_MEMORY)
    bench.poll()
    assert bench.station.replicate == ("s1", 0), "it is formed anew for more of it"
    bench.groups.last.fail(DIED)
    bench.poll()
    assert bench.station.replicate is None, "another group may go on with it"


def test_a_group_that_dies_between_trials_spoils_none(bench: Bench) -> None:
    bench.run(lease())
    bench.groups.last.fail(DIED)
    assert bench.poll(2) == []
    assert bench.station.wants_work


def test_a_point_that_cannot_be_measured_leaves_the_group_at_its_replicate(bench: Bench) -> None:
    bench.begin(lease())
    bench.groups.last.refuse(NO_MEMORY)
    assert bench.poll(2) == [Spoiled(lease(), NO_MEMORY, "n1")]
    outcome = bench.run(lease(trial_id="t2"))
    assert isinstance(outcome, Measured)
    assert outcome.result.group_kind is GroupKind.FRESH
    assert len(bench.groups.started) == 1


def test_a_node_whose_groups_die_is_left_alone_for_a_while(bench: Bench) -> None:
    for _ in range(2):
        bench.begin(lease())
        bench.groups.last.fail(DIED)
        bench.poll(2)
    assert not bench.station.wants_work
    bench.clock.now += 60
    assert bench.station.wants_work


def test_points_that_end_their_ranks_are_not_held_against_the_node(bench: Bench) -> None:
    crash = Loss(blame=Blame.POINT, code="rank_aborted", message="SIGABRT")
    for _ in range(5):
        bench.begin(lease())
        bench.groups.last.fail(crash)
        bench.poll(2)
    assert bench.station.wants_work


def test_a_cancelled_trial_may_reach_its_end_within_the_grace(bench: Bench) -> None:
    bench.begin(lease())
    bench.station.cancel()
    bench.groups.last.finish()
    assert bench.poll() == [Stopped(lease())]
    assert not bench.groups.last.is_ended


def test_after_the_grace_its_ranks_are_killed_before_it_counts_as_stopped(bench: Bench) -> None:
    bench.begin(lease())
    bench.station.cancel()
    assert bench.poll() == []
    bench.clock.now += CANCEL_GRACE_S + 0.01
    assert bench.poll() == [], "killed, but not yet gone"
    assert bench.groups.last.is_ended
    assert bench.poll() == [Stopped(lease())]


def test_a_trial_cancelled_before_it_began_stops_at_once_and_spares_the_group(bench: Bench) -> None:
    bench.station.take(lease())
    bench.station.cancel()
    assert bench.poll() == [Stopped(lease())]
    assert not bench.groups.last.is_ended


def test_a_lost_lease_ends_its_ranks_and_is_not_spoken_of_again(bench: Bench) -> None:
    bench.begin(lease())
    bench.station.drop()
    assert bench.station.lease is None
    assert bench.groups.last.is_ended
    assert bench.poll(3) == []


def test_the_trial_of_a_node_that_left_goes_elsewhere(bench: Bench) -> None:
    bench.begin(lease())
    bench.station.lose_host()
    (outcome,) = bench.poll()
    assert isinstance(outcome, Spoiled)
    assert (outcome.loss.code, outcome.loss.blame) == ("host_lost", Blame.HOST)
    assert not bench.station.wants_work
