"""Reading the text that nccl-tests prints, as terminals, launchers and logs deliver it."""

import re
from collections.abc import Sequence

from service.analysis.nccl_tests import layout
from service.analysis.nccl_tests.agreement import agrees
from service.analysis.nccl_tests.layout import Layout
from service.analysis.nccl_tests.operation import NOT_READ, Operation
from service.analysis.nccl_tests.stream import ROW, Line, printed_lines
from service.analysis.nccl_tests.table import ELEMENT_BYTES, PrintedRow, Skipped
from service.analysis.nccl_tests.table_maker import Section, is_footer_mean, mean_busbw

_NAMES = "|".join(sorted(Operation, key=len, reverse=True))
_PROGRAM = re.compile(rf"\b({_NAMES}|{'|'.join(NOT_READ)})_perf(?:_mpi)?\b")
_MENTION = re.compile(rf"(?<![A-Za-z])({_NAMES.replace('_', '[_ -]?')})(?![A-Za-z])", re.IGNORECASE)
_START = re.compile(r"\b(?:nccl-tests version|Collective test starting|nThread\s+\d+\s+nGpus)\b")
_RANK = re.compile(
    r"Rank\s+(\d{1,6})\s+(?:Group\s+\d+\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)"
)
_EXPORT = re.compile(r"# num_ranks ([1-9]\d{0,5})(?: num_nodes (\d{1,4}))?(?: device (.+))?")
_MEAN = re.compile(rf"Avg bus bandwidth\s*:\s*({layout.NUMBER.pattern})(?!\S)")
_WRONG = re.compile(r"Out of bounds values\s*:\s*(\d+)\s+FAILED")
_UNKNOWN_TYPE = re.compile(
    r"\s*\d+\s+\d+\s+([a-z]\w*)\s+(?:[a-z]+\s+)?(?:-?\d+\s+)?\d+\.\d+\s+\d+\.\d+\s+\d+\.\d+\s"
)
_ELISION = re.compile(r"\s*(?:\.{2,}|…|\[\.{3}\]|<snip>)\s*")
_MOST_PIECES = 6


def read_sections(text: str) -> list[Section]:
    """Read every run of nccl-tests in the text."""
    reader = _Reader(printed_lines(text))
    reader.read()
    return [section for section in reader.sections if section.rows or section.skipped]


class _Reader:
    """Goes through the lines once; a new run begins where one starts after rows of another."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.sections = [Section()]
        self.header: Layout | None = None
        self.ranks: set[int] = set()

    @property
    def section(self) -> Section:
        return self.sections[-1]

    def read(self) -> None:
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            begin = ROW.search(line.text)
            if begin is not None:
                at += self._row(at, begin)
                continue
            if layout.is_continuation(line.text):
                self._skip(line, "cells of a row whose beginning is not there")
            elif _ELISION.fullmatch(line.text):
                self.section.warnings.append(f"line {line.number}: rows are left out by the source")
            elif self.header and (unknown := _UNKNOWN_TYPE.match(line.text)):
                known = ", ".join(ELEMENT_BYTES)
                self._skip(line, f"element type {unknown[1]!r} is not one of {known}")
            else:
                self._note(line)
            at += 1

    def _row(self, at: int, begin: re.Match[str]) -> int:
        """Read the row that begins here; return how many lines it takes."""
        line = self.lines[at]
        head = (int(begin[1]), int(begin[2]), begin[3])
        pieces = [line.text[begin.end() :]]
        for following in self.lines[at + 1 : at + _MOST_PIECES]:
            if ROW.search(following.text) or not layout.is_continuation(following.text):
                break
            pieces.append(following.text)
        readings: list[PrintedRow] = []
        for num_lines in range(1, len(pieces) + 1):
            found = self._readings(" ".join(pieces[:num_lines]), line.number, head)
            for row in found:
                if agrees(row):
                    self.section.rows.append(row)
                    return num_lines
            readings += found
        self._refuse(line, head, readings, pieces)
        return len(pieces)

    def _readings(self, text: str, line: int, head: tuple[int, int, str]) -> list[PrintedRow]:
        cells = layout.cells_of(text)
        found = (
            layout.read_row(cells, one, line=line, head=head) for one in layout.layouts(self.header)
        )
        return [row for row in found if row is not None]

    def _refuse(
        self,
        line: Line,
        head: tuple[int, int, str],
        readings: Sequence[PrintedRow],
        pieces: Sequence[str],
    ) -> None:
        """Keep a contradictory row for the verdict; name what a broken one lacks."""
        if readings:
            self.section.rows.append(readings[0])
            return
        cells = layout.cells_of(" ".join(pieces))
        wanted = {layout.most_cells(one) for one in layout.layouts(self.header)}
        expected = " or ".join(str(3 + count) for count in sorted(wanted))
        strange = layout.not_a_number(cells)
        why = (
            f"{strange!r} is no number"
            if len(cells) in wanted and strange
            else f"{3 + len(cells)} cells, not {expected}"
        )
        self._skip(line, f"broken row of size {head[0]}: {why}")

    def _skip(self, line: Line, reason: str) -> None:
        self.section.skipped.append(Skipped(line.number, reason))

    def _note(self, line: Line) -> None:
        """Take what a line beside the rows says of the run."""
        text = line.text
        program = _PROGRAM.search(text)
        header = layout.read_header(text.split())
        starts = _START.search(text)
        if header or starts or (program and "concluded" not in text):
            self._begin()
        if starts:
            self.ranks, self.section.hosts = set(), set()
        self.header = header or self.header
        if program and program[1] in NOT_READ:
            self.section.not_read = program[1]
        elif program:
            self.section.named = Operation(program[1])
        elif text.lstrip().startswith("#") and (mention := _MENTION.search(text)):
            name = re.sub(r"[ -]", "_", mention[1].lower())
            self.section.hinted = _operation(name) or self.section.hinted
        self._note_ranks(line)
        self._note_footer(line)

    def _begin(self) -> None:
        if self.section.rows:
            self.sections.append(Section())
            self.header = None
            self.ranks = set()

    def _note_ranks(self, line: Line) -> None:
        section = self.section
        if told := _EXPORT.search(line.text):
            section.num_ranks = int(told[1])
            section.hosts = {f"node{index}" for index in range(int(told[2] or 0))}
            section.accelerator = (told[3] or "").strip().removeprefix("unknown")
        rank = _RANK.search(line.text)
        if rank and int(rank[1]) == 0 and self.ranks:
            section.warnings.append(
                f"line {line.number}: rank 0 is listed again: several runs may be mixed here"
            )
        if rank and int(rank[1]) not in self.ranks:
            self.ranks.add(int(rank[1]))
            section.hosts.add(rank[2])
            section.accelerator = rank[3].strip()
            section.num_ranks = len(self.ranks)

    def _note_footer(self, line: Line) -> None:
        section = self.section
        mean = _MEAN.search(line.text)
        if mean and section.rows and not is_footer_mean(section.rows, float(mean[1])):
            section.warnings.append(
                f"line {line.number}: the footer's mean bus bandwidth is {mean[1]}, that of the "
                f"rows here {mean_busbw(section.rows):.6g}: rows are missing"
            )
        if wrong := _WRONG.search(line.text):
            section.warnings.append(f"line {line.number}: {wrong[1]} values were out of bounds")


def _operation(name: str) -> Operation | None:
    """A name as comments write it: allgather, all-gather, All_Gather."""
    plain = name.replace("_", "")
    return next((one for one in Operation if one.replace("_", "") == plain), None)
