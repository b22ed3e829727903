"""Tokens: what is kept of them and what they open."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from service.errors import NotFoundError
from service.store import tokens
from service.store.engine import Sessions
from service.store.states import Scope
from service.store.tokens import Token
from tests.integration.store.builders import FakeClock


def issue(
    sessions: Sessions, *scopes: Scope, name: str = "ci", expires_after_s: float | None = None
) -> tuple[Token, str]:
    with sessions.writing() as session:
        expires_at = None
        if expires_after_s is not None:
            clock = session.info["clock"]
            expires_at = clock() + timedelta(seconds=expires_after_s)
        return tokens.create(
            session, name=name, scopes=scopes or (Scope.READ,), expires_at=expires_at
        )


def authenticate(sessions: Sessions, presented: str) -> Token | None:
    with sessions.reading() as session:
        return tokens.authenticate(session, presented)


def test_a_token_opens_what_its_scopes_say(sessions: Sessions) -> None:
    token, presented = issue(sessions, Scope.SUBMIT, Scope.READ)
    assert authenticate(sessions, presented) == token
    assert token.scopes == {Scope.READ, Scope.SUBMIT}
    assert token.name == "ci"


def test_the_secret_is_long_and_nowhere_in_the_database(sessions: Sessions) -> None:
    token, presented = issue(sessions)
    prefix, _, secret = presented.partition(".")
    assert prefix == f"tps_{token.id}"
    assert len(secret) >= 43, "256 bits in base64"
    with sessions.engine.connect() as connection:
        stored = str(connection.execute(text("SELECT * FROM tokens")).all())
    assert secret not in stored
    assert token.id in stored


@pytest.mark.parametrize(
    "spoil",
    [
        lambda presented: presented[:-1],
        lambda presented: presented + "x",
        lambda presented: presented.removeprefix("tps_"),
        lambda presented: presented.replace(".", ""),
        lambda presented: "tps_0123456789abcdef." + presented.partition(".")[2],
        lambda presented: presented.partition(".")[0] + ".",
        lambda _: "",
        lambda _: "tps_",
        lambda _: "tps_.",
        lambda presented: presented + "\u00e9",
        lambda presented: presented + "\0",
        lambda presented: "tps_\0.x" + presented,
    ],
)
def test_anything_else_opens_nothing(sessions: Sessions, spoil: "object") -> None:
    _, presented = issue(sessions)
    assert callable(spoil)
    assert authenticate(sessions, spoil(presented)) is None


def test_a_token_ends_when_it_said(timed: Sessions, clock: FakeClock) -> None:
    _, presented = issue(timed, expires_after_s=60)
    clock.advance(59)
    assert authenticate(timed, presented) is not None
    clock.advance(1)
    assert authenticate(timed, presented) is None


def test_a_revoked_token_opens_nothing_and_stays_listed(timed: Sessions, clock: FakeClock) -> None:
    token, presented = issue(timed, name="first")
    clock.advance(1)
    issue(timed, name="second")
    with timed.writing() as session:
        revoked = tokens.revoke(session, token.id)
        assert revoked.revoked_at == clock.now
        clock.advance(5)
        assert tokens.revoke(session, token.id) == revoked
    assert authenticate(timed, presented) is None
    with timed.reading() as session:
        assert [t.name for t in tokens.list_all(session)] == ["first", "second"]


def test_use_is_noted_once_a_minute(timed: Sessions, clock: FakeClock) -> None:
    token, presented = issue(timed)
    assert not token.use_is_noted
    with timed.writing() as session:
        tokens.note_use(session, token.id)
    found = authenticate(timed, presented)
    assert found is not None
    assert (found.last_used_at, found.use_is_noted) == (clock.now, True)
    clock.advance(61)
    found = authenticate(timed, presented)
    assert found is not None
    assert not found.use_is_noted


def test_whether_any_token_is_valid(timed: Sessions, clock: FakeClock) -> None:
    def exist() -> bool:
        with timed.reading() as session:
            return tokens.exist(session)

    assert not exist()
    issue(timed, expires_after_s=10)
    assert exist()
    clock.advance(10)
    assert not exist()
    token, _ = issue(timed)
    with timed.writing() as session:
        tokens.revoke(session, token.id)
    assert not exist()


def test_an_unknown_token_is_not_found(sessions: Sessions) -> None:
    with sessions.writing() as session, pytest.raises(NotFoundError):
        tokens.revoke(session, "unknown")
