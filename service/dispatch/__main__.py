"""`python -m service.dispatch`: one dispatcher, until SIGTERM."""

import gc
import os
import secrets
import signal
import sys
from types import FrameType

from ray.exceptions import RayError
from sqlalchemy.exc import SQLAlchemyError

from service.dispatch.cluster import Cluster, provide_token
from service.dispatch.environment import LOCAL, MARK, ray_environment
from service.dispatch.executor import ExecutorOptions, RayExecutor, timings_for
from service.dispatch.loop import EXIT_TRY_AGAIN, Dispatcher
from service.settings import Settings
from service.store import schema
from service.store.engine import Sessions, create_engine
from service.telemetry import configure_logging, get_logger

CANNOT_START = 78
"""EX_CONFIG: starting again changes nothing until somebody changes the configuration."""

EXIT_FAILED = 70
"""EX_SOFTWARE: an error of ours."""

LONGEST_HOLD_S = 0.0005
"""Of the interpreter by the forecaster's thread, while the loop has a result to hand on."""

log = get_logger(__name__)


def main() -> int:
    """Check, connect to Ray, work."""
    settings = Settings()
    mark = os.environ.get(MARK)
    if mark is None:
        _start_over_with_ray_environment(settings)
        return CANNOT_START
    configure_logging(settings)
    engine = create_engine(settings.database)
    try:
        if not schema.is_current(engine):
            reason = f"{settings.database_shown} is not migrated; run: tpsweep db upgrade"
            print(f"tpsweep dispatch does not start: {reason}", file=sys.stderr)  # noqa: T201 - for people
            return CANNOT_START
    except SQLAlchemyError as error:
        log.exception("database_unavailable", error=str(getattr(error, "orig", error)))
        return EXIT_TRY_AGAIN
    return _work(settings, Sessions(engine), mark=mark)


def _work(settings: Settings, sessions: Sessions, *, mark: str) -> int:
    cluster = Cluster(settings, mark=mark)
    try:
        options = ExecutorOptions(
            home=settings.home,
            cpu_devices=settings.cpu_devices,
            timings=timings_for(settings.lease_ttl_s),
            nodes_per_group=settings.nodes_per_group,
            link=settings.link,
        )
        dispatcher = Dispatcher(settings, sessions=sessions, executor=RayExecutor(options))
        _stop_on_signals(dispatcher)
        sys.setswitchinterval(LONGEST_HOLD_S)
        gc.freeze()  # what the imports left would make a full collection hold trials up for 0.1 s
        return dispatcher.run()
    except RayError:
        log.exception("cluster_lost")
        return EXIT_TRY_AGAIN
    except Exception:
        log.exception("dispatcher_failed")
        return EXIT_FAILED
    finally:
        cluster.stop()


def _stop_on_signals(dispatcher: Dispatcher) -> None:
    """Ray installs handlers of its own when it connects; ours come after."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        dispatcher.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _start_over_with_ray_environment(settings: Settings) -> None:
    """Replace this process by itself: Ray reads its settings when its library is loaded."""
    if settings.ray_address == LOCAL:
        provide_token(settings)
    environment = ray_environment(os.environ, settings, mark=secrets.token_hex(16))
    arguments = [sys.executable, "-m", "service.dispatch", *sys.argv[1:]]
    os.execve(sys.executable, arguments, environment)  # noqa: S606 - ourselves


if __name__ == "__main__":
    sys.exit(main())
