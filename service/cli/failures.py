"""What can be expected to go wrong on the client's side; `main` prints it without a traceback.

CliError
├── UsageError            wrong input or setting, before anything is sent
├── UnreachableError      nobody answers at the address
├── RefusedError          4xx, with the server's problem document
├── ServerFailedError     5xx, or an answer that cannot be understood
│   └── UnavailableError  503: it will work again by itself
└── CannotStartError      the service or its database cannot be used as it is
"""

from typing import ClassVar

from service.cli.exits import ExitCode


class CliError(Exception):
    """Root of the expected failures; never raised itself. Each line is printed on its own."""

    exit_code: ClassVar[ExitCode]

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


class UsageError(CliError):
    """Example: a sweep file that is not JSON."""

    exit_code = ExitCode.USAGE


class UnreachableError(CliError):
    """Example: `tpsweep up` does not run."""

    exit_code = ExitCode.UNREACHABLE


class RefusedError(CliError):
    """Example: an axis with an unknown value."""

    exit_code = ExitCode.REFUSED

    def __init__(self, *lines: str, code: str = "") -> None:
        super().__init__(*lines)
        self.code = code
        """The problem's own, which stays the same from version to version."""


class ServerFailedError(CliError):
    """Example: the server meets what nobody expected."""

    exit_code = ExitCode.SERVER_FAILED


class UnavailableError(ServerFailedError):
    """Example: the server's database is started again."""

    def __init__(self, *lines: str, retry_after_s: float = 0.0) -> None:
        super().__init__(*lines)
        self.retry_after_s = retry_after_s
        """0 where the server does not say."""


class CannotStartError(CliError):
    """Example: the API's port is taken."""

    exit_code = ExitCode.CANNOT_START


AWAY = (UnreachableError, UnavailableError)
"""What is waited out by who has something to wait for."""
