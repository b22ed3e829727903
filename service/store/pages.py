"""Keyset pages: a cursor names the last row handed out and the filters it was handed out under."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from service.errors import InvalidCursorError

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)
Key = str | int
LARGEST_POSITION = (1 << 31) - 1
"""Of the columns that lists are sorted by; a database fails on a larger one."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item_co]):
    """Some rows of a list and where the next page begins; None at the end."""

    items: tuple[Item_co, ...]
    next_cursor: str | None


def cut(
    rows: Sequence[Item], *, limit: int, key: Callable[[Item], tuple[Key, ...]], filters: object
) -> Page[Item]:
    """Make a page of the first `limit` rows; a further one says that there is a next page."""
    shown = tuple(rows[:limit])
    if len(rows) <= limit:
        return Page(shown, None)
    return Page(shown, encode_cursor(key(shown[-1]), filters=filters))


def encode_cursor(key: tuple[Key, ...], *, filters: object) -> str:
    """Hide the key of the last row; `filters` is whatever decides which rows the list has."""
    body = json.dumps([_fingerprint(filters), *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()


def decode_cursor(cursor: str, *, filters: object, types: tuple[type[Key], ...]) -> tuple[Key, ...]:
    """Give the key back. InvalidCursorError for anything this list did not hand out."""
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        body = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidCursorError("the cursor cannot be read; begin without one") from None
    if (
        not isinstance(body, list)
        or [type(part) for part in body] != [str, *types]
        or not all(_may_be_a_key(part) for part in body)
    ):
        raise InvalidCursorError("the cursor cannot be read; begin without one")
    if body[0] != _fingerprint(filters):
        raise InvalidCursorError("the cursor belongs to other filters; begin without one")
    return tuple(body[1:])


def _may_be_a_key(part: Key) -> bool:
    """Whether a row can have it: ids and times are of printed ASCII, positions begin at 0."""
    if isinstance(part, int):
        return 0 <= part <= LARGEST_POSITION
    return part.isascii() and part.isprintable()


def _fingerprint(filters: object) -> str:
    return hashlib.sha256(repr(filters).encode()).hexdigest()[:12]
