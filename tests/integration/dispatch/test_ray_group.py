"""The worker group on a real Ray, with ranks that measure nothing and fail as told."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import ray
from ray.actor import ActorHandle

from service.dispatch.inventory import RayNode
from tests.integration.dispatch.ray_session import (  # noqa: F401 - fixtures
    GroupBench,
    agent,
    alive,
    check_gone,
    order,
    ray_node,
    wait_for,
)
from tests.integration.dispatch.stand_in_rank import PLAN_VARIABLE, Fault, FaultPlan
from tests.unit.workers.builders import point
from workers.contract.group_events import (
    Blame,
    GroupEnded,
    GroupFailed,
    GroupReady,
    TrialFailed,
    TrialMeasured,
)
from workers.ray_group.agent import NodeAgent
from workers.ray_group.last_words import kernel_tells_status
from workers.ray_group.request import GroupTimings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

FAULTY_BATCH = 3


@pytest.fixture
def bench(
    ray_node: RayNode,  # noqa: F811 - pytest passes the fixture by name
    agent: ActorHandle[NodeAgent],  # noqa: F811 - the same
    tmp_path: Path,
) -> Iterator[GroupBench]:
    bench = GroupBench(ray_node, agent, tmp_path)
    yield bench
    bench.close()


def test_ranks_are_set_up_on_their_cores_with_what_gloo_and_torch_need(bench: GroupBench) -> None:
    ready = wait_for(bench.start(num_ranks=3), GroupReady)
    assert [facts.rank for facts in ready.ranks] == [0, 1, 2]
    cores = sorted(os.sched_getaffinity(0))
    assert [facts.device.index for facts in ready.ranks] == [
        cores[rank % len(cores)] for rank in range(3)
    ]
    for facts in ready.ranks:
        variables = facts.environment.variables
        assert variables["CUDA_VISIBLE_DEVICES"] == "", "a CPU rank sees no GPU"
        assert variables["OMP_NUM_THREADS"] == "1"
        assert variables["GLOO_SOCKET_IFNAME"] in psutil.net_if_addrs()
        assert variables["NCCL_SOCKET_IFNAME"] == variables["GLOO_SOCKET_IFNAME"]
        assert variables["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"] == "1"


def test_a_smaller_degree_runs_on_the_first_ranks_and_leaves_the_others_alone(
    bench: GroupBench,
) -> None:
    group = bench.start(num_ranks=3)
    wait_for(group, GroupReady)
    group.submit(order(point(tp_degree=2)))
    assert [result.rank for result in wait_for(group, TrialMeasured).results] == [0, 1]
    assert group.is_ready


def test_a_group_forms_anew_in_the_same_processes_under_the_next_generation(
    bench: GroupBench,
) -> None:
    group = bench.start()
    first = wait_for(group, GroupReady)
    group.regroup((2,))
    second = wait_for(group, GroupReady)
    assert (first.generation, second.generation) == (0, 1)
    assert [facts.pid for facts in second.ranks] == [facts.pid for facts in first.ranks]
    assert group.degrees == (2,)


def test_an_ended_group_leaves_no_process_and_gives_everything_back(bench: GroupBench) -> None:
    group = bench.start()
    wait_for(group, GroupReady)
    pids = group.pids
    assert len(alive(pids)) == 2
    group.end()
    assert wait_for(group, GroupEnded) == GroupEnded(())
    check_gone(pids)
    deadline = time.monotonic() + 5
    while _free_cpus() < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _free_cpus() >= 2


def _free_cpus() -> float:
    resources: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 0)


class Failing:
    """A group of two whose second rank commits one fault at one batch."""

    def __init__(self, bench: GroupBench, fault: str) -> None:
        plan = FaultPlan(bench.folder)
        plan.write(Fault(batch=FAULTY_BATCH, rank=1, name=fault))
        self.group = bench.start(variables={PLAN_VARIABLE: str(bench.folder)})
        wait_for(self.group, GroupReady)
        self.group.submit(order(point(batch=FAULTY_BATCH), trial_id="faulty", deadline_s=4))
        self.began = time.monotonic()

    def loss(self, *, within_s: float) -> GroupFailed:
        event = wait_for(self.group, GroupFailed)
        assert time.monotonic() - self.began < within_s
        assert event.trial_id == "faulty"
        assert event.loss.rank == 1
        wait_for(self.group, GroupEnded)
        check_gone(self.group.pids)
        return event


@pytest.mark.parametrize(
    ("fault", "code", "blame", "number", "says"),
    [
        ("kill", "rank_died", Blame.RANK, signal.SIGKILL, "SIGKILL"),
        ("abort", "rank_aborted", Blame.POINT, signal.SIGABRT, "SIGABRT"),
        ("exit", "rank_died", Blame.RANK, None, "exit code 7"),
        ("value_error", "unexpected_error", Blame.POINT, None, "ValueError: a bug of ours"),
    ],
)
@pytest.mark.skipif(not kernel_tells_status(), reason="needs Linux 6.15 for exit statuses")
def test_a_rank_that_ends_is_named_with_its_cause_at_once(
    bench: GroupBench,
    fault: str,
    code: str,
    blame: Blame,
    number: int | None,
    says: str,
) -> None:
    loss = Failing(bench, fault).loss(within_s=15).loss
    assert (loss.code, loss.blame, loss.signal) == (code, blame, number)
    assert says in loss.message


def test_the_last_words_of_an_aborted_rank_are_kept(bench: GroupBench) -> None:
    log_tail = Failing(bench, "abort").loss(within_s=15).loss.log_tail
    assert "last words of the rank" in log_tail
    assert "_say_and_abort" in log_tail, "with the stack"


@pytest.mark.parametrize(("fault", "state"), [("stop", "stopped"), ("hold_gil", "")])
def test_a_rank_that_answers_no_ping_is_killed_and_named(
    bench: GroupBench, fault: str, state: str
) -> None:
    loss = Failing(bench, fault).loss(within_s=10).loss
    assert (loss.code, loss.blame) == ("rank_hung", Blame.RANK)
    assert state in loss.message
    if fault == "hold_gil":
        assert "_hold_the_gil" in loss.log_tail, "its stacks"


def test_a_rank_that_answers_pings_but_never_finishes_is_given_up(bench: GroupBench) -> None:
    loss = Failing(bench, "sleep").loss(within_s=15).loss
    assert loss.code == "deadline_exceeded"
    assert "commit" in loss.log_tail, "its stacks"


def test_a_point_that_no_rank_can_run_costs_neither_group_nor_processes(bench: GroupBench) -> None:
    failing = Failing(bench, "out_of_memory")
    failed = wait_for(failing.group, TrialFailed)
    assert (failed.loss.code, failed.loss.is_final) == ("out_of_memory", True)
    assert wait_for(failing.group, GroupReady).generation == 1
    failing.group.submit(order(point(batch=1)))
    wait_for(failing.group, TrialMeasured)


def test_a_rank_that_dies_between_trials_is_noticed_before_the_next(bench: GroupBench) -> None:
    group = bench.start(timings=GroupTimings(ping_interval_s=60, rank_ttl_s=120))
    wait_for(group, GroupReady)
    os.kill(group.pids[1], signal.SIGKILL)
    began = time.monotonic()
    event = wait_for(group, GroupFailed)
    assert time.monotonic() - began < 30, "by the vigil, not by a ping"
    assert (event.trial_id, event.loss.rank) == (None, 1)


def test_ranks_that_cannot_be_made_are_the_clusters_fault(bench: GroupBench) -> None:
    event = wait_for(bench.start(rank_class="workers.nowhere:Rank"), GroupFailed)
    assert (event.loss.code, event.loss.blame) == ("start_failed", Blame.CLUSTER)
    assert "workers.nowhere" in event.loss.message


IMPATIENT = GroupTimings(reserve_timeout_s=1)


def test_devices_that_are_taken_are_told_from_those_that_do_not_exist(bench: GroupBench) -> None:
    holder = bench.start(num_ranks=2, cpus_per_rank=1)
    wait_for(holder, GroupReady)
    taken = wait_for(bench.start(num_ranks=2, cpus_per_rank=1, timings=IMPATIENT), GroupFailed)
    none = wait_for(bench.start(num_ranks=99, cpus_per_rank=1, timings=IMPATIENT), GroupFailed)
    assert (taken.loss.code, taken.loss.blame) == ("no_resources", Blame.CLUSTER)
    assert (none.loss.code, none.loss.blame) == ("infeasible", Blame.HOST)
