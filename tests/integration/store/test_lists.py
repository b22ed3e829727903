"""Lists of sweeps and points: filters, pages and cursors."""

from datetime import timedelta

import pytest

from service.errors import InvalidCursorError
from service.store import points, queue, sweeps
from service.store.engine import Sessions
from service.store.leases import Failure
from service.store.states import PointState, SweepState
from tests.integration.store.builders import (
    FakeClock,
    claimed,
    complete,
    register,
    submit,
    sweep_spec,
)
from tests.narrowing import grid_of

ONE = sweep_spec(batches=1, degrees=(1,))


def test_sweeps_are_listed_newest_first_page_by_page(timed: Sessions, clock: FakeClock) -> None:
    ids = []
    for second in (0, 0, 0, 1, 2):
        clock.advance(second)
        ids.append(submit(timed, ONE).id)
    seen: list[str] = []
    cursor = None
    with timed.reading() as session:
        while True:
            page = sweeps.page(session, limit=2, cursor=cursor)
            seen += [sweep.id for sweep in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert seen[:2] == ids[:2:-1]
    assert seen[2:] == sorted(ids[:3], reverse=True), "of one instant: by id"


def test_a_sweep_added_while_turning_pages_does_not_shift_them(sessions: Sessions) -> None:
    ids = [submit(sessions, ONE).id for _ in range(4)]
    with sessions.reading() as session:
        first = sweeps.page(session, limit=2)
    submit(sessions, ONE)
    with sessions.reading() as session:
        second = sweeps.page(session, limit=2, cursor=first.next_cursor)
    assert [sweep.id for sweep in (*first.items, *second.items)] == ids[::-1]


def test_sweeps_are_found_by_state_tag_and_time(timed: Sessions, clock: FakeClock) -> None:
    register(timed)
    done = submit(timed, sweep_spec(batches=1, degrees=(1,), tags={"night": "1", "by": "me"}))
    complete(timed, claimed(timed))
    clock.advance(60)
    running = submit(timed, sweep_spec(batches=1, degrees=(1,), tags={"night": "2"}))
    claimed(timed)
    queued = submit(timed, ONE)

    def found(
        *, state: SweepState | None = None, tag: tuple[str, str] | None = None, after_s: int = -1
    ) -> set[str]:
        since = clock.now - timedelta(seconds=after_s) if after_s >= 0 else None
        with timed.reading() as session:
            page = sweeps.page(session, state=state, tag=tag, since=since, limit=10)
        return {sweep.id for sweep in page.items}

    assert found(state=SweepState.SUCCEEDED) == {done.id}
    assert found(state=SweepState.RUNNING) == {running.id}
    assert found(state=SweepState.QUEUED) == {queued.id}
    assert found(tag=("night", "1")) == {done.id}
    assert found(tag=("night", "2")) == {running.id}
    assert found(tag=("by", "1")) == set()
    assert found(after_s=0) == {running.id, queued.id}
    assert found(after_s=60) == {done.id, running.id, queued.id}
    assert found(after_s=60, state=SweepState.SUCCEEDED, tag=("by", "me")) == {done.id}


def test_points_are_listed_in_the_order_of_the_grid_page_by_page(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=3, degrees=(1, 2)))
    seen = []
    cursor = None
    with sessions.reading() as session:
        while True:
            page = points.page(session, sweep.id, limit=4, cursor=cursor)
            seen += [point.spec for point in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert seen == list(grid_of(sweep.spec).combinations())


def test_points_are_found_by_state(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=4, degrees=(1,)))
    register(sessions)
    prefer = (sweep.id, 0)
    done, failed, held = (claimed(sessions, prefer=prefer) for _ in range(3))
    complete(sessions, done)
    with sessions.writing() as session:
        queue.fail(session, failed, Failure(code="x", message="y"), retry=False)

    def found(state: PointState) -> list[str]:
        with sessions.reading() as session:
            return [p.id for p in points.page(session, sweep.id, state=state, limit=9).items]

    assert found(PointState.SUCCEEDED) == [done.point_id]
    assert found(PointState.FAILED) == [failed.point_id]
    assert found(PointState.RUNNING) == [held.point_id]
    assert len(found(PointState.QUEUED)) == 1
    assert found(PointState.CANCELLED) == []


def test_a_cursor_works_only_for_the_list_it_came_from(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=3, degrees=(1,)))
    submit(sessions, ONE)
    with sessions.reading() as session:
        of_sweeps = sweeps.page(session, limit=1).next_cursor
        of_points = points.page(session, sweep.id, limit=1).next_cursor
        assert of_sweeps is not None
        assert of_points is not None
        with pytest.raises(InvalidCursorError):
            sweeps.page(session, limit=1, cursor=of_points)
        with pytest.raises(InvalidCursorError):
            sweeps.page(session, limit=1, state=SweepState.QUEUED, cursor=of_sweeps)
        with pytest.raises(InvalidCursorError):
            points.page(session, sweep.id, limit=1, cursor=of_sweeps)


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "e30", "bnVsbA", "ü", "W10", "=" * 50])
def test_a_cursor_nobody_gave_out_is_refused(sessions: Sessions, cursor: str) -> None:
    with sessions.reading() as session, pytest.raises(InvalidCursorError, match="begin without"):
        sweeps.page(session, limit=1, cursor=cursor)
