"""Bodies that are a file as another program wrote it: text, or that program's JSON."""

from typing import Annotated, Any

from fastapi import Depends, Request

from service.errors import InvalidRequestError, MediaTypeError

MEDIA_TYPES = ("text/plain", "application/json")


async def read_body(request: Request) -> bytes:
    """The bytes as they came, up to the limit of every body."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() not in MEDIA_TYPES:
        raise MediaTypeError(f"Content-Type is {given[:200]!r}; send {' or '.join(MEDIA_TYPES)}")
    body = await request.body()
    if not body.strip():
        raise InvalidRequestError("the body is empty; send the file's content")
    return body


TextBody = Annotated[bytes, Depends(read_body)]


def described(*, text: str, document: dict[str, Any]) -> dict[str, Any]:
    """What OpenAPI says of such a body, with an example of each form."""
    return {
        "requestBody": {
            "required": True,
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "examples": {"text": {"summary": "As it is printed", "value": text}},
                },
                "application/json": {
                    "schema": {"type": "object"},
                    "examples": {"document": {"summary": "As JSON", "value": document}},
                },
            },
        }
    }
