"""Values of query parameters that are more than a word or a number."""

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from service.store.result_filter import Version


def _key_and_value(values: object) -> object:
    """A parameter of two parts reaches us as the list of its occurrences."""
    if not isinstance(values, list):
        return values
    if len(values) != 1:
        raise ValueError("name one tag")
    return _in_two(values[0])


def _keys_and_values(values: object) -> object:
    if not isinstance(values, list):
        return values
    pairs = list(dict.fromkeys(_in_two(value) for value in values))
    names = Counter(key for key, _ in pairs)
    for name, count in names.items():
        if count > 1:
            raise ValueError(f"{name} cannot have {count} values at once")
    return pairs


def _in_two(text: object) -> tuple[str, str]:
    key, mark, value = str(text).partition("=")
    if not mark:
        raise ValueError("write it as key=value, for example commit=abc123")
    return (key, value)


def _split(values: object) -> object:
    """One parameter may name several values, `tp_degree=1,2`, and may come several times."""
    if not isinstance(values, list):
        return values
    parts = [value.split(",") if isinstance(value, str) else [value] for value in values]
    return [part for several in parts for part in several]


def in_the_future(*, consequence: str) -> AfterValidator:
    """Refuse a time that has passed, and say what would come of it."""

    def check(moment: datetime) -> datetime:
        if moment <= datetime.now(UTC):
            raise ValueError(f"the time has passed; {consequence}")
        return moment

    return AfterValidator(check)


Tag = Annotated[
    tuple[str, str],
    BeforeValidator(_key_and_value),
    WithJsonSchema({"type": "string", "examples": ["commit=abc123"]}),
]
"""A tag's key and value, `key=value`."""

Tags = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(_keys_and_values),
    Field(max_length=20),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "examples": [["commit=abc123"]]}),
]
"""Several tags, each `key=value`, all of them meant."""

Versions = Annotated[
    tuple[tuple[Version, str], ...],
    BeforeValidator(_keys_and_values),
    Field(max_length=len(Version)),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "examples": [["nccl=2.27.3"]]}),
]
"""Several versions, each `name=version`, all of them meant."""

SweepId = Annotated[str, Field(min_length=1, max_length=200, description="Id of a sweep.")]

Several = BeforeValidator(_split)
