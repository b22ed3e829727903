"""`python -m service.watch`: judges what schedules have measured and tells, until SIGTERM."""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from sqlalchemy.exc import SQLAlchemyError

from service.settings import Settings
from service.store import schema
from service.store.commits import CommitWatch
from service.store.engine import Sessions, create_engine
from service.telemetry import configure_logging, get_logger
from service.watch.holder import Holder
from service.watch.judge import Judge
from service.watch.sender import Sender

CANNOT_START = 78
"""EX_CONFIG: starting again changes nothing until somebody changes the configuration."""
EXIT_TRY_AGAIN = 75
"""EX_TEMPFAIL: whoever started this process should start it again."""

LOOK_EVERY_S = 0.5
LOOK_ANYWAY_S = 5.0
"""Also without a commit: what is due by the clock alone."""

log = get_logger(__name__)


def main() -> int:
    """Check, then look after every commit."""
    settings = Settings()
    configure_logging(settings)
    engine = create_engine(settings.database)
    try:
        if not schema.is_current(engine):
            reason = f"{settings.database_shown} is not migrated; run: tpsweep db upgrade"
            print(f"the watch does not start: {reason}", file=sys.stderr)  # noqa: T201 - for people
            return CANNOT_START
    except SQLAlchemyError as error:
        log.exception("database_unavailable", error=str(getattr(error, "orig", error)))
        return EXIT_TRY_AGAIN
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    _watch(settings, Sessions(engine), stopping)
    return 0


def _watch(settings: Settings, sessions: Sessions, stopping: threading.Event) -> None:
    """Judge in one thread and send in another: a place that answers slowly holds up no night."""
    sender = Sender(sessions, settings)
    sending = threading.Thread(
        target=_look_again_and_again, args=(sender.look, sessions, stopping), daemon=True
    )
    sending.start()
    judge, holder = Judge(sessions), Holder(sessions)
    _look_again_and_again(lambda: judge.look() + holder.look(), sessions, stopping)


def _look_again_and_again(
    look: Callable[[], int], sessions: Sessions, stopping: threading.Event
) -> None:
    commits, num_idle = CommitWatch(sessions.engine), 0
    while not stopping.wait(LOOK_EVERY_S):
        num_idle += 1
        if commits.has_moved() or num_idle * LOOK_EVERY_S >= LOOK_ANYWAY_S:
            num_idle = 0
            look()
    commits.close()


if __name__ == "__main__":
    sys.exit(main())
