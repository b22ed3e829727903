"""Logs: events as one line each, JSON or for people, with secrets struck out whoever wrote them."""

import logging
import re
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from service.settings import Settings

STRUCK_OUT = "***"

_SECRET_KEYS = frozenset(
    {"authorization", "cookie", "password", "secret", "set-cookie", "token", "x-api-key"}
)
_SECRET_TEXTS = (
    (re.compile(r"\btps_[A-Za-z0-9._-]+"), STRUCK_OUT),
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=]+"), STRUCK_OUT),
    (re.compile(r"(?i)\b(bearer\s+)[^\s\"',}]+"), rf"\g<1>{STRUCK_OUT}"),
    (re.compile(r"(\w://[^\s:/@]*:)\S+@"), rf"\g<1>{STRUCK_OUT}@"),
    (re.compile(r"(?i)\b(password=)[^\s&\"']+"), rf"\g<1>{STRUCK_OUT}"),
)
_TALKATIVE = ("alembic", "httpx2", "httpcore2")
"""Libraries whose information is about their own steps."""
_SEVERAL_LINES = frozenset({"exception", "stack"})
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160))}
_CONTROLS_IN_LINES = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\n\t"}


def configure_logging(settings: Settings, *, stream: TextIO | None = None) -> None:
    """Send what this process and its libraries log to `stream` (standard error)."""
    target = stream or sys.stderr
    as_json = settings.log_format == "json" or (
        settings.log_format == "auto" and not target.isatty()
    )
    before = _common_processors()
    structlog.configure(
        processors=[*before, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                make_harmless,
                _renderer(as_json=as_json, colors=target.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger for events: `log.info("lease_expired", trial_id=…)`."""
    return structlog.stdlib.get_logger(name)


def make_harmless(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Strike out secrets, and spell control characters out: they forge lines and colours."""
    del logger, method
    for key, value in event.items():
        if key.lower() in _SECRET_KEYS:
            event[key] = STRUCK_OUT
        elif not isinstance(value, bool | int | float | type(None)):
            text = redacted(value if isinstance(value, str) else repr(value))
            controls = _CONTROLS_IN_LINES if key in _SEVERAL_LINES else _CONTROLS
            event[key] = text.translate(controls)
    return event


def redacted(text: str) -> str:
    """Return the text without tokens and passwords."""
    for pattern, replacement in _SECRET_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def _common_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _renderer(*, as_json: bool, colors: bool) -> Processor:
    if as_json:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(
        colors=colors, exception_formatter=structlog.dev.plain_traceback
    )
