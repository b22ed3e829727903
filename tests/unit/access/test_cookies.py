"""Sessions of browsers hold what was signed, and nothing else."""

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from service.access.cookies import KEY_FILE, BrowserSession, Cookies, key_of
from service.settings import Settings

SESSION = BrowserSession.begin("0123456789abcdef")


def test_a_cookie_says_what_was_signed() -> None:
    assert Cookies("key").read(Cookies("key").sign(SESSION)) == SESSION


@pytest.mark.parametrize(
    "cookie",
    [None, "", "x", "x.y.z", Cookies("other").sign(SESSION)],
    ids=["none", "empty", "a word", "three parts", "signed with another key"],
)
def test_what_we_did_not_sign_is_no_session(cookie: str | None) -> None:
    assert Cookies("key").read(cookie) is None


def test_an_old_cookie_is_no_session() -> None:
    assert Cookies("key", lasts_s=-1).read(Cookies("key").sign(SESSION)) is None


def test_a_form_token_belongs_to_one_session_and_one_key() -> None:
    cookies = Cookies("key")
    own = cookies.form_token(SESSION)
    assert cookies.is_form_token(SESSION, own)
    assert not cookies.is_form_token(BrowserSession.begin(SESSION.token_id), own)
    assert not Cookies("other").is_form_token(SESSION, own)
    assert not cookies.is_form_token(SESSION, "é")


def test_the_key_is_made_once_and_is_for_the_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    first = key_of(settings)
    assert key_of(settings) == first
    assert stat.S_IMODE((tmp_path / "home" / KEY_FILE).stat().st_mode) == 0o600
    assert [one.name for one in (tmp_path / "home").iterdir()] == [KEY_FILE]


def test_a_home_that_cannot_be_written_costs_only_that_sessions_end(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings(home=tmp_path / "file")
    assert key_of(settings) != key_of(settings)


def test_a_given_key_is_taken() -> None:
    assert key_of(Settings(session_key=SecretStr("given"))) == "given"
