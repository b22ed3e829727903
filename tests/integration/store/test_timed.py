"""The columns of a result that are read alone, against the documents they were taken from."""

from dataclasses import fields

from sqlalchemy import Engine

from service.store import queue, results, schema
from service.store.cases import cases
from service.store.engine import Sessions
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.result_filter import ResultFilter
from service.store.timed import Timed, TimedTrial, timed
from tests.integration.store.builders import (
    claimed,
    register,
    result_of,
    run_all,
    submit,
    sweep_spec,
)
from workers.contract.axes import Pass

EVERY = ResultFilter()
CONTROL = (Pass.CONTROL_GEMM, Pass.CONTROL_COLLECTIVE)


def measure(sessions: Sessions) -> None:
    """Two sweeps of several points; one trial has no control, and times that no decimal holds."""
    submit(sessions)
    register(sessions)
    lease = claimed(sessions)
    told = result_of(lease, step_ns=(10**9 // 3, 2**53 // 7, 5))
    steps = {name: ranks for name, ranks in told.samples.items() if name not in CONTROL}
    told = told.model_copy(update={"samples": steps})
    with sessions.writing() as session:
        queue.complete(session, lease, told)
    submit(sessions, sweep_spec(batches=2, degrees=(2,)))
    run_all(sessions)


def read(
    sessions: Sessions, newest: int | None = None
) -> tuple[list[TimedTrial], list[results.MeasuredTrial]]:
    with sessions.reading() as session:
        narrow = timed(session, EVERY, newest=newest)
        return narrow, results.measured(session, EVERY, newest=newest)


def told(trial: Timed) -> list[object]:
    names = (*(field.name for field in fields(TimedTrial)), "exposed_communication_us")
    return [getattr(trial, name) for name in (*names, "communication_share")]


def test_a_timed_trial_is_the_measured_one(engine: Engine, sessions: Sessions) -> None:
    measure(sessions)
    narrow, wide = read(sessions)
    assert len(narrow) == len(wide) > 2
    assert {trial.control is None for trial in narrow} == {True, False}
    assert [told(trial) for trial in narrow] == [told(trial) for trial in wide]
    assert read(sessions, newest=2)[0] == narrow[:2]
    schema.downgrade(engine, "0019")
    schema.upgrade(engine)
    assert read(sessions) == (narrow, wide)


def test_every_field_of_a_trial_is_its_own_column(sessions: Sessions) -> None:
    measure(sessions)
    with sessions.reading() as session:
        for trial in results.measured(session, EVERY):
            result = session.get_one(ResultRow, (trial.id, trial.point_id))
            point = session.get_one(PointRow, trial.point_id)
            hardware = session.get_one(HardwareRow, trial.hardware_key)
            elsewhere: dict[str, object] = {
                "id": result.trial_id,
                "spec": point.spec,
                "paired_with": point.paired_with,
                "hardware": hardware.facts,
                "hosts": result.hosts or (),
            }
            for field in fields(results.MeasuredTrial):
                known = elsewhere.get(field.name, getattr(result, field.name, None))
                assert getattr(trial, field.name) == known, field.name


def test_cases_are_named_once_the_newest_first(sessions: Sessions) -> None:
    measure(sessions)
    with sessions.reading() as session:
        newest = {trial.spec_key: trial.spec for trial in timed(session, EVERY)}
        (model,) = {spec.model.name for spec in newest.values()}
        found = cases(session, ResultFilter(models=(model,)))
    assert [(case.spec_key, case.spec) for case in found] == list(newest.items())
