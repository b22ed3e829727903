import pytest
from sqlalchemy import Engine

from tests.integration.dispatch.bench import Bench


@pytest.fixture
def bench(engine: Engine) -> Bench:
    return Bench(engine)
