"""Files that a command line names. `-` is standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from service.cli.failures import UsageError


def shown(name: str) -> str:
    """What messages call it."""
    return "standard input" if name == "-" else name


@contextmanager
def reading(name: str) -> Iterator[BinaryIO]:
    """Open it; UsageError where it cannot be opened, or read on."""
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{shown(name)} cannot be read: {error.strerror}") from error


def read(name: str) -> bytes:
    """All of it; UsageError where it cannot be read."""
    with reading(name) as file:
        return file.read()


def write_all(name: str, chunks: Iterable[bytes]) -> int:
    """Write piece after piece; return how many bytes. UsageError where it cannot be written.

    A file takes its name only when it is whole, so that half of one is never taken for all of it.
    """
    if name == "-":
        return sum(sys.stdout.buffer.write(chunk) for chunk in chunks)
    path = Path(name)
    if not path.name:
        raise UsageError(f"{name!r} names no file; name one, or - for standard output")
    part = path.with_name(f".{path.name}.part")
    try:
        try:
            with part.open("wb") as file:
                size = sum(file.write(chunk) for chunk in chunks)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return size


def write(path: Path, body: bytes) -> None:
    """Replace what the file holds; UsageError where it cannot be written."""
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
