"""Fault 7: the host runs out of memory. Ray's own threshold stands in for the kernel's killer."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from service.dispatch.cluster import Cluster
from service.settings import Settings
from service.store.states import TrialState
from tests.e2e.dispatch_bench import DispatchBench, quick_sweep
from tests.integration.dispatch.ray_session import alive, environment_for_ray
from tests.integration.dispatch.stand_in_rank import Fault
from tests.integration.store.builders import find

ROOM_BYTES, HOG_BYTES = 3 << 30, 6 << 30

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.timeout(150),
    pytest.mark.skipif(
        psutil.virtual_memory().available < HOG_BYTES + (2 << 30),
        reason="the machine has no room for a process that takes too much",
    ),
]

FAULTY = 2


@pytest.fixture
def bench(sqlite_url: str, tmp_path: Path) -> Iterator[DispatchBench]:
    """On a Ray that ends workers once this much more memory is used than now."""
    memory = psutil.virtual_memory()
    threshold = (memory.total - memory.available + ROOM_BYTES) / memory.total
    with environment_for_ray(tmp_path) as mark:
        os.environ.update(
            {
                "RAY_memory_usage_threshold": f"{threshold:.3f}",
                "RAY_memory_monitor_refresh_ms": "100",
            }
        )
        cluster = Cluster(Settings(home=tmp_path), mark=mark)
        try:
            bench = DispatchBench(sqlite_url, tmp_path)
            yield bench
            pids = bench.pids()
            bench.close()
            assert alive(pids) == []
        finally:
            cluster.stop()


def test_7_a_point_that_exhausts_the_host_is_tried_once_more_and_then_fails(
    bench: DispatchBench,
) -> None:
    sweep_id = bench.submit(
        quick_sweep(degrees=(1,)), Fault(batch=FAULTY, rank=0, name="hog", times=2)
    )
    bench.finish(sweep_id, within_s=120)
    counts = find(bench.sessions, sweep_id).counts
    assert (counts[TrialState.SUCCEEDED], counts[TrialState.FAILED]) == (2, 1)
    failures = bench.failures(sweep_id)
    assert [failure.code for failure in failures] == ["host_memory"] * 2
    assert "memory" in (failures[0].message or "")
    bench.check_every_trial_is_accounted_for_once()
