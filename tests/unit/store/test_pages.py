import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidCursorError
from service.store.pages import decode_cursor, encode_cursor

KEYS = st.tuples(
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"])), st.integers(0, 2**31 - 1)
)


@given(KEYS)
def test_a_cursor_gives_back_its_key(key: tuple[str, int]) -> None:
    cursor = encode_cursor(key, filters="f")
    assert decode_cursor(cursor, filters="f", types=(str, int)) == key
    assert cursor.isascii()
    assert not set(cursor) & set("+/=&? ")


@given(st.text(max_size=60))
def test_any_other_text_is_refused_with_a_clear_error(cursor: str) -> None:
    with pytest.raises(InvalidCursorError, match="begin without one"):
        decode_cursor(cursor, filters="f", types=(str,))


def test_a_cursor_is_bound_to_its_filters() -> None:
    cursor = encode_cursor(("a",), filters=("state", "queued"))
    with pytest.raises(InvalidCursorError, match="other filters"):
        decode_cursor(cursor, filters=("state", "running"), types=(str,))


def test_a_cursor_of_another_list_is_refused() -> None:
    cursor = encode_cursor((1,), filters="f")
    for types in ((str,), (int, int), ()):
        with pytest.raises(InvalidCursorError):
            decode_cursor(cursor, filters="f", types=types)


def test_a_truth_value_is_not_a_number() -> None:
    cursor = encode_cursor((True,), filters="f")
    with pytest.raises(InvalidCursorError):
        decode_cursor(cursor, filters="f", types=(int,))


@pytest.mark.parametrize("key", [2**31, 2**63, 2**70, -1, "\ud800", "a\0b", "\u00e9"], ids=repr)
def test_what_no_row_has_is_refused(key: str | int) -> None:
    cursor = encode_cursor((key,), filters="f")
    with pytest.raises(InvalidCursorError, match="begin without one"):
        decode_cursor(cursor, filters="f", types=(type(key),))


def test_a_deeply_nested_cursor_is_refused() -> None:
    nested = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    with pytest.raises(InvalidCursorError):
        decode_cursor(nested, filters="f", types=(str,))
