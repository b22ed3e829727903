"""Ids that sort by the time they were made: UUID version 7 as text (RFC 9562)."""

import secrets
import time
from uuid import UUID

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM_BITS = 74


def new_id() -> str:
    """Make one id."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """Make several, ascending."""
    milliseconds = time.time_ns() // 1_000_000
    first = secrets.randbits(_RANDOM_BITS - 1)
    return [_uuid7(milliseconds, first + step) for step in range(count)]


def _uuid7(milliseconds: int, rest: int) -> str:
    high, low = rest >> 62, rest & ((1 << 62) - 1)
    return str(UUID(int=milliseconds << 80 | _VERSION | high << 64 | _VARIANT | low))
