import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from service.settings import Settings
from service.telemetry import configure_logging, get_logger, redacted

SECRETS = ("tps_0199abcd.verySecret-_42", "hunter2", "eyJhbGciOi")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure_logging(Settings(log_format="json", log_level="info"), stream=stream)
    yield stream
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def test_an_event_is_one_json_line_with_its_fields(written: io.StringIO) -> None:
    get_logger("service.x").info("lease_expired", trial_id="t1", attempt=2)
    line = json.loads(written.getvalue())
    assert (line["event"], line["trial_id"], line["attempt"]) == ("lease_expired", "t1", 2)
    assert (line["level"], line["logger"]) == ("info", "service.x")


def test_a_forged_line_stays_inside_its_field(written: io.StringIO) -> None:
    get_logger("x").info("node_seen", name='a\n{"event": "forged"}')
    assert len(written.getvalue().splitlines()) == 1


def test_control_characters_never_reach_a_terminal() -> None:
    stream = io.StringIO()
    configure_logging(Settings(log_format="console"), stream=stream)
    logging.getLogger("library").error("evil \x1b[31m\r\nnext line")
    get_logger("x").error("node_seen", name="evil \x1b[31m\r\nnext line")
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 2
    structlog.reset_defaults()


def test_no_secret_is_written_whoever_logs_it(written: io.StringIO) -> None:
    log = get_logger("x")
    log.info("asked", authorization="Bearer eyJhbGciOi", token=SECRETS[0])
    log.info("asked", headers={"Authorization": "Bearer eyJhbGciOi"}, note=f"with {SECRETS[0]}")
    log.info("opened", url="postgresql://me:hunter2@db.example/x")
    logging.getLogger("library").warning("failed for %s", SECRETS[0])
    try:
        int(f"cannot reach postgresql://me:hunter2@db/x with {SECRETS[0]}")
    except ValueError:
        log.exception("failed")
    assert not any(secret in written.getvalue() for secret in SECRETS)
    assert len(written.getvalue().splitlines()) == 5


def test_what_is_no_secret_stays() -> None:
    text = "postgresql://db.example/x sqlite:////home/me/tpsweep.sqlite3 at 12:30 <a@b.example>"
    assert redacted(text) == text
