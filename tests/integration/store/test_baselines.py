"""Baselines on both databases."""

from datetime import timedelta

import pytest

from service.analysis.schedules.spec import ScheduleSpec
from service.errors import ConflictError, NotFoundError
from service.reports import baselines as reports
from service.store import baselines, schedules
from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock, run_all, submit, sweep_spec


def test_a_name_stands_for_its_sweep_until_it_expires(timed: Sessions, clock: FakeClock) -> None:
    sweep = submit(timed)
    with timed.writing() as session:
        until = clock.now + timedelta(days=1)
        pinned = baselines.pin(session, "good", sweep.id, pinned_by="alice", expires_at=until)
    assert (pinned.pinned_by, pinned.pinned_at, pinned.is_expired) == ("alice", clock.now, False)
    with timed.reading() as session:
        assert baselines.resolve(session, "good") == sweep.id
        assert baselines.resolve(session, sweep.id) == sweep.id
        with pytest.raises(NotFoundError, match="no sweep and no baseline 'x'"):
            baselines.resolve(session, "x")
    clock.advance(24 * 3600)
    with timed.reading() as session:
        assert baselines.find(session, "good").is_expired
        with pytest.raises(ConflictError, match=f"name its sweep {sweep.id}"):
            baselines.resolve(session, "good")
    with timed.writing() as session:
        assert not baselines.expire(session, "good", None).is_expired


def test_a_name_is_taken_once_and_may_move(timed: Sessions) -> None:
    first, second = submit(timed), submit(timed)
    with timed.writing() as session:
        baselines.pin(session, "good", first.id, pinned_by="alice")
        with pytest.raises(ConflictError, match="take another name"):
            baselines.pin(session, "good", second.id, pinned_by="bob")
        moved = baselines.move(session, "good", second.id, pinned_by="bob")
        assert (moved.sweep_id, moved.pinned_by) == (second.id, "bob")
        assert baselines.annotate(session, "good", "as shipped").note == "as shipped"
        with pytest.raises(NotFoundError, match="there is no sweep 'x'"):
            baselines.pin(session, "other", "x", pinned_by="bob")
        with pytest.raises(NotFoundError, match="there are: good"):
            baselines.find(session, "bad")


def test_renaming_reaches_the_schedules_and_keeps_them_from_losing_it(timed: Sessions) -> None:
    sweep = submit(timed)
    asked = {
        "name": "nightly",
        "cron": "0 2 * * *",
        "sweep": sweep_spec(batches=1),
        "baseline": "good",
    }
    with timed.writing() as session:
        for name in ("good", "other"):
            baselines.pin(session, name, sweep.id, pinned_by="alice")
        schedules.create(session, ScheduleSpec.model_validate(asked), created_by="alice")
        baselines.rename(session, "good", "best")
        assert schedules.find(session, "nightly").spec.baseline == "best"
        with pytest.raises(ConflictError, match="schedule 'nightly' is held against 'best'"):
            baselines.remove(session, "best")
        with pytest.raises(ConflictError, match="take another name"):
            baselines.rename(session, "best", "other")
        schedules.remove(session, "nightly")
        baselines.remove(session, "best")
        assert [one.name for one in baselines.list_all(session)] == ["other"]


def test_candidates_are_the_last_good_one_and_the_parent_commit(
    timed: Sessions, clock: FakeClock
) -> None:
    spec = sweep_spec(batches=1)
    old = submit(timed, sweep_spec(batches=1, tags={"commit": "a"}))
    clock.advance(1)
    wider = submit(timed, sweep_spec(batches=2))
    clock.advance(1)
    submit(timed, sweep_spec(batches=1, degrees=(1,)))
    clock.advance(1)
    run_all(timed)
    unmeasured = submit(timed, spec)
    clock.advance(1)
    newest = submit(timed, sweep_spec(batches=1, tags={"commit": "b", "parent": "a"}))
    with timed.writing() as session:
        baselines.pin(session, "wide", wider.id, pinned_by="alice")
        found = reports.candidates(session, newest.id)
        alike = baselines.earlier_alike(session, newest.id, limit=10)
    assert alike == [unmeasured.id, wider.id, old.id]
    assert [(one.kind.value, one.sweep_id, one.name) for one in found.candidates] == [
        ("parent", old.id, None),
        ("last_good", wider.id, "wide"),
    ]
    assert "parent commit a, and 2 of 2 points" in found.candidates[0].reason
    (passed,) = found.passed_over
    assert passed.sweep_id == unmeasured.id


def test_a_schedules_baseline_comes_first(timed: Sessions, clock: FakeClock) -> None:
    good = submit(timed)
    clock.advance(1)
    asked = {
        "name": "nightly",
        "cron": "0 2 * * *",
        "sweep": sweep_spec(batches=1),
        "baseline": "good",
    }
    started = submit(timed, sweep_spec(batches=1, tags={"schedule": "nightly"}))
    with timed.writing() as session:
        baselines.pin(session, "good", good.id, pinned_by="alice")
        schedules.create(session, ScheduleSpec.model_validate(asked), created_by="alice")
        (first, *_) = reports.candidates(session, started.id).candidates
    assert (first.kind.value, first.sweep_id, first.name) == ("schedule", good.id, "good")
