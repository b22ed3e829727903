import json
from pathlib import Path

import pytest

from service.cli.exits import ExitCode
from tests.unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    monkeypatch.setenv("TPSWEEP_HOME", str(path))
    return path


def test_upgrade_makes_the_schema_once(run: Run, home: Path) -> None:
    first = json.loads(run("db", "upgrade", "--json").out)
    assert first["before"] is None
    assert "already" in run("db", "upgrade").out
    assert home.stat().st_mode & 0o077 == 0


def test_tokens_need_the_schema_and_say_how_to_get_it(run: Run) -> None:
    outcome = run("token", "create", "alice")
    assert outcome.code == ExitCode.CANNOT_START
    assert "tpsweep db upgrade" in outcome.err


def test_token_is_printed_alone_and_once(run: Run) -> None:
    run("db", "upgrade")
    created = run("token", "create", "alice", "--days", "1")
    assert created.code == ExitCode.OK
    secret = created.out.strip()
    assert secret.startswith("tps_")
    assert "not shown again" in created.err
    listed = run("token", "list")
    assert "alice" in listed.out
    assert secret.rpartition(".")[2] not in listed.out


def test_revoked_token_is_listed_as_such(run: Run) -> None:
    run("db", "upgrade")
    token = json.loads(run("token", "create", "alice", "--scope", "admin", "--json").out)
    assert run("token", "revoke", token["id"]).code == ExitCode.OK
    (listed,) = json.loads(run("token", "list", "--json").out)
    assert listed["state"] == "revoked"
    assert listed["scopes"] == ["admin"]


def test_unknown_token_is_refused(run: Run) -> None:
    run("db", "upgrade")
    outcome = run("token", "revoke", "nobody")
    assert outcome.code == ExitCode.REFUSED
    assert "no token 'nobody'" in outcome.err


def test_a_database_that_does_not_answer_is_named_without_its_password(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/x?connect_timeout=1"
    monkeypatch.setenv("TPSWEEP_DATABASE_URL", url)
    outcome = run("db", "upgrade")
    assert outcome.code == ExitCode.CANNOT_START
    assert "127.0.0.1:1" in outcome.err
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize(
    "url",
    [
        "/var/lib/tp.sqlite3",
        "mysql://me:hunter2@db/x",
        "postgresql+asyncpg://me:hunter2@db/x",
        "postgresql://me:hunter2@db:port/x",
        "postgresql:me:hunter2",
    ],
)
def test_a_url_of_no_database_that_is_known_is_told_what_would_do(
    url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPSWEEP_DATABASE_URL", url)
    for command in (("db", "upgrade"), ("token", "list"), ("up", "--port", "0"), ("dispatch",)):
        outcome = run(*command)
        assert outcome.code == ExitCode.CANNOT_START, command
        assert "sqlite:///PATH" in outcome.err
        assert "postgresql://USER" in outcome.err


def test_a_home_that_cannot_be_made_is_named(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_text("a file")
    monkeypatch.setenv("TPSWEEP_HOME", str(home / "below"))
    outcome = run("db", "upgrade")
    assert outcome.code == ExitCode.CANNOT_START
    assert f"TPSWEEP_HOME={home / 'below'}" in outcome.err
