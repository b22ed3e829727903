"""A service of a test's own: home, port and environment apart from everybody else's."""

from pathlib import Path

import psutil

from tests.environment import without_settings
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".venv" / "bin"


def isolated_environment(home: Path) -> dict[str, str]:
    """Environment of a command that shares nothing with another run."""
    kept = without_settings()
    return {
        **kept,
        "PATH": f"{BIN}:{kept['PATH']}",
        "TPSWEEP_HOME": str(home),
        "TPSWEEP_PORT": str(free_port()),
        "COLUMNS": "160",
    }


def processes_of(home: Path) -> list[str]:
    """Command lines of all processes that were given this home."""
    mark = f"TPSWEEP_HOME={home}".encode()
    found = []
    for process in psutil.process_iter(["pid"]):
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            if mark in environment.split(b"\0"):
                found.append(" ".join(process.cmdline()))
        except (OSError, psutil.Error):
            continue
    return found
