"""Starts a Ray of our own, or joins one; and leaves nothing of it behind."""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import ray

from service.dispatch import environment
from service.settings import Settings
from service.telemetry import get_logger

OBJECT_STORE_BYTES = 80_000_000
"""Results are small; Ray's floor is 75 MiB."""
SWEPT_WITHIN_S = 10.0

log = get_logger(__name__)


class Cluster:
    """The connection of this process to Ray. One in a process, and `stop` ends it."""

    def __init__(self, settings: Settings, *, mark: str) -> None:
        """Connect. `mark` stands in the environment of every process that our own Ray starts."""
        self._sweeper: subprocess.Popen[bytes] | None = None
        if settings.ray_address == environment.LOCAL:
            # In /tmp and short: the paths of Ray's sockets have 107 characters at most.
            directory = Path(tempfile.mkdtemp(prefix="tpsweep-ray-", dir="/tmp"))
            self._sweeper = start_sweeper(mark=mark, directory=directory)
            _start_ray(directory)
        else:
            ray.init(
                address=settings.ray_address,
                log_to_driver=False,
                configure_logging=False,
                include_dashboard=None,
            )
        log.info("ray_connected", address=settings.ray_address)

    def stop(self) -> None:
        """Disconnect; of our own Ray no process and no file is left."""
        with contextlib.suppress(Exception):  # it may be dead; the sweeper sees to the rest
            ray.shutdown()
        if self._sweeper is None:
            return
        if self._sweeper.stdin is not None:
            self._sweeper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._sweeper.wait(timeout=SWEPT_WITHIN_S)


def _start_ray(directory: Path) -> None:
    ray.init(
        address=environment.LOCAL,
        num_cpus=os.cpu_count(),
        object_store_memory=OBJECT_STORE_BYTES,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=str(directory),
    )


def start_sweeper(*, mark: str, directory: Path) -> "subprocess.Popen[bytes]":
    """Start the process that outlives us by a moment: it sees our end as the end of its input."""
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "service.dispatch.sweeper", mark, str(directory)],
        stdin=subprocess.PIPE,
        env={key: value for key, value in os.environ.items() if key != environment.MARK},
        start_new_session=True,
    )


def provide_token(settings: Settings) -> None:
    """Write the token of our own Ray once, readable by its owner alone."""
    path = Path(environment.token_path(settings))
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_hex(32))
    draft.chmod(0o400)
    draft.rename(path)
