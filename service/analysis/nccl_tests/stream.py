"""From the bytes of a log to the lines that nccl-tests printed.

NCCL and the ranks write into the same stream: a line of NCCL's log may begin in the middle of a
row. It ends with its own newline, so that without it the row is as it was printed.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from service.analysis.nccl_tests.table import ELEMENT_BYTES

ROW = re.compile(r"(?<![\w.])(\d{1,18})\s+(\d{1,18})\s+(" + "|".join(ELEMENT_BYTES) + r")(?=\s|$)")
"""Size, count and element type: how every row of every layout begins."""

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_PREFIX = re.compile(
    r"\[[\w.@-]*\d+,\d+\]<std(?:out|err|diag)>:\s?"  # mpirun --tag-output
    r"|\[\d+\]\s"  # mpiexec -l
    r"|\s*\d{1,6}:\s"  # srun -l
    r"|\[pod/[^\]]*\]\s|[A-Za-z][\w.-]*:\s|[\w.-]+\s+\|\s"  # kubectl, pdsh, docker compose
    r"|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\s"  # timestamps of log collectors
)
_LOG = re.compile(r"(?:(?<!\S)\[?\d{4}-\d\d-\d\d[ T][\d:.]+\]? )?(?<!\S)(\S*?):\d+:\d+ \[-?\d+\] ")
_CELL = re.compile(r"N/A|-1|0(?=\d)|\d+(?:\.\d+)?|")
_MOST_HOSTS = 200
"""Each is looked for in each broken row."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line without what others wrote into it, and the number in the file where it begins."""

    number: int
    text: str


def decode(body: bytes) -> str:
    """Text of a file with or without a byte order mark; what is no text becomes U+FFFD."""
    is_utf16 = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return body.decode("utf-16" if is_utf16 else "utf-8-sig", errors="replace")


def printed_lines(text: str) -> list[Line]:
    """Lines that nccl-tests printed, with pieces of one row put together again."""
    plain = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    raw = [_clean(line) for line in plain.split("\n")]
    hosts = _hosts(raw)
    lines: list[Line] = []
    is_open = False
    for number, piece, ends in _pieces(raw, hosts):
        if is_open and not _begins_anew(piece):
            lines[-1] = Line(lines[-1].number, lines[-1].text + piece)
        else:
            lines.append(Line(number, piece))
        is_open = not ends
    return lines


def _pieces(raw: Sequence[str], hosts: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """Number, text and whether the line ends there; blank ones and those of a log are left out."""
    for number, line in enumerate(raw, start=1):
        log = _LOG.search(line)
        if log is None:
            if line:
                yield number, line, True
        elif line[: log.start()].strip() or not _is_alone(log[1], hosts):
            kept = line[: log.start()] + _before_host(log, hosts)
            if kept.strip():
                yield number, kept, False


def _is_alone(token: str, hosts: Sequence[str]) -> bool:
    return token in hosts or not re.match(r"N/A|-?\d", token)


def _before_host(log: re.Match[str], hosts: Sequence[str]) -> str:
    """The cell that a log's host name was printed against, without a blank between."""
    token = log[1]
    if token in hosts or log[0].startswith("["):
        return ""
    for host in hosts:
        if token.endswith(host):
            return token.removesuffix(host)
    cell = _CELL.match(token)
    return cell[0] if cell else ""


def _hosts(raw: Sequence[str]) -> list[str]:
    """Names of machines, longest first: where logs have a line of their own, and in the header."""
    found: set[str] = set()
    for line in raw:
        if log := _LOG.match(line):
            found.add(log[1])
        if named := re.search(r"Pid\s+\d+\s+on\s+(\S+)\s+device", line):
            found.add(named[1])
    known = sorted(found - {""})[:_MOST_HOSTS]
    return sorted((host for host in known if not _is_glued(host, known)), key=len, reverse=True)


def _is_glued(token: str, hosts: Collection[str]) -> bool:
    """Whether it is the end of a row and another's name."""
    return any(
        token != host and token.endswith(host) and _CELL.fullmatch(token.removesuffix(host))
        for host in hosts
    )


def _begins_anew(piece: str) -> bool:
    return piece.lstrip().startswith("#") or ROW.search(piece) is not None


def _clean(line: str) -> str:
    text = line.replace("\u00a0", " ").replace("\x00", "")
    while prefix := _PREFIX.match(text):
        text = text[prefix.end() :]
    return text.rstrip()
