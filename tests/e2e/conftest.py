"""A service of real processes for the tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.service_process import Client, running_service


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    before = {process.pid for process in psutil.process_iter()}
    with running_service(home) as client:
        yield client
    ours = [
        process.cmdline()
        for process in psutil.process_iter()
        if process.pid not in before and str(home) in " ".join(_words(process))
    ]
    assert ours == [], "a stopped service leaves no process"


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
