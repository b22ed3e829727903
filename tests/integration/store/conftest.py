import pytest
from sqlalchemy import Engine

from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def timed(engine: Engine, clock: FakeClock) -> Sessions:
    """Transactions whose time is the clock's."""
    return Sessions(engine, clock=clock)
