"""A service of real processes for the tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.processes import command_lines
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
        words
        for pid, words in command_lines(psutil.process_iter()).items()
        if pid not in before and str(home) in " ".join(words)
    ]
    assert ours == [], "a stopped service leaves no process"
