"""What a form sends: read within bounds, checked to be ours, and made into the object it means."""

from collections.abc import Mapping
from typing import Annotated, Final, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from service.errors import (
    BodyTooLargeError,
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    MediaTypeError,
)

TOKEN_FIELD: Final = "form_token"  # noqa: S105 - a field's name
FORM: Final = "application/x-www-form-urlencoded"
MOST_FIELDS: Final = 200
LONGEST_VALUE: Final = 80

Fields = Mapping[str, str]
"""Of one name the last value counts."""
Model = TypeVar("Model", bound=BaseModel)


async def read(request: Request, *, most_bytes: int) -> Fields:
    """The fields of a form. Raises where the body is none, or too long."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != FORM:
        raise MediaTypeError(f"Content-Type is {given[:200]!r}; a form sends {FORM}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise BodyTooLargeError(f"a form may have {most_bytes} bytes")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError as error:
        raise InvalidRequestError(f"the form cannot be read: {error}") from None
    if any("\x00" in name + value for name, value in pairs):
        raise InvalidRequestError("the form holds the character NUL")
    return {name: value.strip() for name, value in pairs}


def refuse_forged(fields: Fields, *, is_ours: bool) -> None:
    """ForbiddenError unless the form was made for this session."""
    if TOKEN_FIELD not in fields or not is_ours:
        raise ForbiddenError("the form is not from this session; load the page again and send it")


def parse(model: type[Model], values: Mapping[str, object]) -> Model:
    """Make the object that a form means. InvalidRequestError names each field at fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = tuple(
            FieldError(pointer=".".join(map(str, one["loc"])), detail=_detail(one["msg"], one))
            for one in error.errors(include_url=False)
        )
        shown = "; ".join(f"{one.pointer}: {one.detail}" for one in errors[:5])
        raise InvalidRequestError(shown, errors=errors) from None


def _detail(message: str, error: Mapping[str, object]) -> str:
    if error["type"] == "missing":
        return "is needed"
    value = repr(error.get("input"))
    shown = value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + "…"
    return f"{message.removeprefix('Value error, ')}; got {shown}"


async def _given(request: Request) -> Fields:
    fields: Fields = request.state.fields
    return fields


FieldsDep = Annotated[Fields, Depends(_given)]
"""What the form sent; the route has read and checked it."""
