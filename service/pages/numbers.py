"""Whole numbers as people write several of them in one field."""

import re
from typing import Final

from service.errors import FieldError, InvalidRequestError

LONGEST: Final = 18
"""Digits: what fits 64 bits."""
_APART: Final = re.compile(r"[,\s]+")


def words(text: str) -> list[str]:
    """Its parts, between which stand spaces or commas."""
    return list(filter(None, _APART.split(text)))


def whole_numbers(
    name: str, text: str, *, most: int = 1000, largest: int = 10**LONGEST
) -> tuple[int, ...]:
    """At least one. InvalidRequestError names the field and what stands in it."""
    parts = words(text)
    are_numbers = all(
        part.isascii() and part.isdigit() and len(part) <= LONGEST and 1 <= int(part) <= largest
        for part in parts
    )
    if not parts or not are_numbers or len(parts) > most:
        detail = f"write whole numbers from 1 to {largest} with spaces between them, "
        detail += f"at most {most}; got {len(parts)}, {text[:80]!r}"
        raise InvalidRequestError(f"{name}: {detail}", errors=(FieldError(name, detail),))
    return tuple(map(int, parts))
