"""Faults 1 to 6: ranks that die, stop, hang, leave, abort or have no room. Real processes, gloo."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.dispatch.inventory import RayNode
from service.store import sweeps
from service.store.states import TrialState
from tests.e2e.dispatch_bench import DispatchBench, quick_sweep
from tests.integration.dispatch.ray_session import check_gone, ray_node  # noqa: F401 - a fixture
from tests.integration.dispatch.stand_in_rank import Fault
from tests.integration.store.builders import find

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FAULTY = 2
"""Batch of the point that things happen to; 1 and 3 are its neighbours."""


@pytest.fixture(scope="module")
def bench(
    ray_node: RayNode,  # noqa: F811 - pytest passes the fixture by name
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[DispatchBench]:
    """One dispatcher for all: what a fault leaves it with is what the next sweep meets."""
    assert ray_node.is_alive
    folder = tmp_path_factory.mktemp("bench")
    database = shutil.copyfile(sqlite_template, folder / "test.sqlite3")
    bench = DispatchBench(f"sqlite:///{database}", folder)
    yield bench
    pids = bench.pids()
    bench.close()
    check_gone(pids)


def counts(bench: DispatchBench, sweep_id: str) -> dict[TrialState, int]:
    return {state: n for state, n in find(bench.sessions, sweep_id).counts.items() if n}


@pytest.mark.parametrize(
    ("fault", "within_s", "code", "number", "says"),
    [
        ("kill", 5, "rank_died", signal.SIGKILL, "rank 1 died by SIGKILL"),
        ("stop", 15, "rank_hung", None, "process state stopped"),
        ("hold_gil", 15, "rank_hung", None, "rank 1 did not answer"),
    ],
    ids=["1 killed in an all-reduce", "2 stopped", "3 holds the GIL"],
)
def test_a_lost_rank_costs_one_attempt_and_nothing_else(
    bench: DispatchBench, fault: str, within_s: float, code: str, number: int | None, says: str
) -> None:
    spec = quick_sweep(max_time_s=1.0)  # still at it when the fault comes
    sweep_id = bench.submit(spec, Fault(batch=FAULTY, rank=1, name=fault, after_s=0.3))
    bench.until(lambda: bench.measuring(FAULTY), within_s=60)
    pids = bench.pids()
    assert bench.until(lambda: bench.failures(sweep_id), within_s=within_s) < within_s
    bench.finish(sweep_id)
    (failure,) = bench.failures(sweep_id)
    assert (failure.code, failure.rank, failure.signal) == (code, 1, number)
    assert says in (failure.message or "")
    assert failure.node
    if fault == "hold_gil":
        assert "_hold_the_gil" in (failure.log_tail or ""), "its stacks are kept"
    assert counts(bench, sweep_id) == {TrialState.SUCCEEDED: 3}
    bench.check_every_trial_is_accounted_for_once()
    check_gone(pids)


def test_4_a_rank_that_leaves_between_trials_costs_no_attempt(bench: DispatchBench) -> None:
    bench.finish(bench.submit(quick_sweep(batches=1)))
    os.kill(bench.pids()[1], signal.SIGKILL)
    bench.until(lambda: not bench.pids(), within_s=5)
    sweep_id = bench.submit(quick_sweep(batches=2))
    bench.finish(sweep_id)
    assert bench.failures(sweep_id) == []
    assert counts(bench, sweep_id) == {TrialState.SUCCEEDED: 2}


def test_5_mismatched_shapes_fail_their_point_and_the_others_run_on(bench: DispatchBench) -> None:
    mismatch = [Fault(batch=FAULTY, rank=rank, name="mismatch", times=2) for rank in (0, 1)]
    sweep_id = bench.submit(quick_sweep(), *mismatch)
    bench.finish(sweep_id, within_s=90)
    assert counts(bench, sweep_id) == {TrialState.SUCCEEDED: 2, TrialState.FAILED: 1}
    failures = bench.failures(sweep_id)
    assert len(failures) == 2, "tried once more, not thrice"
    assert {failure.code for failure in failures} == {"shape_mismatch"}
    assert {failure.signal for failure in failures} == {signal.SIGABRT}
    assert "different shapes" in (failures[0].message or "")
    bench.check_every_trial_is_accounted_for_once()


@pytest.mark.parametrize("ranks", [(0, 1), (1,)], ids=["on every rank", "on one rank"])
def test_6_a_device_without_room_fails_its_point_at_once_and_for_good(
    bench: DispatchBench, ranks: tuple[int, ...]
) -> None:
    no_room = [Fault(batch=FAULTY, rank=rank, name="cuda_out_of_memory") for rank in ranks]
    sweep_id = bench.submit(quick_sweep(), *no_room)
    bench.finish(sweep_id)
    assert counts(bench, sweep_id) == {TrialState.SUCCEEDED: 2, TrialState.FAILED: 1}
    (failure,) = bench.failures(sweep_id)
    assert (failure.code, failure.is_final) == ("out_of_memory", True)
    assert "1 TiB" in (failure.message or "")
    bench.check_every_trial_is_accounted_for_once()


def test_cancelling_a_sweep_stops_a_running_group(bench: DispatchBench) -> None:
    endless = [Fault(batch=batch, rank=1, name="sleep") for batch in (1, 2, 3)]
    sweep_id = bench.submit(quick_sweep(), *endless)
    bench.until(lambda: any(bench.measuring(batch) for batch in (1, 2, 3)), within_s=60)
    pids = bench.pids()
    with bench.sessions.writing() as session:
        sweeps.cancel(session, sweep_id)
    bench.finish(sweep_id, within_s=20)
    check_gone(pids)
    assert counts(bench, sweep_id) == {TrialState.CANCELLED: 3}
    bench.check_every_trial_is_accounted_for_once()
