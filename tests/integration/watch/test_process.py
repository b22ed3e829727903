"""The watch as the process that it is: nights come in, and a signed message says what they show."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from service.store import webhooks
from service.store.engine import Sessions, create_engine
from service.store.states import Announcement, WebhookKind
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.integration.watch.telling import is_signed, told
from tests.unit.cli.fake_server import Reply, serving
from tests.waiting import wait_until

PATIENCE_S = 50


@contextmanager
def watching(home: Path, database: str) -> Iterator[None]:
    """Run the watch; it ends cleanly when it is told to."""
    settings = {
        "TPSWEEP_HOME": str(home),
        "TPSWEEP_DATABASE_URL": database,
        "TPSWEEP_WEBHOOK_NETWORKS": "127.0.0.0/8",
    }
    process = subprocess.Popen([sys.executable, "-m", "service.watch"], env=os.environ | settings)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


def test_a_slow_down_is_found_told_and_seen_to_end(sqlite_url: str, tmp_path: Path) -> None:
    engine = create_engine(sqlite_url)
    clock = FakeClock(datetime.now(UTC) - timedelta(days=40))
    nights = Nights(Sessions(engine, clock=clock), clock)
    rng = np.random.default_rng(3)

    def measure(count: int, *, slower: float) -> None:
        for _ in range(count):
            step_us = 100 * slower * (1 + 0.005 * rng.standard_normal())
            nights.measure({"a": OfNode((step_us,), 50.0)})

    measure(20, slower=1)
    nights.schedule()
    with serving() as receiver, watching(tmp_path, sqlite_url):
        receiver.on("POST /hooks/s3cr3t", Reply({}))
        with nights.sessions.writing() as session:
            webhook = webhooks.create(
                session,
                "ops",
                kind=WebhookKind.WEBHOOK,
                target=f"{receiver.url}/hooks/s3cr3t",
                events=(Announcement.CONFIRMED, Announcement.RECOVERED),
                policy="nightly",
                created_by="alice",
            )
        measure(7, slower=1.06)
        wait_until(lambda: told(receiver) == ["finding.confirmed"], within_s=PATIENCE_S)
        measure(8, slower=1)
        wait_until(lambda: len(told(receiver)) == 2, within_s=PATIENCE_S)
    assert told(receiver) == ["finding.confirmed", "finding.recovered"]
    assert webhook.secret is not None
    assert all(is_signed(got, webhook.secret) for got in receiver.received)
    engine.dispose()


def test_a_database_that_is_not_migrated_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "service.watch"],
        env=os.environ | {"TPSWEEP_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "tpsweep db upgrade" in done.stderr) == (78, True)
