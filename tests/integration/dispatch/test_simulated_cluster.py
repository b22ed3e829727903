"""Two nodes with four GPUs each that exist only in Ray's books: placement, indices, a lost node."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster as RayCluster
from sqlalchemy import select

from service.dispatch.executor import ExecutorOptions, RayExecutor
from service.dispatch.inventory import RayNode
from service.dispatch.loop import Dispatcher
from service.settings import Settings
from service.store import fleet
from service.store.engine import Sessions, create_engine
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow
from service.store.states import AttemptOutcome, TrialState
from tests.integration.dispatch.ray_session import STAND_IN, environment_for_ray, wait_for
from tests.integration.dispatch.stand_in_rank import PLAN_VARIABLE, Fault, FaultPlan
from tests.integration.store.builders import find, submit, sweep_spec
from tests.narrowing import block_of
from workers.contract.group_events import GroupEnded, GroupReady
from workers.ray_group.group import RayGroup
from workers.ray_group.request import GroupRequest, GroupTimings, Host
from workers.ray_group.scout import station_agent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

OBJECT_STORE_BYTES = 80_000_000


@dataclass
class Simulated:
    """A cluster whose two nodes share this host."""

    cluster: RayCluster

    @property
    def nodes(self) -> list[RayNode]:
        found = [RayNode.model_validate(node) for node in ray.nodes()]  # type: ignore[no-untyped-call]
        return [node for node in found if node.can_hold_ranks]

    def lose(self, node_id: str) -> None:
        """Kill a node as a lost host would be."""
        (node,) = [node for node in self.cluster.worker_nodes if node.node_id == node_id]
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    with environment_for_ray(tmp_path_factory.mktemp("home")):
        head = {"num_cpus": 0, "object_store_memory": OBJECT_STORE_BYTES}
        cluster = RayCluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            cluster.add_node(num_cpus=4, num_gpus=4, object_store_memory=OBJECT_STORE_BYTES)
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        try:
            yield Simulated(cluster)
        finally:
            ray.shutdown()
            cluster.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture
def start_group(tmp_path: Path) -> Iterator[Callable[..., RayGroup]]:
    groups: list[RayGroup] = []

    def start(num_ranks: int, *nodes: RayNode) -> RayGroup:
        request = GroupRequest(
            group_id=f"g{len(groups)}",
            hosts=tuple(Host(node_id=n.node_id, address=n.address) for n in nodes),
            device_kind="cuda",
            num_ranks=num_ranks,
            degrees=(num_ranks,),
            cpus_per_rank=1,
            log_dir=str(tmp_path / f"g{len(groups)}"),
            rank_class=STAND_IN,
        )
        agents = [station_agent(node.node_id) for node in nodes]
        groups.append(RayGroup(request, agents=agents))
        return groups[-1]

    yield start
    for group in groups:
        group.end()
        if not group.has_ended:
            wait_for(group, GroupEnded)


def test_ranks_get_the_devices_of_the_node_that_was_chosen_in_order_and_unmasked(
    simulated: Simulated, start_group: Callable[..., RayGroup]
) -> None:
    for node in simulated.nodes:
        ready = wait_for(start_group(4, node), GroupReady)
        assert [facts.device.index for facts in ready.ranks] == [0, 1, 2, 3]
        for facts in ready.ranks:
            variables = facts.environment.variables
            assert "CUDA_VISIBLE_DEVICES" not in variables, "a mask spoils NCCL"
            assert variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
            assert "OMP_NUM_THREADS" in variables


def test_two_groups_on_one_node_never_share_a_device(
    simulated: Simulated, start_group: Callable[..., RayGroup]
) -> None:
    node = simulated.nodes[0]
    both = [wait_for(start_group(2, node), GroupReady) for _ in range(2)]
    indices = [facts.device.index for ready in both for facts in ready.ranks]
    assert sorted(indices) == [0, 1, 2, 3]


def test_a_group_can_span_both_nodes_in_equal_blocks(
    simulated: Simulated, start_group: Callable[..., RayGroup]
) -> None:
    group = start_group(4, *simulated.nodes)
    ready = wait_for(group, GroupReady)
    assert [facts.device.index for facts in ready.ranks] == [0, 1, 0, 1]
    group.end()
    assert wait_for(group, GroupEnded).leftover_pids == ()


def dispatcher_for(sqlite_url: str, folder: Path) -> tuple[Dispatcher, Sessions]:
    sessions = Sessions(create_engine(sqlite_url))
    options = ExecutorOptions(
        home=folder,
        rank_class=STAND_IN,
        probe="tests.integration.dispatch.stand_in_rank:probe_gpu_node",
        variables={PLAN_VARIABLE: str(folder)},
        timings=GroupTimings(rank_ttl_s=60),
    )
    settings = Settings(home=folder)
    return Dispatcher(settings, sessions=sessions, executor=RayExecutor(options)), sessions


def turn_until(dispatcher: Dispatcher, condition: Callable[[], object], *, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that in time"
        assert dispatcher.turn()


def test_replicates_run_on_both_nodes_and_the_trial_of_a_lost_one_is_moved(
    simulated: Simulated, sqlite_url: str, tmp_path: Path
) -> None:
    FaultPlan(tmp_path).write(Fault(batch=1, rank=0, name="sleep"))
    dispatcher, sessions = dispatcher_for(sqlite_url, tmp_path)
    sweep = submit(sessions, sweep_spec(batches=2, degrees=(4,), replicates=2))

    def attempts() -> list[AttemptRow]:
        with sessions.reading() as session:
            return list(session.scalars(select(AttemptRow).order_by(AttemptRow.granted_at)))

    def only_the_sleeper_runs() -> bool:
        counts = find(sessions, sweep.id).counts
        is_other_done = counts[TrialState.SUCCEEDED] >= 2
        is_alone = counts[TrialState.RUNNING] == 1 and _sleeper(dispatcher) != ""
        return is_other_done and is_alone

    turn_until(dispatcher, only_the_sleeper_runs, within_s=60)
    with sessions.reading() as session:
        names = {f"{node.facts.name}" for node in fleet.nodes(session)}
    assert len(names) == 2
    assert all("-" in name for name in names), "nodes of one host are told apart"
    busy = _sleeper(dispatcher)
    assert busy in names
    simulated.lose(
        next(node.node_id for node in simulated.nodes if busy.endswith(node.node_id[:8]))
    )
    turn_until(dispatcher, lambda: find(sessions, sweep.id).finished_at, within_s=60)
    dispatcher.stop()
    assert dispatcher.run() == 0
    (lost,) = [row for row in attempts() if row.outcome is AttemptOutcome.FAILED]
    assert (lost.code, lost.node) == ("host_lost", busy)
    with sessions.reading() as session:
        results = list(session.execute(select(ResultRow.trial_id, ResultRow.node)))
    assert len(results) == 4
    moved = next(node for trial_id, node in results if trial_id == lost.trial_id)
    assert moved != busy


def _sleeper(dispatcher: Dispatcher) -> str:
    """The node whose trial sleeps, once no other runs."""
    measuring = [s for s in dispatcher._stations.all if s.is_measuring and s.lease]
    sleeping = [s.node.name for s in measuring if s.lease and block_of(s.lease.spec).batch == 1]
    return sleeping[0] if len(measuring) == 1 and sleeping else ""
