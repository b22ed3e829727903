import sys
from pathlib import Path

from service.cli.failures import UsageError


def read_file(name: str) -> bytes:
    """Bytes of a file that another program wrote, or of stdin; the server judges what they say."""
    try:
        body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    if not body.strip():
        raise UsageError(f"{'standard input' if name == '-' else name} is empty")
    return body


def media_type(body: bytes) -> str:
    """Whether it is a JSON object or text."""
    is_json = body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return "application/json" if is_json else "text/plain"
