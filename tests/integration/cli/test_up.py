import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from service.cli.commands.up import listening
from service.cli.exits import ExitCode
from service.cli.failures import CannotStartError
from service.settings import Settings
from tests.environment import without_settings

ENDS_WITHIN_S = 50


def up(home: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`tpsweep up --json` to its end."""
    inherited = without_settings()
    return subprocess.run(
        [sys.executable, "-c", "from service.cli.main import main; main()", "up", "--json"],
        env={**inherited, "TPSWEEP_HOME": str(home), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )


def test_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = up(tmp_path / "home", TPSWEEP_PORT=str(port))
    assert ended.returncode == ExitCode.CANNOT_START
    assert f"127.0.0.1:{port} cannot be listened on" in ended.stderr
    assert ended.stdout == ""


def test_listening_to_the_world_without_a_token_stops_everything(tmp_path: Path) -> None:
    ended = up(tmp_path / "home", TPSWEEP_HOST="0.0.0.0", TPSWEEP_PORT="0")  # noqa: S104 - refused
    assert ended.returncode == ExitCode.CANNOT_START
    assert "the api cannot work as things are" in ended.stderr
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert any("tpsweep token create" in one["message"] for one in said)
    assert said[-1] == {"source": "tpsweep", "message": "stopped"}


def test_shared_database_is_not_migrated_behind_its_users_back(
    tmp_path: Path, empty_postgresql_url: str
) -> None:
    ended = up(tmp_path / "home", TPSWEEP_DATABASE_URL=empty_postgresql_url, TPSWEEP_PORT="0")
    assert ended.returncode == ExitCode.CANNOT_START
    assert "tpsweep db upgrade" in ended.stderr


def test_port_zero_is_a_free_one_and_clients_are_told() -> None:
    chosen = listening(Settings(port=0, url="http://elsewhere"), host=None, port=None)
    assert chosen.port > 0
    assert chosen.client_url == f"http://127.0.0.1:{chosen.port}"


def test_command_line_goes_before_the_settings() -> None:
    chosen = listening(Settings(port=1), host="::1", port=0)
    assert chosen.client_url == f"http://[::1]:{chosen.port}"


def test_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(CannotStartError, match="not an address of this machine"):
        listening(Settings(host="192.0.2.1"), host=None, port=None)
