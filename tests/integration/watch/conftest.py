from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock
from tests.integration.watch.telling import HOOK
from tests.unit.cli.fake_server import FakeServer, Reply, serving


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))


@pytest.fixture
def timed(engine: Engine, clock: FakeClock) -> Sessions:
    return Sessions(engine, clock=clock)


@pytest.fixture
def receiver() -> Iterator[FakeServer]:
    with serving() as fake:
        fake.on(HOOK, Reply({"read": "never"}))
        yield fake
