import pytest

from service.api import strict_json
from service.errors import BodyTooLargeError, MalformedBodyError


def test_plain_json_is_parsed() -> None:
    assert strict_json.parse(b'{"a": [1, 2.5, null, true, "x"]}') == {
        "a": [1, 2.5, None, True, "x"]
    }


@pytest.mark.parametrize("body", [b"[NaN]", b"[Infinity]", b"[-Infinity]", b"[1e999]"])
def test_numbers_that_are_none_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        strict_json.parse(body)


@pytest.mark.parametrize("digits", ["9223372036854775808", "-9223372036854775808", "9" * 5000])
def test_integers_over_64_bits_are_refused(digits: str) -> None:
    with pytest.raises(MalformedBodyError, match="64 bits"):
        strict_json.parse(digits.encode())


def test_the_largest_integer_passes() -> None:
    assert strict_json.parse(b"9223372036854775807") == 2**63 - 1


@pytest.mark.parametrize("depth", [strict_json.DEEPEST + 1, 200_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(MalformedBodyError, match="deeper"):
        strict_json.parse(b"[" * depth + b"]" * depth)


def test_nesting_up_to_the_limit_passes() -> None:
    depth = strict_json.DEEPEST - 1
    strict_json.parse(b"[" * depth + b"]" * depth)


def test_a_key_given_twice_is_named() -> None:
    with pytest.raises(MalformedBodyError, match="'batch' is given twice"):
        strict_json.parse(b'{"name": 1, "batch": 1, "batch": 2}')


def test_the_place_of_a_syntax_error_is_named() -> None:
    with pytest.raises(MalformedBodyError, match="line 2, column 3"):
        strict_json.parse(b"{\n  batch: 1}")


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(MalformedBodyError, match="UTF-8"):
        strict_json.parse(b'"\xff"')


@pytest.mark.parametrize("body", [rb'"\u0000"', rb'{"\ud800": 1}', rb'[["a\udc00"]]'])
def test_text_that_no_database_takes_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError, match="NUL"):
        strict_json.parse(body)


def test_a_whole_surrogate_pair_is_text() -> None:
    assert strict_json.parse(rb'"\ud83d\ude00"') == "\U0001f600"


def test_more_values_than_any_sweep_needs_are_refused() -> None:
    most = strict_json.MOST_VALUES
    strict_json.parse(b"[" + b"1," * (most - 2) + b"1]")
    with pytest.raises(BodyTooLargeError, match=str(most)):
        strict_json.parse(b"[" + b"1," * (most - 1) + b"1]")
    with pytest.raises(BodyTooLargeError):
        strict_json.parse(b"{" + b",".join(b'"%d":0' % i for i in range(most)) + b"}")
