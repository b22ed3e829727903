from pathlib import Path
from typing import cast

import pytest
from pydantic import SecretStr

from service.cli.exits import ExitCode
from service.cli.lazy import COMMANDS
from service.settings import Settings

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def row_of(variable: str) -> list[str]:
    """Cells of a variable's row in the configuration table."""
    rows = [line for line in README.splitlines() if line.startswith(f"| `{variable}` |")]
    assert len(rows) == 1, f"the configuration table has {len(rows)} rows for {variable}"
    return [cell.strip() for cell in rows[0].strip("|").split("|")]


@pytest.mark.parametrize("field", Settings.model_fields)
def test_every_setting_is_documented_with_its_default(field: str) -> None:
    _, shown, meaning = row_of(f"TPSWEEP_{field.upper()}")
    default = cast("object", Settings.model_fields[field].default)
    said = default.get_secret_value() if isinstance(default, SecretStr) else default
    if said not in ("", None, ()):
        assert shown == f"`{said}`"
    assert meaning


def test_no_setting_is_documented_that_does_not_exist() -> None:
    documented = {
        line.split("`")[1] for line in README.splitlines() if line.startswith("| `TPSWEEP_")
    }
    assert documented == {f"TPSWEEP_{field.upper()}" for field in Settings.model_fields}


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_documented(code: ExitCode) -> None:
    assert f"| {code.value} | {code.meaning} |" in README


def test_commands_that_the_readme_uses_exist() -> None:
    used = {
        words[1]
        for line in README.splitlines()
        if (words := line.split())[:1] == ["tpsweep"] and len(words) > 1
    }
    assert used
    assert used - COMMANDS.keys() == set()
