import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from service.cli.main import main
from tests.unit.cli.fake_server import FakeServer, serving


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A server that the commands talk to."""
    with serving() as server:
        monkeypatch.setenv("TPSWEEP_URL", server.url)
        yield server


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, to its exit code and output."""
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tpsweep", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return invoke
