"""The benchmarks' way to write results is the queue's, as far as readers can tell."""

import numpy as np

from service.store import results
from service.store.engine import Sessions
from service.store.result_filter import ResultFilter
from service.store.timed import timed
from tests.bench.bulk_results import Conditions, Kind, measure
from tests.integration.store.builders import find, register, submit
from tests.unit.analysis.trials import HARDWARE
from tests.unit.reports.measured import BEGAN


def test_a_sweep_written_at_once_reads_like_one_that_was_measured(sessions: Sessions) -> None:
    register(sessions)
    sweep = submit(sessions)
    kind = Kind(name="machine", hardware=HARDWARE, slowness=1, num_nodes=1)
    conditions = Conditions(
        kind=kind, at=BEGAN, driver="1", nccl="2", slower=lambda _: 1.0, has_samples=True
    )
    with sessions.writing() as session:
        points, written = measure(session, sweep.id, conditions, np.random.default_rng(1))
    assert (points, written) == (sweep.num_points, sweep.num_trials)
    assert find(sessions, sweep.id).state == "succeeded"
    which = ResultFilter(sweep_ids=(sweep.id,))
    with sessions.reading() as session:
        whole, brief = results.measured(session, which), timed(session, which)
    assert len(whole) == written
    for one, other in zip(whole, brief, strict=True):
        told = one.summary
        parts = (other.step_time_us, other.compute_time_us, other.control)
        assert parts == (told.step_time_us, told.compute_time_us, told.control)
