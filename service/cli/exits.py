from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """What a command's exit status says to a script. The README and `--help` list them."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """Keep the meaning beside the number."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = 0, "done as asked"
    NEGATIVE = 1, "the answer is no: a sweep that did not fully succeed, a candidate that is slower"
    USAGE = 2, "the command line, a setting or the input file is wrong; nothing was sent"
    UNREACHABLE = 3, "no server answers at the address"
    REFUSED = 4, "the server refused the request"
    SERVER_FAILED = 5, "the server failed, or answered what this version does not understand"
    CANNOT_START = 6, "the service or its database cannot be used as it is"
    INTERRUPTED = 130, "interrupted with Ctrl-C"
