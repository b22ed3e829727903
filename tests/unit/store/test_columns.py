from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import Dialect

from service.store.columns import AnyText, Document, PackedIntegers, UtcDateTime, choice
from tests.unit.analysis.trials import point
from workers.contract.point import PointSpec

DIALECTS: list[Dialect] = [SQLiteDialect_pysqlite(), PGDialect_psycopg()]  # type: ignore[no-untyped-call]
both = pytest.mark.parametrize("dialect", DIALECTS, ids=["sqlite", "postgresql"])
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64).map(tuple))
def test_packed_integers_come_back_exactly(numbers: tuple[int, ...]) -> None:
    column = PackedIntegers()
    packed = column.process_bind_param(numbers, DIALECTS[0])
    assert column.process_result_value(packed, DIALECTS[0]) == numbers


def test_packed_step_times_take_little_room() -> None:
    steps = tuple(1_000_000 + (n * 7919) % 5000 for n in range(10_000))
    packed = PackedIntegers().process_bind_param(steps, DIALECTS[0])
    assert packed is not None
    assert len(packed) < 3 * len(steps)


def test_integers_packed_in_an_unknown_way_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown format"):
        PackedIntegers().process_result_value(b"\x02abc", DIALECTS[0])


def test_numbers_of_more_than_64_bits_are_refused() -> None:
    with pytest.raises(OverflowError):
        PackedIntegers().process_bind_param((2**63,), DIALECTS[0])


@both
def test_a_time_without_a_zone_is_refused(dialect: Dialect) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        UtcDateTime().process_bind_param(datetime(2026, 1, 1), dialect)  # noqa: DTZ001 - refused


@both
def test_times_are_kept_in_utc_whatever_their_zone(dialect: Dialect) -> None:
    column = UtcDateTime()
    summer = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    stored = column.process_bind_param(summer, dialect)
    assert stored is not None
    assert (stored.hour, stored.tzinfo) == (10, None if dialect.name == "sqlite" else UTC)
    assert column.process_result_value(stored, dialect) == summer


@both
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused_at_any_depth(dialect: Dialect, number: float) -> None:
    column = Document(dict[str, JsonValue])
    values: list[dict[str, JsonValue]] = [{"a": number}, {"a": [{"b": number}]}]
    for value in values:
        with pytest.raises(ValueError, match="JSON compliant"):
            column.process_bind_param(value, dialect)


@both
def test_a_document_comes_back_as_its_type(dialect: Dialect) -> None:
    column = Document(PointSpec)
    stored = column.process_bind_param(point(), dialect)
    assert isinstance(stored, str)
    assert column.result_processor(dialect, None)(stored) == point()


def test_text_that_cannot_be_stored_is_replaced() -> None:
    told = AnyText().process_bind_param("a\0b \ud800 \u20ac", DIALECTS[0])
    assert told == "a\ufffdb ? \u20ac"


@both
def test_nothing_stays_nothing(dialect: Dialect) -> None:
    time, document, packed = UtcDateTime(), Document(PointSpec), PackedIntegers()
    assert time.process_bind_param(None, dialect) is None
    assert time.process_result_value(None, dialect) is None
    assert document.process_bind_param(None, dialect) is None
    assert document.result_processor(dialect, None)(None) is None
    assert packed.process_bind_param(None, dialect) is None
    assert packed.process_result_value(None, dialect) is None
    assert AnyText().process_bind_param(None, dialect) is None


def test_a_choice_lists_values_not_names() -> None:
    class Colour(StrEnum):
        RED = "red"

    assert choice(Colour, name="colour").enums == ["red"]
