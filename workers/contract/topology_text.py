"""Reading the matrix that `nvidia-smi topo -m` prints, as drivers and pastes deliver it.

Names: a cut is the "..." of a shortened table; a cell is a word that may stand in the matrix.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from workers.contract.errors import TopologyError
from workers.contract.links import SELF, UNKNOWN, read_link

_CUTS = frozenset({"...", "…", "..", "[...]"})
_MAX_GPUS = 256
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|(?:\^\[|\\x1b|\\033|\\e|\\u001b|␛)?\[[\d;]*m")
_PREFIX = re.compile(r"^(?!\s*GPU\d)[^\n]*?(?<![\w./-])(?=GPU\d{1,4}(?!\w))")
"""What launchers, log collectors and quotes put before a line that begins with a GPU."""
_GPU = re.compile(r"GPU(\d{1,4})")
_DEVICE = re.compile(r"[A-Za-z][\w.:/-]*\d\w*")
_CPU_LIST = re.compile(r"\d[\d,-]*")
_PEER_STATES = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR"})
"""Cells of `nvidia-smi topo -p2p`."""
_AFFINITIES = frozenset({"CPU", "NUMA", "GPU", "Affinity", "ID"})
_AMD = re.compile(r"\b(rocm|xgmi|amd-?smi)|between two GPUs", re.IGNORECASE)
_MIG = re.compile(r"\bMIG[\s/:-]*\d")


@dataclass
class Matrix:
    """The links as the text tells them, not yet made symmetric."""

    lines: Sequence[str]
    header_at: int
    columns: Sequence[str]
    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    """By row and column index; what the text leaves open is missing or unknown."""

    rows: dict[str, int] = field(default_factory=dict)
    is_cut: bool = False
    num_others: int = 0
    """Matrices further down."""

    def has_all_rows(self) -> bool:
        """Whether every GPU of the header has its row."""
        return all(name in self.rows for name in self.columns if _GPU.fullmatch(name))

    def num_gpus(self) -> int:
        """GPUs the text speaks of, those hidden by a cut included."""
        names = {name for name in (*self.columns, *self.rows) if _GPU.fullmatch(name)}
        indices = {_index(name) for name in names}
        num_gpus = max(indices) + 1
        has_gap = len(indices) != num_gpus
        if num_gpus > _MAX_GPUS or (has_gap and not self.is_cut):
            raise _refusal(self.lines, self.header_at, "GPU0, GPU1, ... without a gap")
        return num_gpus


def read_matrix(text: str) -> Matrix:
    """Find the first matrix in the text and read it; TopologyError where there is none."""
    lines = [_PREFIX.sub("", _ESCAPE.sub("", line), count=1) for line in text.split("\n")]
    matrix = _read_header(lines)
    for at in range(matrix.header_at + 1, len(lines)):
        words = lines[at].lstrip("#> ").split()
        label = words[0] if words else ""
        is_next_matrix = label in matrix.rows and _header_columns(words)
        if label.lower().startswith("legend") or is_next_matrix:
            break
        if _GPU.fullmatch(label):
            _read_row(matrix, at)
        elif label in _CUTS:
            matrix.is_cut = True
        elif label and label not in matrix.columns and not _is_wrapped(words):
            if matrix.has_all_rows():
                break
            raise _refusal(lines, at, "a row of the matrix, GPU# and its links")
    if not matrix.rows:
        raise _refusal(lines, matrix.header_at, "rows GPU# and their links below this header")
    return matrix


def _is_wrapped(words: Sequence[str]) -> bool:
    """Whether a terminal broke the line above here. GPUs stand first: nothing of it is needed."""
    rest = words[1:] if words[-1] in _AFFINITIES else words
    return all(_is_cell(word) or word in _AFFINITIES or _CPU_LIST.fullmatch(word) for word in rest)


def _read_header(lines: Sequence[str]) -> Matrix:
    headers = [at for at, line in enumerate(lines) if _header_columns(line.split())]
    of_links = [at for at in headers if not _PEER_STATES.intersection(_first_row(lines, at))]
    for at in of_links:
        columns = _header_columns(lines[at].split())
        if len(set(columns) - _CUTS) != sum(name not in _CUTS for name in columns):
            raise _refusal(lines, at, "a header that names every column once")
        if any(name.startswith("MIG") or "/MIG" in name for name in columns):
            raise _refusal(lines, at, "whole GPUs")
        others = [one for one in of_links if one > at and SELF in _first_row(lines, one)]
        is_cut = any(name in _CUTS for name in columns)
        return Matrix(lines, at, columns, is_cut=is_cut, num_others=len(others))
    if headers:
        raise _refusal(
            lines, headers[0], "links, as `nvidia-smi topo -m` prints them", "peer states"
        )
    filled = [at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    raise _refusal(lines, filled[0] if filled else 0, "the header of a matrix, GPU0 GPU1 ...")


def _first_row(lines: Sequence[str], header_at: int) -> Sequence[str]:
    """Cells of the row right below a header."""
    below = lines[header_at + 1].split() if header_at + 1 < len(lines) else []
    return below[1:] if below and _GPU.fullmatch(below[0]) else ()


def _header_columns(words: Sequence[str]) -> Sequence[str]:
    """Devices a header line names, GPUs and network cards; nothing for any other line."""
    named = list(takewhile(lambda word: word not in {"CPU", "NUMA", "GPU"}, words))
    is_header = bool(named) and _GPU.fullmatch(named[0]) is not None
    for word in named:
        is_device = _DEVICE.fullmatch(word) is not None and read_link(word) is None
        is_header = is_header and (is_device or word in _CUTS)
    return named if is_header else ()


def _read_row(matrix: Matrix, at: int) -> None:
    label, *words = matrix.lines[at].split()
    if label not in matrix.columns and not matrix.is_cut:
        raise _refusal(matrix.lines, at, f"a column {label} in the header, as for every row")
    if label in matrix.rows:
        raise _refusal(matrix.lines, at, f"one row {label}, as on line {matrix.rows[label] + 1}")
    matrix.rows[label] = at
    if _may_be_half_a_cell(matrix, at, words):
        words[-1] = "..."
    cells = list(takewhile(_is_cell, words))
    rest = words[len(cells) :]
    is_in_matrix = any(map(_GPU.fullmatch, matrix.columns[len(cells) :]))
    if is_in_matrix and rest and not _CPU_LIST.fullmatch(rest[0]):
        raise _refusal(
            matrix.lines, at, "X, NV#, PIX, PXB, PHB, NODE or SYS", f"{rest[0]!r} in row {label}"
        )
    _keep(matrix, at, _align(matrix, at, cells, ends_early=not rest))


def _may_be_half_a_cell(matrix: Matrix, at: int, words: Sequence[str]) -> bool:
    """Whether the text ends within the matrix: its last word, NV1, may have been NV18."""
    is_upper_half = words[:1] == [SELF] and matrix.lines[at].split()[0] != matrix.columns[0]
    is_end = at == len(matrix.lines) - 1 and 0 < len(words) < len(matrix.columns)
    return is_end and words[-1] != SELF and not is_upper_half


def _keep(matrix: Matrix, at: int, cells: Sequence[str]) -> None:
    label = matrix.lines[at].split()[0]
    for column, cell in zip(matrix.columns, cells, strict=False):
        if cell in _CUTS:
            matrix.is_cut = True
            if column not in _CUTS:
                break
        elif _GPU.fullmatch(column):
            if (cell == SELF) != (column == label):
                found = f"{cell} in column {column}"
                raise _refusal(matrix.lines, at, f"X in column {label} and only there", found)
            matrix.cells[_index(label), _index(column)] = read_link(cell) or UNKNOWN


def _align(matrix: Matrix, at: int, cells: list[str], *, ends_early: bool) -> Sequence[str]:
    """Cells of a row under their columns, where some were left blank or cut."""
    label = matrix.lines[at].split()[0]
    num_columns = len(matrix.columns)
    while cells and cells[-1] == "N/A":  # an affinity more often than a link, unknown either way
        cells.pop()
    own = matrix.columns.index(label) if label in matrix.columns else num_columns
    tabbed = [cell.strip() or UNKNOWN for cell in matrix.lines[at].partition(label)[2].split("\t")]
    tabbed = tabbed[1 : num_columns + 1]
    if len(cells) >= num_columns:
        return cells
    if tabbed[own : own + 1] == [SELF] and all(map(_is_cell, tabbed)):
        return tabbed
    is_upper_half = cells[:1] == [SELF] and len(cells) == num_columns - own
    if is_upper_half:
        return [UNKNOWN] * own + cells
    is_cut_off = SELF not in cells and bool(cells) and (ends_early or cells[-1] in _CUTS)
    if cells[own : own + 1] == [SELF] or is_cut_off:
        return cells
    raise _refusal(matrix.lines, at, f"X in column {label}")


def _is_cell(word: str) -> bool:
    return word in _CUTS or read_link(word) is not None


def _index(name: str) -> int:
    return int(name.removeprefix("GPU"))


def _refusal(lines: Sequence[str], at: int, expected: str, found: str = "") -> TopologyError:
    shown = found or repr(lines[at].strip()[:60])
    message = f"line {at + 1}: expected {expected}, found {shown}"
    if any(map(_AMD.search, lines)):
        message += "; this is AMD's matrix, only `nvidia-smi topo -m` is read"
    elif any(map(_MIG.search, lines)):
        message += "; MIG slices have no links, ask `nvidia-smi topo -m` with MIG off"
    return TopologyError(message)
