"""The pages over a real database, asked as a browser on the same machine would ask."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient

from service.api.app import create_app
from service.settings import Settings
from service.store import tokens
from service.store.engine import Sessions, create_engine
from service.store.states import Scope

FORM_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Browser:
    """Keeps cookies, and sends forms as the pages hold them."""

    http: TestClient

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Follow no redirect."""
        return self.http.get(path, headers=headers, follow_redirects=False)

    def send(self, path: str, *, seen_at: str = "/sign-in", **fields: str) -> httpx2.Response:
        """Send a form that stood on the page `seen_at`."""
        (token, *_) = FORM_TOKEN.findall(self.get(seen_at).text)
        return self.send_raw(path, form_token=token, **fields)

    def send_raw(self, path: str, **fields: str) -> httpx2.Response:
        """Send fields that stood on no page."""
        return self.http.post(path, data=fields, follow_redirects=False)


@pytest.fixture
def sessions(sqlite_url: str) -> Iterator[Sessions]:
    """Transactions on a database of this test; SQL is tested elsewhere, on both kinds."""
    engine = create_engine(sqlite_url)
    yield Sessions(engine)
    engine.dispose()


@pytest.fixture
def settings(tmp_path: Path, sqlite_url: str) -> Settings:
    """Open access."""
    return Settings.model_validate({"home": tmp_path, "database_url": sqlite_url})


@pytest.fixture
def browser(settings: Settings, sessions: Sessions) -> Iterator[Browser]:
    """On this machine, where access is open."""
    app = create_app(settings, sessions)
    with TestClient(app, base_url="http://127.0.0.1:8321") as http:
        yield Browser(http)


@pytest.fixture
def guarded(settings: Settings, sessions: Sessions) -> Iterator[Browser]:
    """Of a service that listens elsewhere and asks for tokens."""
    app = create_app(settings.model_copy(update={"host": "10.0.0.1"}), sessions)
    with TestClient(app, base_url="http://sweeps.example") as http:
        yield Browser(http)


def issue(sessions: Sessions, *scopes: Scope) -> tuple[str, str]:
    """A token's id and secret."""
    with sessions.writing() as session:
        token, secret = tokens.create(session, name="someone", scopes=scopes)
    return token.id, secret
