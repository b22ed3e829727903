"""The API over a real database, asked as a client on the same machine would ask it."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.api.app import create_app
from service.settings import Settings
from service.store.engine import Sessions
from service.telemetry import configure_logging

BASE_URL = "http://127.0.0.1:8321"


@pytest.fixture(autouse=True)
def log() -> Iterator[io.StringIO]:
    """What is logged, written as in production."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure_logging(Settings(log_format="json"), stream=stream)
    yield stream
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture
def settings(tmp_path: Path, database: str) -> Settings:
    """Open access, quick streams."""
    return Settings.model_validate(
        {"home": tmp_path, "database_url": database, "host": "127.0.0.1", "stream_poll_s": 0.01}
    )


@pytest.fixture
def app(settings: Settings, sessions: Sessions) -> FastAPI:
    """The application on `database`."""
    return create_app(settings, sessions)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client that sees a failing route as its users would: as a response."""
    with TestClient(app, base_url=BASE_URL, raise_server_exceptions=False) as client:
        yield client
