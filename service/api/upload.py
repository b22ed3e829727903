"""A body of JSON lines, as large as it may be: it is put into a file while it streams in."""

from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, BinaryIO, cast

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from service.api.state import service_of
from service.api.text_body import read_body
from service.errors import BodyTooLargeError

JSON_LINES = "application/x-ndjson"
MOST_IN_MEMORY = 1 << 20


async def read_upload(request: Request) -> AsyncIterator[bytes | BinaryIO]:
    """Give JSON lines as a file that is gone afterwards, anything else as its bytes."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != JSON_LINES:
        yield await read_body(request)
        return
    limit = service_of(request).settings.max_import_bytes
    with SpooledTemporaryFile(max_size=MOST_IN_MEMORY) as file:
        async for chunk in request.stream():
            if file.tell() + len(chunk) > limit:
                raise BodyTooLargeError(f"an import may have {limit} bytes")
            await run_in_threadpool(file.write, chunk)
        file.seek(0)
        yield cast("BinaryIO", file)


Upload = Annotated[bytes | BinaryIO, Depends(read_upload)]
