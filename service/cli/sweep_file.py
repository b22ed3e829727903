import json

from service.cli import files
from service.cli.failures import UsageError

LARGEST_BYTES = 1 << 20


def read_sweep_file(name: str) -> bytes:
    """Read a sweep as it is; the server judges what it says, this only that it is JSON."""
    body, shown = files.read(name), files.shown(name)
    if len(body) > LARGEST_BYTES:
        raise UsageError(f"{shown} has {len(body)} bytes, a sweep at most {LARGEST_BYTES}")
    try:
        json.loads(body)
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise UsageError(f"{shown} is not JSON: {error.msg} at {where}") from error
    except ValueError as error:
        raise UsageError(f"{shown} has a number of too many digits") from error
    except RecursionError as error:
        raise UsageError(f"{shown} is nested too deeply") from error
    return body
