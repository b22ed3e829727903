import sys

from service.cli.supervise.child import ChildSpec
from service.settings import Settings

API, DISPATCHER, WATCH = "api", "dispatcher", "watch"
WATCH_NICENESS = 10
"""What is measured on this machine, and what starts beside it, goes first."""


def api(settings: Settings) -> ChildSpec:
    """The HTTP server, at the address the settings say."""
    where = {"TPSWEEP_HOST": settings.host, "TPSWEEP_PORT": str(settings.port)}
    return ChildSpec(
        name=API, arguments=("-m", "service.api"), environment={**where, **_logging(settings)}
    )


def dispatcher(settings: Settings) -> ChildSpec:
    """The process that leases trials and measures them through Ray."""
    return ChildSpec(
        name=DISPATCHER, arguments=("-m", "service.dispatch"), environment=_logging(settings)
    )


def watch(settings: Settings) -> ChildSpec:
    """The process that judges what schedules have measured, and tells of it."""
    return ChildSpec(
        name=WATCH,
        arguments=("-m", "service.watch"),
        environment=_logging(settings),
        niceness=WATCH_NICENESS,
    )


def _logging(settings: Settings) -> dict[str, str]:
    """Children write into a pipe; what they would see as a terminal is ours."""
    is_for_people = settings.log_format == "auto" and sys.stdout.isatty()
    return {"TPSWEEP_LOG_FORMAT": "console"} if is_for_people else {}
