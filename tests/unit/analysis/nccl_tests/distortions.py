"""Ways in which launchers, terminals and logs disfigure a good file without changing a number."""

import random
import re
from collections.abc import Callable, Sequence

Distortion = Callable[[str, random.Random], str]

ROW = re.compile(r"^\s*\d+\s+\d+\s+(?:float|half|bfloat16)\s")
LOG = "{host}:{pid}:{pid} [{dev}] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f00 count 12 float"
HOSTS = ("node0", "ip-10-0-3-4", "4xh100-a", "10-0-3-4", "0box")


def is_row(line: str) -> bool:
    return ROW.match(line) is not None


def with_windows_line_ends(text: str, _rng: random.Random) -> str:
    return text.replace("\n", "\r\n")


def with_byte_order_mark(text: str, _rng: random.Random) -> str:
    return "\ufeff" + text


def with_terminal_codes(text: str, rng: random.Random) -> str:
    codes = ["\x1b[32m{}\x1b[0m", "\x1b[4m{}\x1b[0m", "\x1b[2K{}", "\x1b]0;title\x07{}"]
    return _each_line(text, lambda line: rng.choice(codes).format(line))


def with_launcher_prefix(text: str, rng: random.Random) -> str:
    prefix = rng.choice(
        [
            "[1,0]<stdout>:",
            "[1,0]<stdout>: ",
            "[prterun-node0-12@1,0]<stdout>: ",
            "0: ",
            "[0] ",
            "node0: ",
            "[pod/nccl-test-0/worker] ",
            "worker-1  | ",
            "2026-01-02T03:04:05.678901234Z ",
            "2026-01-02T03:04:05+00:00 [1,0]<stdout>:",
        ]
    )
    return _each_line(text, lambda line: prefix + line)


def without_header(text: str, _rng: random.Random) -> str:
    """Neither column names nor devices; the first comment names the operation."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(line for line in rest if not line.startswith("#"))])


def without_footer(text: str, _rng: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if "Avg bus" not in line)


def with_wider_columns(text: str, rng: random.Random) -> str:
    gap = " " * rng.randint(1, 3)
    return _each_row(text, lambda row: row.replace("  ", "  " + gap))


def with_tabs(text: str, _rng: random.Random) -> str:
    return _each_row(text, lambda row: "\t".join(row.split()))


def with_timestamps(text: str, _rng: random.Random) -> str:
    text = _each_row(text, lambda row: row + "  2026-01-02 03:04:05")
    return re.sub(r"^(#?\s+size .*)$", r"\1           timestamp", text, flags=re.MULTILINE)


def with_cputime(text: str, _rng: random.Random) -> str:
    return re.sub(r"(?m)^(#?\s+size .*)$", lambda m: m[0].replace("  time", "cputime"), text)


def with_other_output_between(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(5):
        noise = rng.choice(
            ["", "# GPU memory usage : 1 GB", _log(rng), "NCCL version 2.27.3+cuda12"]
        )
        lines.insert(rng.randint(1, len(lines) - 1), noise)
    return "\n".join(lines)


def with_logs_in_rows(text: str, rng: random.Random) -> str:
    """As pipes do it: after the root, after the first half, or anywhere."""
    host = rng.choice(HOSTS)
    alone = f"{_log(rng, host)}\n"

    def cut(row: str) -> str:
        cells = list(re.finditer(r"\S+", row))
        wanted = rng.choice(
            [len(cells) // 2 - 2, (len(cells) + 5) // 2, rng.randint(3, len(cells))]
        )
        place = cells[min(wanted, len(cells)) - 1].end()
        logs = [_log(rng, host) for _ in range(rng.randint(1, 3))]
        return row[:place] + "\n".join(logs) + "\n" + row[place:]

    return alone + _each_row(text, cut)


def with_warnings_in_rows(text: str, rng: random.Random) -> str:
    """Warnings of NCCL begin with a line end of their own."""

    def cut(row: str) -> str:
        cells = list(re.finditer(r"\S+", row))
        place = cells[rng.randint(4, len(cells) - 1)].end()
        warning = "[2026-01-02 03:04:05] node0:7:8 [0] net.cc:12 NCCL WARN slow"
        return f"{row[:place]}\n{warning}\n{row[place:]}"

    return _each_row(text, cut)


def per_iteration(text: str, rng: random.Random) -> str:
    """Columns of `-I` behind each placement."""

    def widen(row: str) -> str:
        words = row.split()
        more = [f"{rng.uniform(1, 99):.2f}" for _ in range(4)]
        return "  ".join([*words[:-4], *more, *words[-4:], *more])

    text = _each_row(text, widen)
    names = "i_min    i_max    i_p99    i_cv%"
    return re.sub(r"(?m)^(#\s+size .*?(?:error|#wrong))(.*)$", rf"\1  {names}  \2  {names}", text)


def old_layout(text: str, rng: random.Random) -> str:
    """No root, and in place of the wrong elements the largest error."""

    def narrow(row: str) -> str:
        words = row.split()
        if len(words) != 13:
            return row
        words[8], words[12] = (rng.choice(["0e+00", "2e-07", "1e-06", "N/A"]) for _ in range(2))
        return "  ".join(words[:4] + words[5:])

    header = re.sub(r"(?m)^(#\s+size .*)$", lambda m: m[0].replace("root", "    "), text)
    return _each_row(header.replace("#wrong", " error"), narrow)


DISTORTIONS: Sequence[Distortion] = (
    with_windows_line_ends,
    with_byte_order_mark,
    with_terminal_codes,
    with_launcher_prefix,
    without_header,
    without_footer,
    with_wider_columns,
    with_tabs,
    with_timestamps,
    with_cputime,
    with_other_output_between,
    with_logs_in_rows,
    with_warnings_in_rows,
    per_iteration,
    old_layout,
)


def _log(rng: random.Random, host: str = "node0") -> str:
    return LOG.format(host=host, pid=rng.randint(1, 99999), dev=rng.randint(0, 7))


def _each_line(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(map(change, text.split("\n")))


def _each_row(text: str, change: Callable[[str], str]) -> str:
    return _each_line(text, lambda line: change(line) if is_row(line) else line)
