"""What was measured comes back exactly, by any filter, page by page."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from service.analysis.summary import summarise
from service.errors import InvalidCursorError, NotFoundError
from service.store import queue, results, samples, sweeps
from service.store.engine import Sessions
from service.store.result_filter import ResultFilter, Version
from tests.integration.store.builders import (
    OFFER,
    FakeClock,
    claim,
    claimed,
    complete,
    find,
    node,
    register,
    result_of,
    run_all,
    submit,
    sweep_spec,
)
from tests.narrowing import grid_of
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE
from workers.contract.axes import Block, Dtype, Pass, Phase
from workers.contract.hardware import Hardware


def measured(sessions: Sessions, which: ResultFilter) -> list[results.MeasuredTrial]:
    with sessions.reading() as session:
        return results.measured(session, which)


def test_samples_come_back_exactly(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=1, degrees=(2,)))
    register(sessions)
    lease = claimed(sessions)
    told = result_of(lease, step_ns=(1, 2**62, 123_456_789, 5))
    with sessions.writing() as session:
        queue.complete(session, lease, told)
    with sessions.reading() as session:
        assert samples.find(session, lease.trial_id, lease.point_id) == told.samples
        assert samples.collectives(session, lease.trial_id, lease.point_id) == told.collectives
        assert samples.find(session, "unknown", "unknown") == {}
        assert samples.collectives(session, "unknown", "unknown") == ()


def test_a_result_says_what_was_measured_where_and_how(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=1, degrees=(2,)))
    register(sessions)
    lease = claimed(sessions)
    complete(sessions, lease)
    (trial,) = measured(sessions, ResultFilter(sweep_ids=(sweep.id,)))
    told = result_of(lease)
    assert (trial.id, trial.point_id, trial.sweep_id) == (
        lease.trial_id,
        lease.point_id,
        sweep.id,
    )
    assert (trial.spec, trial.spec_key) == (lease.spec, lease.spec.spec_key)
    assert (trial.hardware_key, trial.hardware) == (HARDWARE.hardware_key, HARDWARE)
    assert (trial.environment, trial.proof) == (ENVIRONMENT, told.proof)
    assert trial.summary == summarise(told)
    assert trial.summary.num_steps == 3
    assert (trial.stop_rule, trial.wall_ns, trial.attempt) == ("interval", 10**9, 1)
    assert find(sessions, sweep.id).mean_trial_s == 1.0


def test_a_result_on_unregistered_hardware_is_refused(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    lease = claimed(sessions)
    with pytest.raises(IntegrityError):
        complete(sessions, lease)


def test_filters_choose_by_axis_hardware_sweep_tag_and_time(
    timed: Sessions, clock: FakeClock
) -> None:
    tagged = submit(timed, sweep_spec(tags={"commit": "abc", "night": "1"}))
    run_all(timed)
    clock.advance(100)
    plain = submit(timed, sweep_spec(batches=3, degrees=(4,)))
    run_all(timed)

    def count(which: ResultFilter) -> int:
        return len(measured(timed, which))

    everything = ResultFilter(
        models=("tiny",),
        blocks=(Block.MLP,),
        phases=(Phase.TRAIN,),
        dtypes=(Dtype.FLOAT32,),
        seqs=(1,),
        hardware_keys=(HARDWARE.hardware_key,),
        accelerators=("Test CPU",),
        nodes=("node-1",),
    )
    assert count(ResultFilter()) == count(everything) == 7
    assert count(ResultFilter(sweep_ids=(plain.id,))) == 3
    assert count(ResultFilter(tp_degrees=(1, 4))) == 5
    assert count(ResultFilter(batches=(3,))) == 1
    assert count(ResultFilter(tags=(("commit", "abc"),))) == 4
    assert count(ResultFilter(tags=(("commit", "abc"), ("night", "1")))) == 4
    assert count(ResultFilter(tags=(("commit", "abc"), ("night", "2")))) == 0
    assert count(ResultFilter(versions=((Version.TORCH, "2.13.0"),))) == 7
    assert count(ResultFilter(versions=((Version.TORCH, "2.13"),))) == 0
    assert count(ResultFilter(versions=((Version.NCCL, "2.27.3"),))) == 0
    assert count(ResultFilter(blocks=(Block.ATTENTION,))) == 0
    assert count(ResultFilter(accelerators=("H100",))) == 0
    assert count(ResultFilter(nodes=("node-2",))) == 0
    assert count(ResultFilter(since=clock.now)) == 3
    assert count(ResultFilter(until=clock.now)) == 4
    assert count(ResultFilter(since=clock.now + timedelta(seconds=1))) == 0
    key = grid_of(tagged.spec).expand().points[0].spec_key
    assert [trial.spec_key for trial in measured(timed, ResultFilter(spec_keys=(key,)))] == [key]


def test_pages_hold_whole_points_newest_sweep_first_in_the_order_of_the_grid(
    sessions: Sessions,
) -> None:
    first = submit(sessions, sweep_spec(batches=3, degrees=(1,), replicates=2))
    second = submit(sessions, sweep_spec(batches=2, degrees=(2,), replicates=2))
    run_all(sessions)
    seen: list[tuple[str, int]] = []
    cursor = None
    with sessions.reading() as session:
        while True:
            page = results.page(session, ResultFilter(), limit=2, cursor=cursor)
            for point in page.items:
                assert [trial.replicate for trial in point.trials] == [0, 1]
                assert {trial.point_id for trial in point.trials} == {point.point_id}
                seen.append((point.sweep_id, point.trials[0].spec.batch))
            cursor = page.next_cursor
            if cursor is None:
                break
        cursor = results.page(session, ResultFilter(), limit=2).next_cursor
        with pytest.raises(InvalidCursorError, match="other filters"):
            results.page(session, ResultFilter(batches=(1,)), limit=2, cursor=cursor)
    assert seen == [(second.id, n) for n in (1, 2)] + [(first.id, n) for n in (1, 2, 3)]


def test_a_point_without_results_is_on_no_page(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=2, degrees=(1,)))
    register(sessions)
    lease = claimed(sessions)
    complete(sessions, lease)
    with sessions.reading() as session:
        page = results.page(session, ResultFilter(), limit=10)
        assert [point.point_id for point in page.items] == [lease.point_id]
        assert page.next_cursor is None
        assert results.find(session, lease.point_id) == page.items[0]
        with pytest.raises(NotFoundError):
            results.find(session, "unknown")
        nothing = ResultFilter(nodes=("unknown",))
        assert results.page(session, nothing, limit=10).items == ()


def test_filters_about_results_hide_the_other_trials_of_a_point(sessions: Sessions) -> None:
    other = Hardware(**{**HARDWARE.model_dump(), "accelerator": "Other CPU"})
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    register(sessions)
    register(sessions, node(other, name="node-2"))
    complete(sessions, claimed(sessions))
    offer = replace(OFFER, hardware_key=other.hardware_key)
    lease = claim(sessions, offer=offer)
    assert lease is not None
    told = result_of(lease).model_copy(update={"hardware_key": other.hardware_key})
    with sessions.writing() as session:
        queue.complete(session, lease, told)
    (trial,) = measured(sessions, ResultFilter(accelerators=("Other CPU",)))
    assert (trial.id, trial.hardware) == (lease.trial_id, other)
    with sessions.reading() as session:
        page = results.page(session, ResultFilter(accelerators=("Other CPU",)), limit=10)
    assert [point.trials for point in page.items] == [(trial,)]


def test_passes_that_did_not_run_have_no_samples(sessions: Sessions) -> None:
    submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    register(sessions)
    lease = claimed(sessions)
    told = result_of(lease)
    clean_only = told.model_copy(update={"samples": {Pass.CLEAN: told.samples[Pass.CLEAN]}})
    with sessions.writing() as session:
        queue.complete(session, lease, clean_only)
    with sessions.reading() as session:
        assert samples.find(session, lease.trial_id, lease.point_id) == clean_only.samples
        assert sweeps.find(session, lease.sweep_id).num_done == 1
