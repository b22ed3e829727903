"""JSON as the standard has it: no NaN, no numbers that others can not read, no key twice."""

import json
import math
from collections import Counter
from typing import Any, NoReturn

from service.errors import BodyTooLargeError, MalformedBodyError

DEEPEST = 32
MOST_VALUES = 20_000
"""More than the largest sweep needs; each costs a validation, and a message where it is wrong."""
_LARGEST_INT = 2**63 - 1


def parse(body: bytes) -> Any:  # noqa: ANN401 - whatever the client sent
    """Parse a request's body. Raises MalformedBodyError or BodyTooLargeError."""
    try:
        value = json.loads(
            body,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        msg = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise MalformedBodyError(msg) from None
    except UnicodeDecodeError:
        raise MalformedBodyError("the body is not UTF-8") from None
    except RecursionError:
        raise MalformedBodyError(_too_deep()) from None
    _check_values(value)
    return value


def _constant(name: str) -> NoReturn:
    raise MalformedBodyError(f"{name} is not a JSON value")


def _int(digits: str) -> int:
    too_long = len(digits) > len(str(-_LARGEST_INT))
    if too_long or not -_LARGEST_INT <= (value := int(digits)) <= _LARGEST_INT:
        raise MalformedBodyError(f"the number {digits[:40]} does not fit 64 bits")
    return value


def _float(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise MalformedBodyError(f"the number {digits[:40]} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise MalformedBodyError(f"the key {repeated[:100]!r} is given twice in one object")
    return fields


def _check_values(value: Any) -> None:  # noqa: ANN401 - any JSON
    """Refuse what no database takes and what takes too long to judge, level by level."""
    level, count = [value], 0
    for _ in range(DEEPEST):
        count += len(level)
        if count > MOST_VALUES:
            raise BodyTooLargeError(f"a body may hold {MOST_VALUES} values, keys included")
        for item in level:
            if isinstance(item, str) and not is_text(item):
                raise MalformedBodyError("a string holds a NUL or half of a surrogate pair")
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise MalformedBodyError(_too_deep())


def _children(item: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list) else []


def is_text(value: str) -> bool:
    """Whether a database can hold it: NUL and half surrogate pairs are no text to it."""
    return "\x00" not in value and not any("\ud800" <= item <= "\udfff" for item in value)


def _too_deep() -> str:
    return f"the body is nested deeper than {DEEPEST} levels"
