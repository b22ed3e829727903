"""A page of an export is of one moment, whatever happens while it is read."""

from collections.abc import Iterable

import pytest
from sqlalchemy.orm import Session

from service.store import exporting, queue, sweeps
from service.store.engine import Sessions
from service.store.records import TrialRecord
from service.store.result_filter import ResultFilter
from tests.integration.store.builders import FAILURE, ONE_TRIAL, claimed, register, submit


def test_a_trial_that_is_put_back_while_it_is_exported_is_told_as_it_was(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(sessions)
    sweep = submit(sessions, ONE_TRIAL)
    failed = claimed(sessions)
    with sessions.writing() as session:
        queue.fail(session, failed, FAILURE, retry=False)
    read = exporting._trials

    def put_back_first(session: Session, ids: Iterable[str]) -> dict[str, TrialRecord]:
        with sessions.writing() as other:
            sweeps.retry(other, sweep.id)
        claimed(sessions)
        return read(session, ids)

    monkeypatch.setattr(exporting, "_trials", put_back_first)
    with sessions.reading() as session:
        (record,) = exporting.failures(session, ResultFilter(), limit=10).items
    assert [one.attempt for one in record.attempts] == [failed.attempt]
