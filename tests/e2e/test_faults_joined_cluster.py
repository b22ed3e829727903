"""A dispatcher on a cluster that is not its own: it uses it, and leaves it as it was."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ray.cluster_utils import Cluster as RayCluster

from service.store.engine import Sessions, create_engine
from service.store.states import TrialState
from tests.e2e.dispatch_bench import quick_sweep
from tests.e2e.dispatcher_process import DispatcherProcess
from tests.integration.dispatch.ray_session import alive, environment_for_ray
from tests.integration.store.builders import find, submit
from tests.processes import command_lines, rank_pids
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RayCluster]:
    with environment_for_ray(tmp_path):
        head = {"num_cpus": 2, "object_store_memory": 80_000_000}
        cluster = RayCluster(initialize_head=True, head_node_args=head)
        try:
            yield cluster
        finally:
            cluster.shutdown()  # type: ignore[no-untyped-call]


def test_a_dispatcher_that_is_killed_leaves_nothing_on_the_cluster_it_had_joined(
    cluster: RayCluster, sqlite_url: str, tmp_path: Path
) -> None:
    sessions = Sessions(create_engine(sqlite_url))
    dispatcher = DispatcherProcess(
        tmp_path / "home", database_url=sqlite_url, ttl_s=30, ray_address=cluster.address
    )
    try:
        sweep_id = submit(sessions, quick_sweep(batches=6, max_time_s=1.0)).id
        wait_until(lambda: find(sessions, sweep_id).counts[TrialState.SUCCEEDED] >= 1, within_s=60)
        ranks = rank_pids(psutil.Process())
        assert len(ranks) == 2
        dispatcher.send(signal.SIGKILL)
        wait_until(lambda: not alive(ranks), within_s=5)
        wait_until(lambda: not dispatcher.leftovers(), within_s=5)
        running = command_lines(psutil.Process().children(recursive=True)).values()
        servers = {Path(words[0]).name for words in running if words}
        assert {"gcs_server", "raylet"} <= servers, "the cluster itself lives on"
    finally:
        dispatcher.close()
        sessions.engine.dispose()
