"""From measured rows to what is published, on both databases."""

import pytest

from service.analysis.comparison import Verdict
from service.errors import NotFoundError
from service.reports import baselines, breakeven, comparison, results, sweeps
from service.reports.selection import Selection
from service.reports.sides import Side
from service.store.engine import Sessions
from service.store.leases import Lease
from service.store.result_filter import ResultFilter
from service.store.states import PointState, SweepState
from tests.integration.reports.measuring import measure_sweep
from tests.narrowing import block_of


def usual(lease: Lease) -> tuple[int, int]:
    """10 us a row over the ranks and 50 us of communication between two: equal at batch 10."""
    compute = 10_000 * block_of(lease.spec).batch // lease.spec.tp_degree + 30 * lease.replicate
    return compute + (50_000 if lease.spec.tp_degree > 1 else 0), compute


def slower(lease: Lease) -> tuple[int, int]:
    step, compute = usual(lease)
    return step * 13 // 10, compute


def test_results_are_paged_as_points_over_their_trials(sessions: Sessions) -> None:
    sweep_id = measure_sweep(sessions, usual)
    which = ResultFilter(sweep_ids=(sweep_id,))
    with sessions.reading() as session:
        first = results.page(session, which, limit=5)
        rest = results.page(session, which, limit=5, cursor=first.next_cursor)
    assert [len(first.items), len(rest.items)] == [5, 3]
    assert rest.next_cursor is None
    shown = [*first.items, *rest.items]
    assert [(own.spec.tp_degree, own.spec.batch) for own in shown] == [
        (degree, batch) for degree in (1, 2) for batch in (1, 4, 16, 64)
    ]
    assert {own.num_replicates for own in shown} == {3}
    assert all(own.communication_share == 0 for own in shown if own.spec.tp_degree == 1)
    assert all(0 < own.communication_share < 1 for own in shown if own.spec.tp_degree == 2)
    assert [len(own.collectives) for own in shown] == [0, 0, 0, 0, 2, 2, 2, 2]
    assert shown[4].step_time_us.median == pytest.approx(55.032)
    assert shown[4].trials is None


def test_a_result_shows_its_trials_and_on_request_its_samples(sessions: Sessions) -> None:
    sweep_id = measure_sweep(sessions, usual, batches=(1,))
    with sessions.reading() as session:
        listed = results.page(session, ResultFilter(sweep_ids=(sweep_id,)), limit=2).items[1]
        plain = results.find(session, listed.id)
        full = results.find(session, listed.id, include_samples=True)
    assert plain.trials is not None
    assert [own.replicate for own in plain.trials] == [0, 1, 2]
    assert plain.samples_us is None
    assert plain.model_copy(update={"trials": None}) == listed
    assert full.samples_us is not None
    assert len(full.samples_us) == 9
    assert full.samples_us[:3] == (55.0, 55.002, 55.004)


def test_a_result_that_does_not_exist_is_not_found(sessions: Sessions) -> None:
    with sessions.reading() as session, pytest.raises(NotFoundError):
        results.find(session, "nothing")


def test_two_sweeps_are_compared_point_by_point(sessions: Sessions) -> None:
    first = measure_sweep(sessions, usual)
    second = measure_sweep(sessions, slower, batches=(4, 16, 256))
    with sessions.reading() as session:
        found = comparison.between(
            session,
            Side(Selection(sweep=(first,)), "?baseline"),
            Side(Selection(sweep=(second,)), "?candidate"),
        )
    assert [(own.spec.tp_degree, own.spec.batch) for own in found.points] == [
        (1, 4),
        (1, 16),
        (2, 4),
        (2, 16),
    ]
    assert {own.verdict for own in found.points} == {Verdict.SLOWER}
    assert [own.spec.batch for own in found.unmatched_candidate] == [256, 256]
    assert len(found.unmatched_baseline) == 4
    assert found.differences == ()
    assert found.overall is not None
    assert found.overall.ratio == pytest.approx(1.3, abs=0.001)


def test_a_step_that_outlasted_the_newest_sweeps_is_not_the_last_good_one(
    sessions: Sessions,
) -> None:
    good = measure_sweep(sessions, usual, batches=(4,))
    slow = [
        measure_sweep(sessions, slower, batches=(4,)) for _ in range(baselines.MOST_EARLIER + 2)
    ]
    with sessions.reading() as session:
        found = baselines.candidates(session, slow[-1])
    assert [(one.kind.value, one.sweep_id) for one in found.candidates] == [("last_good", good)]
    assert all(f"than sweep {good}" in one.reason for one in found.passed_over)


def test_break_even_is_found_in_what_was_stored(sessions: Sessions) -> None:
    sweep_id = measure_sweep(sessions, usual)
    with sessions.reading() as session:
        (found,) = breakeven.of_results(session, ResultFilter(sweep_ids=(sweep_id,)))
    assert found.compute_overtakes.batch == pytest.approx(10, rel=0.01)
    assert found.pays_from is not None
    assert found.pays_from.batch == pytest.approx(10, rel=0.1)
    assert found.sentence.startswith(
        "tiny mlp train, tp_degree 2: compute overtakes communication from batch 10 (10 to 10)"
    )


def test_a_measured_sweep_is_done(sessions: Sessions) -> None:
    sweep_id = measure_sweep(sessions, usual, batches=(1, 2))
    with sessions.reading() as session:
        shown = sweeps.find(session, sweep_id)
        listed = sweeps.page(session, limit=10)
        points = sweeps.points(session, sweep_id, limit=10)
    assert shown.state is SweepState.SUCCEEDED
    assert shown.counts[PointState.SUCCEEDED] == 4
    assert (shown.progress.fraction, shown.progress.eta_s) == (1, 0)
    assert [own.id for own in listed.items] == [sweep_id]
    assert [own.attempt for own in points.items] == [3, 3, 3, 3]
