"""What nights measured, with and without the documents that are dear to read."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from service.store import history
from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import POLICY, Nights, OfNode


@pytest.mark.parametrize("num_controls", [0, 2, 5])
def test_without_some_controls_and_versions_the_readings_are_the_same(
    engine: Engine, num_controls: int
) -> None:
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(engine, clock=clock), clock)
    for number in range(4):
        nights.measure({name: OfNode((100.0 + number,), 50.0) for name in "ab"})
    with nights.sessions.reading() as session:
        seen = history.nights(session, POLICY)
        (whole,) = history.readings(session, seen).values()
        (narrow,) = history.readings(
            session, seen, with_versions=False, num_controls=num_controls
        ).values()
    assert all(one.control is not None and one.versions for one in whole)
    assert sorted(narrow, key=str) == sorted(
        (
            replace(
                one,
                versions={},
                control=one.control if one.night >= len(seen) - num_controls else None,
            )
            for one in whole
        ),
        key=str,
    )
