"""Which cell of a row is what, in every layout that nccl-tests has had.

    size count type [redop] [root]  time algbw busbw check [more]  time algbw busbw check [more]

The check column is called res, error, #wrong or #wrong with N/A in it; `more` are the columns of
`-I`; a timestamp may follow. The first version (2017) names its columns bytes and N, and its times
are milliseconds; its broadcast, and rccl-tests on request, time one placement only. Where there is
no header, the layout in which the cells agree is taken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from service.analysis.nccl_tests.table import Cells, Figure, PrintedRow

TIMES = ("time", "cputime")
CHECKS = ("error", "#wrong", "wrong", "res")
_PLAIN = ("time", "algbw", "busbw", "#wrong")
_PER_ITERATION = (*_PLAIN, "i_min", "i_max", "i_p99", "i_cv%")
_NOT_RUN = "N/A"

NUMBER = re.compile(r"\d{1,18}(?:\.(\d{1,18}))?(?:[eE]([+-]?\d{1,2}))?")
_NUMERIC = re.compile(rf"-?(?:{NUMBER.pattern})\*?|N/A|-?nan|-?inf")
_STAMP = re.compile(r"\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*\s*$")
_ROOT = re.compile(r"-1|\d{1,5}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns behind the element type."""

    has_root: bool
    placement: tuple[str, ...]
    """Names of the columns that come once for each placement."""
    has_out_of_place: bool = True
    has_in_place: bool = True
    us_per_unit: float = 1.0
    """Of the times as they are printed."""

    @property
    def num_placements(self) -> int:
        """Placements that are timed."""
        return self.has_out_of_place + self.has_in_place


def read_header(words: Sequence[str]) -> Layout | None:
    """The layout that a line of column names describes; None for any other line."""
    starts = [at for at, word in enumerate(words) if word in TIMES]
    if "busbw" not in words or "algbw" not in words or not starts:
        return None
    end = starts[1] if len(starts) > 1 else len(words)
    placement = ("time", *words[starts[0] + 1 : end])
    is_first_version = "bytes" in words
    return Layout(
        has_root="root" in words[: starts[0]],
        placement=tuple(name for name in placement if name != "timestamp"),
        has_out_of_place=len(starts) > 1 or is_first_version,
        has_in_place=len(starts) > 1 or not is_first_version,
        us_per_unit=1e3 if is_first_version else 1.0,
    )


def layouts(header: Layout | None) -> tuple[Layout, ...]:
    """Return those that a row may have, the likely ones first."""
    if header is not None:
        return (header,)
    return tuple(
        Layout(has_root=has_root, placement=placement, us_per_unit=us_per_unit)
        for placement, us_per_unit in ((_PLAIN, 1.0), (_PER_ITERATION, 1.0), (_PLAIN, 1e3))
        for has_root in (True, False)
    )


def is_continuation(text: str) -> bool:
    """Whether a line holds cells and nothing else."""
    words = _STAMP.sub("", text).split()
    return bool(words) and all(_NUMERIC.fullmatch(word) for word in words)


def cells_of(text: str) -> tuple[str, ...]:
    """Cells behind the element type, without a timestamp."""
    return tuple(_STAMP.sub("", text).split())


def read_row(
    cells: Sequence[str], layout: Layout, *, line: int, head: tuple[int, int, str]
) -> PrintedRow | None:
    """Name the cells; None where they do not fit the layout. `head` is size, count and type."""
    rest = list(cells)
    redop = rest.pop(0) if rest and not _NUMERIC.fullmatch(rest[0]) else ""
    root = None
    if layout.has_root and rest and _ROOT.fullmatch(rest[0]):
        root = int(rest.pop(0))
    width = len(layout.placement)
    if len(rest) != layout.num_placements * width or (layout.has_root and root is None):
        return None
    try:
        out_of_place = _placement(rest[:width], layout) if layout.has_out_of_place else None
        in_place = _placement(rest[-width:], layout) if layout.has_in_place else None
    except ValueError:
        return None
    size, count, dtype = head
    return PrintedRow(line, size, count, dtype, redop, root, out_of_place, in_place)


def most_cells(layout: Layout) -> int:
    """Cells of a whole row behind the element type."""
    return 1 + layout.has_root + layout.num_placements * len(layout.placement)


def not_a_number(cells: Sequence[str]) -> str | None:
    """The first cell of a placement that is neither a number nor N/A; None where all are."""
    timed = cells[next((at for at, cell in enumerate(cells) if "." in cell), 0) :]
    return next((one for one in timed if not NUMBER.fullmatch(one) and one != _NOT_RUN), None)


def _placement(cells: Sequence[str], layout: Layout) -> Cells | None:
    named = dict(zip(layout.placement, cells, strict=True))
    if named["time"] == _NOT_RUN:
        return None
    check = next((named[name] for name in CHECKS if name in named), _NOT_RUN)
    return Cells(
        time_us=figure(named["time"], layout.us_per_unit),
        algbw=figure(named["algbw"]),
        busbw=figure(named["busbw"]),
        num_wrong=_num_wrong(check),
        is_checked=check != _NOT_RUN,
    )


def _num_wrong(check: str) -> float:
    """Wrong elements. Old versions show the largest error, with a star where it is too large."""
    if check == _NOT_RUN:
        return 0.0
    off = float(check.removesuffix("*"))
    return off if off >= 1 or check.endswith("*") else 0.0


def figure(cell: str, scale: float = 1.0) -> Figure:
    """Read a printed number; ValueError for anything else, NaN included."""
    match = NUMBER.fullmatch(cell)
    if match is None:
        raise ValueError(f"{cell!r} is no number")
    decimals = len(match[1] or "") - int(match[2] or 0)
    return Figure(float(cell) * scale, 0.5 * 10.0**-decimals * scale)
