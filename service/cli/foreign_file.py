from service.cli import files
from service.cli.failures import UsageError


def read_file(name: str) -> bytes:
    """Bytes of a file that another program wrote, or of stdin; the server judges what they say."""
    body = files.read(name)
    if not body.strip():
        raise UsageError(f"{files.shown(name)} is empty")
    return body


def is_exported(first_line: bytes) -> bool:
    """Whether a file that begins so is what `tpsweep export` writes: of a result or a failure."""
    return b'"format":"tpsweep.' in first_line.replace(b" ", b"")


def media_type(body: bytes) -> str:
    """Whether it is a JSON object or text."""
    is_json = body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return "application/json" if is_json else "text/plain"
