import json
import subprocess
import sys

import pytest
import typer.core

from service.cli.exits import ExitCode
from service.cli.lazy import COMMANDS, load
from tests.unit.cli.conftest import Run

HEAVY = (
    "alembic,fastapi,httpx2,importlib.metadata,numpy,psutil,pydantic,pydantic_settings,"
    "ray,scipy,sqlalchemy,structlog,torch,uvicorn"
)

SHOW_HELP = f"""
import json, sys
sys.argv = ["tpsweep", "--help"]
from service.cli.main import main
try:
    main()
except SystemExit:
    pass
heavy = [name for name in {HEAVY!r}.split(",") if name in sys.modules]
own = [name for name in sys.modules if name.startswith("service.cli.commands.")]
print("\\n" + json.dumps([heavy, own]))
"""


def test_help_imports_nothing_heavy_and_no_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP], check=True, capture_output=True, text=True
    )
    heavy, commands = json.loads(done.stdout.splitlines()[-1])
    assert heavy == []
    assert commands == []


def test_help_names_every_command_and_exit_code(run: Run) -> None:
    shown = run("--help")
    assert shown.code == ExitCode.OK
    assert [name for name in COMMANDS if f" {name} " not in shown.out] == []
    assert [code for code in ExitCode if code.meaning not in shown.out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_overview_says_what_the_command_says_of_itself(name: str) -> None:
    command = load(name)
    assert command.help.splitlines()[0] == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_print_json(name: str) -> None:
    command = load(name)
    leaves = (
        list(command.commands.values()) if isinstance(command, typer.core.TyperGroup) else [command]
    )
    without = [leaf.name for leaf in leaves if not any("--json" in p.opts for p in leaf.params)]
    assert without == []


def test_version_is_shown(run: Run) -> None:
    assert run("--version").out.startswith("tpsweep ")


def test_a_typo_is_a_usage_error_with_a_suggestion(run: Run) -> None:
    outcome = run("submi")
    assert outcome.code == ExitCode.USAGE
    assert "submit" in outcome.err
