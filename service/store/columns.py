"""How values are stored: times in UTC, enums with a CHECK, documents as JSON, integers packed."""

import json
import sys
import zlib
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import JSON, DateTime, Dialect, Enum, LargeBinary, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine

Held = TypeVar("Held")
NUM_KEPT = 64
"""Documents of a column that are read once: replicates repeat the environment, hosts the hardware.
Nobody changes what was read."""
_PACKED = b"\x01"
"""Format of packed integers: zlib over 64-bit little-endian."""


class UtcDateTime(TypeDecorator[datetime]):
    """An instant. A time without a zone is refused; what comes back is in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the driver."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the driver."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Document(TypeDecorator[Held]):
    """A typed value kept as JSON (jsonb on PostgreSQL). NaN and infinities are refused.

    Text goes in and out: the engine leaves JSON as it is, and pydantic reads it only once.
    """

    impl = JSON(none_as_null=True)
    cache_ok = True

    def __init__(self, held: type[Held] | TypeAdapter[Held], *, num_kept: int = NUM_KEPT) -> None:
        """An adapter is for what is not one class.

        So many documents are kept, and read once; none where no two are alike.
        """
        super().__init__()
        self.held = held
        self._adapter = held if isinstance(held, TypeAdapter) else TypeAdapter(held)
        self._read = lru_cache(num_kept)(partial(self._adapter.validate_json, strict=False))

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[JsonValue]:
        """Choose jsonb where there is one."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(JSONB(none_as_null=True))
        return dialect.type_descriptor(JSON(none_as_null=True))

    def process_bind_param(self, value: Held | None, _dialect: Dialect) -> str | None:
        """To the driver."""
        if value is None:
            return None
        return json.dumps(self._adapter.dump_python(value, mode="json"), allow_nan=False)

    def result_processor(
        self, _dialect: Dialect, _coltype: object
    ) -> Callable[[str | bytes | None], Held | None]:
        """From the driver, by one call: thousands of documents are read for one page."""
        read = self._read
        return lambda value: None if value is None else read(value)


class AnyText(TypeDecorator[str]):
    """Text from logs and errors: NUL and half characters, which cannot be stored, are replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """To the driver."""
        if value is None:
            return None
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()


class PackedIntegers(TypeDecorator[tuple[int, ...]]):
    """A tuple of 64-bit integers, compressed; exactly the same tuple comes back."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: tuple[int, ...] | None, _dialect: Dialect) -> bytes | None:
        """To the driver."""
        if value is None:
            return None
        return _PACKED + zlib.compress(_little_endian(array("q", value)).tobytes())

    def process_result_value(
        self, value: bytes | None, _dialect: Dialect
    ) -> tuple[int, ...] | None:
        """From the driver."""
        if value is None:
            return None
        if value[:1] != _PACKED:
            raise ValueError(f"unknown format {value[:1]!r} of packed integers")
        numbers = array("q")
        numbers.frombytes(zlib.decompress(value[1:]))
        return tuple(_little_endian(numbers))


def choice(values: type[StrEnum], *, name: str) -> Enum:
    """Text with a CHECK that lists the enum's values; `name` becomes part of the constraint's."""
    return Enum(
        values,
        name=name,
        native_enum=False,
        create_constraint=True,
        length=20,
        values_callable=lambda enum: [member.value for member in enum],
    )


def _little_endian(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
