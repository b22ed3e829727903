"""Schedules on both databases: every named time is decided once, whoever looks and whenever."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from service.analysis.schedules.decide import MOST_WAITING, Action
from service.analysis.schedules.spec import ScheduleSpec
from service.errors import ConflictError, NotFoundError
from service.store import firing, schedules, sweeps
from service.store.engine import Sessions
from service.store.models.schedule import ScheduleDecisionRow
from service.store.schedules import Decided, Schedule
from tests.integration.store.builders import FakeClock, find, run_all, sweep_spec
from workers.contract.sweep import SweepSpec

MAX_POINTS = 1000
NIGHT = 24 * 3600.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, 12, tzinfo=UTC))


def create(
    sessions: Sessions, *, name: str = "nightly", sweep: SweepSpec | None = None, **more: object
) -> Schedule:
    asked = {"name": name, "cron": "0 2 * * *", "sweep": sweep or sweep_spec(batches=1), **more}
    with sessions.writing() as session:
        return schedules.create(session, ScheduleSpec.model_validate(asked), created_by="alice")


def look(sessions: Sessions) -> list[Decided]:
    """What a dispatcher does now and then."""
    with sessions.reading() as session:
        due = schedules.due(session)
    found: list[Decided] = []
    for schedule_id in due:
        with sessions.writing() as session:
            schedule = schedules.take(session, schedule_id)
            if schedule is not None:
                found += firing.fire_due(session, schedule, max_points=MAX_POINTS)
    return found


def kept(sessions: Sessions, schedule: Schedule) -> list[Decided]:
    with sessions.reading() as session:
        return list(schedules.decisions(session, schedule.id, limit=200).items)


def test_a_schedule_comes_back_as_it_was_asked(timed: Sessions, clock: FakeClock) -> None:
    spec = sweep_spec(batches=1, tags={"commit": "abc"})
    created = create(timed, sweep=spec, zone="Europe/Berlin", jitter_s=60, baseline="good")
    assert (created.spec.sweep, created.spec.baseline) == (spec, "good")
    assert (created.created_by, created.created_at) == ("alice", clock.now)
    with timed.reading() as session:
        assert schedules.find(session, created.id) == created
        assert schedules.find(session, "nightly") == created
        assert schedules.list_all(session) == [created]
        with pytest.raises(NotFoundError, match="there is no schedule 'x'"):
            schedules.find(session, "x")
    with pytest.raises(ConflictError, match="take another name"):
        create(timed)


def test_a_night_fires_once_and_its_sweep_says_whose_it_is(
    timed: Sessions, clock: FakeClock
) -> None:
    schedule = create(timed)
    assert look(timed) == []
    clock.advance(14 * 3600 + 1)
    (fired,) = look(timed)
    assert (fired.action, fired.reason) == (Action.FIRED, "on time")
    assert fired.scheduled_for == datetime(2026, 1, 2, 2, tzinfo=UTC)
    assert fired.sweep_id is not None
    sweep = find(timed, fired.sweep_id)
    assert (sweep.created_by, sweep.tags["schedule"]) == ("alice", "nightly")
    assert look(timed) == []
    assert kept(timed, schedule) == [fired]


def test_many_who_look_at_once_start_one_sweep(timed: Sessions, clock: FakeClock) -> None:
    for name in ("a", "b"):
        create(timed, name=name)
    clock.advance(NIGHT)
    with ThreadPoolExecutor(4) as pool:
        found = [one for some in pool.map(lambda _: look(timed), range(8)) for one in some]
    assert [one.action for one in found] == [Action.FIRED] * 2
    with timed.reading() as session:
        assert len(sweeps.page(session, limit=10).items) == 2


def test_the_database_refuses_a_second_decision_on_the_same_time(
    timed: Sessions, clock: FakeClock
) -> None:
    schedule = create(timed)
    clock.advance(NIGHT)
    (fired,) = look(timed)
    again = {
        "schedule_id": schedule.id,
        "scheduled_for": fired.scheduled_for,
        "decided_at": clock.now,
        "action": Action.MISSED,
        "reason": "twice",
    }
    with pytest.raises(IntegrityError), timed.writing() as session:
        session.execute(insert(ScheduleDecisionRow).values(again))


def test_three_nights_down_leave_a_row_each(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed)
    clock.advance(3 * NIGHT)
    assert [one.action for one in look(timed)] == [Action.MISSED, Action.MISSED, Action.FIRED]
    newest, *older = kept(timed, schedule)
    assert newest.sweep_id is not None
    assert all("nothing could be started from" in one.reason for one in older)


def test_the_newest_nights_are_made_up_for_as_many_as_may_wait(
    timed: Sessions, clock: FakeClock
) -> None:
    create(timed, catch_up="all", most_catch_ups=20, overlap="queue")
    clock.advance(NIGHT)
    assert [one.action for one in look(timed)] == [Action.FIRED]
    clock.advance(20 * NIGHT)
    num_fired = MOST_WAITING - 1
    expected = [Action.MISSED] * (20 - num_fired) + [Action.FIRED] * num_fired
    assert [one.action for one in look(timed)] == expected


@pytest.mark.parametrize(
    ("overlap", "actions", "num_going_on"),
    [("skip", ["fired", "skipped"], 1), ("queue", ["fired", "fired"], 2),
     ("cancel_previous", ["fired", "fired"], 1)],
)  # fmt: skip
def test_a_night_that_finds_the_last_one_going_on(
    timed: Sessions, clock: FakeClock, overlap: str, actions: list[str], num_going_on: int
) -> None:
    create(timed, overlap=overlap)
    found: list[Decided] = []
    for _ in range(2):
        clock.advance(NIGHT)
        found += look(timed)
    assert [one.action.value for one in found] == actions
    assert found[0].sweep_id is not None
    assert found[0].sweep_id in found[1].reason
    with timed.reading() as session:
        listed = sweeps.page(session, limit=10).items
    assert sum(one.finished_at is None for one in listed) == num_going_on
    run_all(timed)
    clock.advance(NIGHT)
    assert [one.action for one in look(timed)] == [Action.FIRED]


def test_a_pause_is_kept_beside_what_it_leaves_out(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed)
    with timed.writing() as session:
        until = clock.now + timedelta(days=2)
        paused = schedules.pause(session, schedule.id, reason="the lab moves", until=until)
    assert paused.pause is not None
    assert paused.pause.covers(clock.now)
    found: list[Decided] = []
    for _ in range(3):
        clock.advance(NIGHT - 9 * 3600)
        clock.advance(9 * 3600)
        found += look(timed)
    assert [one.action for one in found] == [Action.SKIPPED, Action.SKIPPED, Action.FIRED]
    assert "the lab moves" in found[0].reason


def test_what_the_hardware_cannot_measure_is_refused_with_the_reason(
    timed: Sessions, clock: FakeClock
) -> None:
    create(timed, sweep=sweep_spec(batches=1, accelerator="H100"))
    run_all(timed)
    clock.advance(NIGHT)
    (refused,) = look(timed)
    assert refused.action is Action.REFUSED
    assert "no known node has such an accelerator" in refused.reason
    assert look(timed) == []


def test_run_now_starts_whatever_the_policies_say(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed)
    for _ in range(2):
        clock.advance(1)
        with timed.writing() as session:
            locked = schedules.find(session, "nightly", lock=True)
            found = firing.run_now(session, locked, asked_by="bob", max_points=MAX_POINTS)
    assert (found.action, found.reason) == (Action.FIRED, "asked for by bob")
    with pytest.raises(ConflictError, match="this very moment"), timed.writing() as session:
        firing.run_now(session, schedule, asked_by="bob", max_points=MAX_POINTS)
    assert len(kept(timed, schedule)) == 2


def test_a_clock_that_is_set_back_starts_nothing_twice(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed)
    run_all(timed)
    clock.advance(NIGHT)
    assert len(look(timed)) == 1
    run_all(timed)
    clock.advance(-12 * 3600)
    assert look(timed) == []
    clock.advance(3 * 3600)
    assert look(timed) == [], "the first decision stands"
    clock.advance(NIGHT)
    assert [one.action for one in look(timed)] == [Action.FIRED]
    assert len(kept(timed, schedule)) == 2


def test_a_changed_schedule_names_times_from_then_on(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed)
    asked = {"name": "hourly", "cron": "30 * * * *", "sweep": sweep_spec(batches=1)}
    with timed.writing() as session:
        changed = schedules.replace(session, "nightly", ScheduleSpec.model_validate(asked))
    assert (changed.id, changed.spec.name) == (schedule.id, "hourly")
    assert changed.next_start_at == clock.now + timedelta(minutes=30)


def test_a_deleted_schedule_leaves_its_sweeps(timed: Sessions, clock: FakeClock) -> None:
    create(timed)
    clock.advance(NIGHT)
    (fired,) = look(timed)
    with timed.writing() as session:
        schedules.remove(session, "nightly")
    assert fired.sweep_id is not None
    find(timed, fired.sweep_id)
    clock.advance(NIGHT)
    assert look(timed) == []


def test_decisions_come_in_pages(timed: Sessions, clock: FakeClock) -> None:
    schedule = create(timed, catch_up="skip")
    clock.advance(5 * NIGHT)
    look(timed)
    with timed.reading() as session:
        first = schedules.decisions(session, schedule.id, limit=3)
        rest = schedules.decisions(session, schedule.id, limit=3, cursor=first.next_cursor)
    times = [one.scheduled_for for one in (*first.items, *rest.items)]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 5
    assert rest.next_cursor is None
